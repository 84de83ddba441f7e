#include <gtest/gtest.h>

#include "workspace/workspace.h"

namespace sluice::workspace {
namespace skill_head_test {

Result<SkillHead> head_of(const std::string& skill_md) { return read_skill_head({{"SKILL.md", skill_md}}); }

std::string description_of(const std::string& lines) {
  auto head = head_of("---\nname: x\n" + lines + "\n---\nbody\n");
  return head ? head.value().description : "refused: " + head.error().what;
}

std::string complaint(const std::string& skill_md) {
  const auto head = head_of(skill_md);
  return head ? "" : head.error().what;
}

TEST(SkillHead, Is_read_from_the_front_matter) {
  const auto head = head_of("---\nname: pdf-forms_2\ndescription: Fills forms.\nlicense: MIT\n---\n# PDF\n").take();
  EXPECT_EQ(head.name, "pdf-forms_2");
  EXPECT_EQ(head.description, "Fills forms.");
}

TEST(SkillHead, Values_may_be_plain_quoted_or_folded) {
  EXPECT_EQ(description_of("description: Reads: all of it # but this"), "Reads: all of it");
  EXPECT_EQ(description_of("description: \"a \\\"b\\\" # c\\nd\""), "a \"b\" # c d");
  EXPECT_EQ(description_of("description: 'it''s'  # yes"), "it's");
  EXPECT_EQ(description_of("description: one\n  two\n\n  three"), "one two three");
  EXPECT_EQ(description_of("description: >-\n  one\n  two # three"), "one two # three");
  EXPECT_EQ(description_of("description: |\n  one\n  two"), "one two");
  EXPECT_EQ(description_of("description: \"one\n  two\""), "one two");
}

TEST(SkillHead, Other_keys_comments_lists_and_line_ends_do_not_disturb) {
  EXPECT_EQ(description_of("# a comment\nallowed-tools:\n  - Read\n- Write\nmetadata:\n  name: other\ndescription: d"),
            "d");
  const auto head = head_of("\xef\xbb\xbf---\r\nname: a\r\ndescription: b\r\n---\r\n").take();
  EXPECT_EQ(head.name + head.description, "ab");
}

TEST(SkillHead, Says_what_is_missing) {
  EXPECT_EQ(
      complaint("# no front matter"),
      "SKILL.md: must begin with front matter: a line \"---\", then \"name:\" and \"description:\", then \"---\"");
  EXPECT_EQ(complaint("---\nname: a\ndescription: b\n"),
            "SKILL.md: the front matter has no end: a line \"---\" must close it");
  EXPECT_EQ(complaint("---\ndescription: b\n---\n"), "SKILL.md: the front matter has no \"name:\"");
  EXPECT_EQ(complaint("---\nname: a\n---\n"), "SKILL.md: the front matter has no \"description:\"");
  EXPECT_EQ(complaint("---\nname: a\ndescription:\n---\n"), "SKILL.md: description is empty");
  EXPECT_EQ(complaint("---\nname: a\nname: b\ndescription: c\n---\n"),
            "SKILL.md: the front matter has \"name:\" twice");
  EXPECT_EQ(complaint("---\nname a\n---\n"), "SKILL.md: the front matter's line \"name a\" is not \"key: value\"");
  EXPECT_EQ(complaint("---\nname: a\ndescription: \"b\n---\n"),
            "SKILL.md: description has a quote that does not end, or an escape that is not known");
  EXPECT_EQ(complaint("---\nname: a\ndescription: [b]\n---\n"),
            "SKILL.md: description begins with '[': put the text between quotes");
}

TEST(SkillHead, Names_are_narrow) {
  const auto fits = [](const std::string& name) {
    return bool(head_of("---\nname: " + name + "\ndescription: d\n---\n"));
  };
  EXPECT_TRUE(fits("a"));
  EXPECT_TRUE(fits("0-_"));
  EXPECT_TRUE(fits(std::string(64, 'a')));
  EXPECT_FALSE(fits(std::string(65, 'a')));
  for (const auto* name : {"-a", "_a", "A", "a b", "a/b", "..", "ä"}) EXPECT_FALSE(fits(name)) << name;
}

TEST(SkillHead, Descriptions_have_an_end) {
  std::string most;
  for (int i = 0; i < 1024; ++i) most += "ä";
  EXPECT_EQ(description_of("description: " + most), most);
  EXPECT_EQ(description_of("description: " + most + "a"),
            "refused: SKILL.md: the description has more than 1024 characters");
}

TEST(SkillHead, A_bundle_without_SKILL_md_is_told_where_it_belongs) {
  const auto none = read_skill_head({{"README.md", ""}});
  EXPECT_EQ(none.error().what, "the bundle has no SKILL.md at its root");
  const auto below = read_skill_head({{"my-skill/SKILL.md", ""}});
  EXPECT_EQ(below.error().what,
            "SKILL.md must be at the bundle's root, and is at \"my-skill/SKILL.md\": pack from inside that directory");
}

}  // namespace skill_head_test
}  // namespace sluice::workspace
