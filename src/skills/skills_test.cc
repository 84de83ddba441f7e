#include "skills/skills.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "base/bytes.h"
#include "base/digest.h"
#include "workspace/workspace.h"

namespace sluice::skills {
namespace skills_test {

std::string read(const std::string& path) {
  std::ifstream file(std::string(SLUICE_BUNDLES_DIR) + "/" + path);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(BuiltinSkills, There_are_tables_files_and_the_workflow_editor) {
  std::vector<std::string> names;
  for (const auto& skill : builtin_skills()) {
    names.push_back(skill.name);
    EXPECT_EQ(skill.id(), "builtin." + skill.name);
    EXPECT_FALSE(skill.description.empty());
    EXPECT_TRUE(is_builtin(skill.name));
  }
  EXPECT_EQ(names, (std::vector<std::string>{"tables", "files", "workflow_editor"}));
  EXPECT_FALSE(is_builtin("pdf"));
}

// A runner keeps what it unpacked by this digest.
TEST(BuiltinSkills, Every_packing_has_the_same_digest) {
  const auto once = builtin_skills();
  const auto again = builtin_skills();
  for (std::size_t i = 0; i < once.size(); ++i) {
    EXPECT_EQ(once[i].sha256, again[i].sha256);
    EXPECT_EQ(once[i].sha256, to_hex(sha256(once[i].bundle)));
  }
}

TEST(BuiltinSkills, A_bundle_has_the_files_as_they_stand_here_and_its_command_can_be_run) {
  for (const auto& skill : builtin_skills()) {
    const auto files = workspace::read_bundle(skill.bundle, {});
    ASSERT_TRUE(files) << files.error().what;
    ASSERT_EQ(files.value().size(), 3u);
    for (const auto& file : files.value()) {
      const auto here = file.path.starts_with("lib/") ? file.path : skill.name + "/" + file.path;
      EXPECT_EQ(file.bytes, read(here)) << here;
      EXPECT_EQ(file.executable, file.path == "bin/" + skill.name) << here;
    }
  }
}

}  // namespace skills_test
}  // namespace sluice::skills
