#include "cli/cli.h"

#include <gtest/gtest.h>

namespace sluice::cli {
namespace completion_test {

const std::vector<Completable> others = {
    {"serve", "run the server", {{"--log.format", "human|json", "how lines look"}, {"--config", "FILE", "read this"}}},
    {"vault new-key", "make a key", {{"--json", "", "as JSON"}}},
};

std::string completed(const std::vector<std::string>& typed) { return candidates(typed, others); }

TEST(Completion, The_first_word_is_a_command_of_either_kind) {
  EXPECT_EQ(completed({"ser"}), "serve\trun the server\n");
  EXPECT_EQ(completed({"wor"}), "workflows\t…\n");
  EXPECT_EQ(completed({""}), completed({}));
  EXPECT_EQ(completed({"nothing-of-that-name"}), "");
}

TEST(Completion, The_second_word_is_one_that_its_commands_have) {
  EXPECT_TRUE(completed({"runs", "t"}).starts_with("tail\t"));
  EXPECT_NE(completed({"vault", ""}).find("new-key\tmake a key\n"), std::string::npos);
  EXPECT_NE(completed({"vault", ""}).find("reseal\t"), std::string::npos);
  EXPECT_EQ(completed({"runs", "tail", "r"}), "");
}

TEST(Completion, A_dash_asks_for_the_flags_of_the_command) {
  EXPECT_EQ(completed({"serve", "--"}), "--log.format\thow lines look\n--config\tread this\n");
  EXPECT_NE(completed({"runs", "tail", "run_1", "--a"}).find("--after\t"), std::string::npos);
  EXPECT_NE(completed({"runs", "tail", "--u"}).find("--url\t"), std::string::npos);
  EXPECT_EQ(completed({"serve", ""}), "");
}

TEST(Completion, A_flag_is_followed_by_its_choices_if_it_has_any) {
  EXPECT_EQ(completed({"serve", "--log.format", ""}), "human\t\njson\t\n");
  EXPECT_EQ(completed({"serve", "--log.format", "j"}), "json\t\n");
  EXPECT_EQ(completed({"serve", "--config", "-"}), "") << "a file is named, and the shell knows files";
  EXPECT_EQ(completed({"tenants", "update", "t", "--filler", "y"}), "yes\t\n");
  EXPECT_EQ(completed({"chat", "--env", ""}), "") << "ID|NAME says what is wanted, not what to write";
}

TEST(Completion, There_is_a_script_for_three_shells) {
  for (const auto* shell : {"bash", "zsh", "fish"}) EXPECT_TRUE(completion_script(shell)) << shell;
  EXPECT_FALSE(completion_script("tcsh"));
}

}  // namespace completion_test
}  // namespace sluice::cli
