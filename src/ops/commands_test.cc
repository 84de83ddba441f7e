#include "ops/commands.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>

#include "base/json.h"

namespace sluice::ops {
namespace commands_test {

// Runs the program with these words and without an environment.
struct Result {
  int code = 0;
  std::string out;
  std::string err;
};
Result call(const std::vector<std::string>& words) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  const int code = run("sluice", "1.2.3", words, {});
  return {code, testing::internal::GetCapturedStdout(), testing::internal::GetCapturedStderr()};
}

bool has(const std::string& text, std::string_view part) { return text.find(part) != text.npos; }

Taken take(std::string_view command, std::string_view verb, std::vector<std::string>& words) {
  const auto* const found = find_command(command);
  return take_words(*found, *find_verb(*found, verb), words);
}

std::string misuse(std::string_view command, std::string_view verb, const std::vector<std::string>& operands) {
  const auto* const found = find_command(command);
  return misuse_of(*found, *find_verb(*found, verb), operands);
}

TEST(CommandTable, Every_row_has_a_summary_a_help_text_that_shows_its_usage_and_a_function) {
  std::set<std::string_view> words;
  for (const auto& command : commands()) {
    EXPECT_TRUE(words.insert(command.word).second) << command.word << " is listed twice";
    EXPECT_FALSE(command.summary.empty()) << command.word;
    EXPECT_TRUE(command.help.starts_with("usage: sluice " + std::string(command.word))) << command.word;
    ASSERT_FALSE(command.verbs.empty()) << command.word;
    for (const auto& verb : command.verbs) {
      EXPECT_NE(verb.run, nullptr) << command.word << " " << verb.word;
      EXPECT_TRUE(has(std::string(command.help), verb.word)) << command.word << " " << verb.word;
    }
  }
}

TEST(CommandTable, Every_key_that_a_row_names_is_a_key_of_the_configuration) {
  for (const auto& command : commands()) {
    std::string keys(command.keys);
    std::ranges::replace(keys, '|', '\n');
    std::istringstream lines(keys);
    for (std::string key; std::getline(lines, key);) EXPECT_NE(Config::find_key(key), nullptr) << key;
    const std::string_view flag = command.short_flag.key;
    if (!flag.empty()) {
      EXPECT_NE(Config::find_key(flag.substr(2)), nullptr) << flag;
    }
    EXPECT_TRUE(has(std::string(command.switches), command.unconfigured_switch)) << command.word;
  }
}

TEST(CommandTable, Every_switch_of_a_row_is_explained_in_its_help_text) {
  for (const auto& command : commands()) {
    std::string switches(command.switches);
    std::ranges::replace(switches, '|', '\n');
    std::istringstream lines(switches);
    for (std::string name; std::getline(lines, name);) {
      if (command.word == "sandbox") continue;  // --json is accepted there, but changes nothing
      EXPECT_TRUE(has(std::string(command.help), name)) << command.word << " " << name;
    }
  }
}

TEST(CommandTable, Every_command_is_listed_in_the_help_of_the_program) {
  const auto help = call({"--help"});
  EXPECT_EQ(help.code, 0);
  for (const auto& command : commands()) EXPECT_TRUE(has(help.out, command.summary)) << command.word;
  EXPECT_TRUE(has(help.out, "sluice 1.2.3: "));
  EXPECT_TRUE(has(help.out, "store verify|export|import|migrate|sweep"));
  EXPECT_EQ(call({"help"}).out, help.out);
  const auto without_words = call({});
  EXPECT_EQ(without_words.code, 2);
  EXPECT_EQ(without_words.err, help.out);
}

TEST(CommandTable, The_help_of_a_command_names_the_keys_that_matter_to_it) {
  const auto backup = call({"backup", "--help"});
  EXPECT_EQ(backup.code, 0);
  EXPECT_TRUE(has(backup.out, "--server.data, --data"));
  EXPECT_FALSE(has(backup.out, "--server.listen"));
  EXPECT_TRUE(has(backup.out, "The other flags of serve are accepted"));
  EXPECT_TRUE(has(call({"serve", "-h"}).out, "--server.listen, --listen"));
  EXPECT_FALSE(has(call({"version", "--help"}).out, "--server.data")) << "version reads no configuration";
  EXPECT_EQ(call({"store", "verify", "--help"}).out, call({"store", "--help"}).out);
}

TEST(CommandTable, A_shell_completes_every_verb_with_the_flags_of_the_configuration) {
  std::vector<std::string> words;
  for (const auto& one : completables()) {
    words.push_back(one.words);
    const bool is_configured = !one.words.starts_with("completion") && one.words != "version";
    EXPECT_EQ(std::ranges::count(one.flags, "--server.listen", &cli::CompletableFlag::name), is_configured)
        << one.words;
  }
  for (const auto* const word :
       {"serve", "config", "store migrate", "harness check", "vault new-key", "completion zsh"}) {
    EXPECT_EQ(std::ranges::count(words, word), 1) << word;
  }
}

TEST(CommandWords, Switches_are_found_anywhere_and_operands_before_the_first_flag) {
  std::vector<std::string> words = {"--with-keys", "/backup", "--data", "/d", "--json"};
  const auto taken = take("backup", "", words);
  EXPECT_EQ(taken.operands, std::vector<std::string>{"/backup"});
  EXPECT_EQ(taken.switches, (std::vector<std::string>{"--with-keys", "--json"}));
  EXPECT_EQ(words, (std::vector<std::string>{"--data", "/d"}));
}

TEST(CommandWords, Agent_types_are_operands_and_dir_is_a_short_flag) {
  std::vector<std::string> words = {"codex", "opencode", "--dir", "/x", "--data", "/y"};
  EXPECT_EQ(take("harness", "install", words).operands, (std::vector<std::string>{"codex", "opencode"}));
  EXPECT_EQ(words, (std::vector<std::string>{"--harness.dir", "/x", "--data", "/y"}));
  words = {"--dir=/x"};
  EXPECT_TRUE(take("harness", "check", words).operands.empty());
  EXPECT_EQ(words, std::vector<std::string>{"--harness.dir=/x"});
}

TEST(CommandWords, The_words_that_a_shell_completes_are_passed_on_unchanged) {
  std::vector<std::string> words = {"store", "--json", "--he"};
  EXPECT_EQ(take("completion", "candidates", words).operands, (std::vector<std::string>{"store", "--json", "--he"}));
}

TEST(CommandWords, Operands_are_counted_before_anything_is_done) {
  EXPECT_EQ(misuse("backup", "", {"/b"}), "");
  EXPECT_EQ(misuse("backup", "", {}), "backup needs DIR, followed by flags. More: sluice backup --help");
  EXPECT_EQ(misuse("store", "migrate", {"a", "b"}), "");
  EXPECT_EQ(misuse("store", "migrate", {"a"}),
            "store migrate needs FROM TO, followed by flags. More: sluice store --help");
  EXPECT_EQ(misuse("store", "verify", {"x"}), "store verify takes flags only, not x");
  EXPECT_EQ(misuse("harness", "check", {"codex", "opencode"}), "");
}

TEST(Commands, A_missing_or_unknown_verb_is_wrong_usage_and_prints_the_verbs_and_the_usage) {
  const auto missing = call({"store"});
  EXPECT_EQ(missing.code, 2);
  EXPECT_TRUE(has(missing.err, "sluice: store needs one more word: verify, export, import, migrate, sweep\n"));
  EXPECT_TRUE(has(missing.err, "usage: sluice store verify")) << missing.err;
  const auto unknown = call({"harness", "remove", "--json"});
  EXPECT_EQ(unknown.code, 2);
  EXPECT_TRUE(has(unknown.err, "there is no command harness remove; there are install, list, check"));
  EXPECT_TRUE(json::Document::parse(unknown.out)) << unknown.out;
}

TEST(Commands, A_mistyped_command_is_answered_with_the_nearest_one) {
  EXPECT_EQ(call({"docter"}).err, "sluice: there is no command docter; did you mean doctor?\n");
  EXPECT_EQ(call({"docter"}).code, 2);
}

TEST(Commands, An_unknown_flag_is_wrong_usage) {
  const auto wrong = call({"doctor", "--server.lisen", "x", "--json"});
  EXPECT_EQ(wrong.code, 2);
  EXPECT_TRUE(has(wrong.err, "server.listen")) << wrong.err;
  EXPECT_TRUE(json::Document::parse(wrong.out)) << wrong.out;
}

TEST(Commands, The_version_is_printed_with_the_libraries_if_that_is_asked_for) {
  EXPECT_EQ(call({"--version"}).out, "sluice 1.2.3\n");
  EXPECT_TRUE(has(call({"version", "--verbose"}).out, "libssl "));
  const auto json = json::Document::parse(call({"version", "--json"}).out);
  ASSERT_TRUE(json);
  EXPECT_EQ(json.value().root().find("version")->string(), "1.2.3");
}

TEST(Commands, The_reference_of_the_configuration_is_printed_even_if_the_configuration_is_wrong) {
  EXPECT_EQ(call({"config", "--reference"}).out, config::reference_page());
  EXPECT_EQ(call({"config", "--reference", "--no.such.key", "x"}).code, 0);
  EXPECT_TRUE(has(call({"config", "--log.format", "json"}).out, "# --log.format"));
}

TEST(Commands, The_sandbox_plan_is_printed_without_a_sandbox) {
  const auto plan = call({"sandbox", "plan", "--sandbox.memory_mib", "77"});
  EXPECT_EQ(plan.code, 0);
  EXPECT_TRUE(has(plan.out, "namespaces  user mount")) << plan.out;
  EXPECT_NE(plan.out, call({"sandbox", "plan"}).out) << "the memory limit is part of the plan";
}

TEST(Commands, A_new_vault_key_needs_an_existing_key_file) {
  std::string folder = testing::TempDir() + "vaultXXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  const auto missing = call({"vault", "new-key", "--data", folder});
  EXPECT_EQ(missing.code, 1);
  EXPECT_TRUE(has(missing.err, "start the server once")) << missing.err;
  std::filesystem::remove_all(folder);
}

}  // namespace commands_test
}  // namespace sluice::ops
