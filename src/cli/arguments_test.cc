#include "cli/arguments.h"

#include <gtest/gtest.h>

namespace sluice::cli {
namespace arguments_test {

constexpr Flag known[] = {{"--after", "N", ""}, {"--json", "", ""}, {"--help", "", ""}};

Result<Arguments> parse(std::vector<std::string> words) { return Arguments::parse(words, known); }

TEST(Arguments, Flags_and_operands_may_stand_anywhere) {
  const auto arguments = parse({"msg_1", "--after", "3", "--json", "-"});
  ASSERT_TRUE(arguments);
  EXPECT_EQ(arguments.value().operands(), (std::vector<std::string>{"msg_1", "-"}));
  EXPECT_EQ(arguments.value().flag("--after"), "3");
  EXPECT_TRUE(arguments.value().has("--json"));
  EXPECT_FALSE(arguments.value().has("--help"));
}

TEST(Arguments, A_value_may_follow_an_equals_sign_and_may_be_empty) {
  EXPECT_EQ(parse({"--after=7"}).take().flag("--after"), "7");
  EXPECT_TRUE(parse({"--after="}).take().has("--after"));
}

TEST(Arguments, A_flag_may_be_given_more_than_once) {
  const auto arguments = parse({"--after", "1", "--after=2"}).take();
  EXPECT_EQ(arguments.all("--after"), (std::vector<std::string>{"1", "2"}));
  EXPECT_EQ(arguments.flag("--after"), "2");
  EXPECT_TRUE(arguments.all("--json").empty());
}

TEST(Arguments, After_two_dashes_everything_is_an_operand) {
  EXPECT_EQ(parse({"--", "--json", "-x"}).take().operands(), (std::vector<std::string>{"--json", "-x"}));
}

TEST(Arguments, The_short_form_of_help_is_known) { EXPECT_TRUE(parse({"-h"}).take().has("--help")); }

TEST(Arguments, What_is_wrong_is_said) {
  const auto error = [](std::vector<std::string> words) {
    const auto arguments = parse(std::move(words));
    return arguments ? "" : arguments.error().what;
  };
  EXPECT_EQ(error({"--jsn"}), "unknown flag --jsn; did you mean --json?");
  EXPECT_EQ(error({"--after"}), "flag --after needs a value: --after N");
  EXPECT_EQ(error({"--json=yes"}), "flag --json takes no value");
  EXPECT_EQ(error({"-x"}), "unknown flag -x");
}

}  // namespace arguments_test
}  // namespace sluice::cli
