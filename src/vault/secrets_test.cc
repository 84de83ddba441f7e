// A run's live set of secrets, and what may be a value (I-17).
#include <gtest/gtest.h>

#include "vault/vault.h"

namespace sluice::vault {
namespace secrets_test {

TEST(Values, Are_refused_in_words_that_do_not_quote_them) {
  for (const std::string& bad : {std::string(), std::string("1234567"), std::string(value_bytes_max + 1, 'x'),
                                 std::string("ab\0cdef", 7), std::string("caf\xe9-latin"), std::string("     \n")}) {
    const auto checked = check_value(bad);
    ASSERT_FALSE(checked);
    EXPECT_EQ(checked.error().kind, ErrorKind::invalid);
    if (bad.size() > 3) EXPECT_EQ(checked.error().what.find(bad), std::string::npos);
  }
}

TEST(Values, Are_taken_at_their_limits) {
  EXPECT_TRUE(check_value("abcdefgh"));
  EXPECT_TRUE(check_value(std::string(value_bytes_max, 'x')));
  EXPECT_TRUE(check_value("schlüssel"));
  EXPECT_TRUE(check_value("ollama", value_bytes_min)) << "a key of the operator's own, to a model";
}

TEST(Secrets, Are_none_at_first_and_nothing_is_scrubbed) {
  const Secrets secrets;
  EXPECT_EQ(secrets.find("KEY"), nullptr);
  EXPECT_TRUE(secrets.aliases().empty());
  ASSERT_NE(secrets.scrubber(), nullptr);
  EXPECT_TRUE(secrets.scrubber()->is_idle());
}

TEST(Secrets, The_first_of_an_alias_counts_and_the_others_are_scrubbed_too) {
  Secrets secrets;
  secrets.replace({{"KEY", "of-the-conversation"}, {"OTHER", "another-one"}, {"KEY", "of-the-tenant"}});
  ASSERT_NE(secrets.find("KEY"), nullptr);
  EXPECT_EQ(secrets.find("KEY")->value, "of-the-conversation");
  EXPECT_EQ(secrets.aliases(), (std::vector<std::string>{"KEY", "OTHER"}));
  EXPECT_EQ(secrets.scrubber()->scrub("of-the-tenant of-the-conversation"), "{{secret:KEY}} {{secret:KEY}}");
}

TEST(Secrets, I_17_Values_that_were_replaced_or_taken_away_are_still_scrubbed) {
  Secrets secrets;
  secrets.replace({{"KEY", "first-value"}, {"GONE", "gone-value"}});
  const auto before = secrets.scrubber();
  secrets.replace({{"KEY", "second-value"}});
  EXPECT_NE(secrets.scrubber(), before);
  EXPECT_EQ(before->scrub("second-value"), "second-value") << "a scrubber that is in use does not change";
  EXPECT_EQ(secrets.find("GONE"), nullptr);
  EXPECT_EQ(secrets.scrubber()->scrub("first-value gone-value second-value"),
            "{{secret:KEY}} {{secret:GONE}} {{secret:KEY}}");
  secrets.replace({});
  EXPECT_TRUE(secrets.aliases().empty());
  EXPECT_TRUE(secrets.scrubber()->finds("second-value"));
  EXPECT_TRUE(secrets.scrubber()->finds("first-value"));
}

TEST(Secrets, H_2_One_that_is_pinned_stays_is_not_listed_and_gives_way_to_others_of_its_alias) {
  Secrets secrets;
  secrets.pin({"MODEL", "the-key-of-the-house", {"api.example.com"}, model::place_header});
  secrets.replace({{"OTHER", "another-one"}});
  EXPECT_EQ(secrets.aliases(), (std::vector<std::string>{"OTHER"}));
  ASSERT_NE(secrets.find("MODEL"), nullptr);
  EXPECT_EQ(secrets.find("MODEL")->hosts, (std::vector<std::string>{"api.example.com"}));
  EXPECT_EQ(secrets.scrubber()->scrub("the-key-of-the-house"), "{{secret:MODEL}}");
  secrets.replace({{"MODEL", "of-the-conversation"}});
  EXPECT_EQ(secrets.find("MODEL")->value, "of-the-conversation");
  secrets.replace({});
  EXPECT_EQ(secrets.find("MODEL")->value, "the-key-of-the-house");
  secrets.pin({"MODEL", "another-key-of-the-house"});
  EXPECT_EQ(secrets.find("MODEL")->value, "another-key-of-the-house");
  EXPECT_TRUE(secrets.scrubber()->finds("the-key-of-the-house")) << "what was pinned before is still scrubbed";
}

TEST(Secrets, A_value_that_comes_back_under_another_alias_bears_the_alias_it_has_now) {
  Secrets secrets;
  secrets.replace({{"BEFORE", "the-same-value"}});
  secrets.replace({{"AFTER", "the-same-value"}});
  EXPECT_EQ(secrets.scrubber()->scrub("the-same-value"), "{{secret:AFTER}}");
}

}  // namespace secrets_test
}  // namespace sluice::vault
