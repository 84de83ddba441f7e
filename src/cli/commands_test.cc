// Commands against a scripted server.
#include "cli/commands.h"

#include <unistd.h>

#include <fstream>
#include <sstream>

#include "base/bytes.h"
#include "cli/fake_terminal.h"

namespace sluice::cli {
namespace commands_test {

TEST_F(CommandsTest, Send_makes_a_conversation_and_prints_the_answer) {
  delta(1, R"({"text":"Hello "})");
  delta(2, R"({"text":"One moment…","filler":true})");
  delta(3, R"({"text":"there"})");
  EXPECT_EQ(run({"send", "hi \"you\""}), exit_ok);
  EXPECT_EQ(remote.asked,
            (std::vector<std::string>{"POST /v1/conversations {}", R"(send con_1 {"content":"hi \"you\""})"}));
  EXPECT_EQ(console.output, "Hello there\n") << "filler is not for files";
}

TEST_F(CommandsTest, Send_prints_the_lines_as_they_came_with_json) {
  delta(1, R"({"text":"Hello there"})");
  EXPECT_EQ(run({"send", "--conversation", "con_9", "--json", "hi"}), exit_ok);
  EXPECT_EQ(remote.asked.size(), 1u);
  EXPECT_EQ(console.output, "{line 1}\n");
}

TEST_F(CommandsTest, Filler_on_a_terminal_is_dim_and_taken_back) {
  console.terminal = true;
  delta(1, R"({"text":"One moment…","filler":true})");
  delta(2, R"({"text":"Hello there"})");
  run({"send", "--conversation", "con_1", "hi"});
  EXPECT_EQ(console.output,
            "\x1b"
            "7\x1b[2mOne moment…\x1b[0m"
            "\x1b"
            "8\x1b[0J"
            "Hello there\n");
}

TEST_F(CommandsTest, After_a_reconcile_the_rest_of_the_message_is_printed) {
  delta(1, R"({"text":"Hel"})");
  run({"send", "--conversation", "con_1", "hi"});
  EXPECT_EQ(console.output, "Hello there\n");
}

TEST_F(CommandsTest, The_exit_code_tells_failed_from_unknown) {
  remote.followed = {{client::Outcome::Kind::failed, R"({"title":"Model error","status":502,"detail":"no"})", "", 200}};
  EXPECT_EQ(run({"send", "--conversation", "c", "hi"}), exit_failed);
  EXPECT_EQ(console.errors, "sluice: Model error (502)\n  no\n");
  remote.followed = {{client::Outcome::Kind::unknown, "", "connection refused; nothing was sent", 0}};
  EXPECT_EQ(run({"send", "--conversation", "c", "hi"}), exit_unknown);
  EXPECT_EQ(run({"send", "--conversation", "c", "  "}), exit_usage);
  remote.reachable = false;
  EXPECT_EQ(run({"send", "hi"}), exit_unknown);
}

TEST_F(CommandsTest, Leaving_an_answer_says_how_to_come_back) {
  delta(4, R"({"text":"Hel"})");
  remote.followed = {.interrupted = true};
  EXPECT_EQ(run({"send", "--conversation", "c", "hi"}), exit_interrupted);
  EXPECT_EQ(console.errors,
            "\nDetached.\nThe run goes on. Read on with: "
            "build/sluice runs tail msg_1 --after 4 --data '/my data'\n");
}

TEST_F(CommandsTest, Chat_goes_on_until_quit_and_joins_lines_that_end_in_a_backslash) {
  console.input = {"one\\", "two", "", "/quit", "never"};
  EXPECT_EQ(run({"chat"}), exit_ok);
  EXPECT_EQ(remote.asked,
            (std::vector<std::string>{"POST /v1/conversations {}", R"(send con_1 {"content":"one\ntwo"})"}));
  EXPECT_EQ(console.prompts, "you> ...> you> you> ");
}

TEST_F(CommandsTest, Words_with_a_slash_are_for_the_chat_unless_there_are_two) {
  console.input = {"/help", "/qiut now", "//etc/hosts"};
  EXPECT_EQ(run({"chat", "--conversation", "con_1"}), exit_ok);
  EXPECT_EQ(remote.asked, (std::vector<std::string>{R"(send con_1 {"content":"/etc/hosts"})"}));
  EXPECT_NE(console.errors.find("/quit    end"), std::string::npos) << console.errors;
  EXPECT_NE(console.errors.find("There is no /qiut: /help"), std::string::npos) << console.errors;
}

TEST_F(CommandsTest, What_an_agent_does_stands_on_lines_of_its_own_where_the_answer_is_seen_too) {
  console.terminal = true;
  delta(1, R"({"text":"High water."})");
  event("step", 2, R"({"id":"call_1","name":"bash","status":"running","args":{"command":"printf abc"}})");
  event("output", 3, R"({"id":"call_1","stream":"stdout","text":"abc"})");
  event("step", 4, R"({"id":"call_1","name":"bash","status":"failed","error":"exit code 2"})");
  event("output", 5, R"({"id":"call_2","stream":"stdout","text":"def"})");
  delta(6, R"({"text":"\n\n"})");
  delta(7, R"({"text":"At noon."})");
  event("file", 8, R"({"type":"create","path":"f.txt"})");
  event("diff", 9, R"({"path":".","diff":"diff\n"})");
  event("message_end", 10, "{}");
  remote.followed = {{client::Outcome::Kind::completed, R"({"content":"High water.\n\nAt noon."})", "", 200}};
  EXPECT_EQ(run({"send", "--conversation", "con_1", "hi"}), exit_ok);
  EXPECT_EQ(console.seen, "High water.\n▸ $ printf abc\nabc\n✗ bash: exit code 2\ndef\nAt noon.\n+ f.txt\ndiff\n");
}

TEST_F(CommandsTest, A_busy_conversation_says_how_to_follow_or_end_what_it_is_busy_with) {
  remote.followed = {
      {client::Outcome::Kind::refused, R"({"title":"Busy","status":409,"conflicting_resource_id":"run_7"})", "", 409}};
  EXPECT_EQ(run({"send", "--conversation", "c", "hi"}), exit_failed);
  EXPECT_NE(console.errors.find("build/sluice runs tail run_7 --data '/my data'\n"), std::string::npos);
  EXPECT_NE(console.errors.find("build/sluice runs cancel run_7 --data '/my data'\n"), std::string::npos);
  EXPECT_EQ(console.output, "");
}

TEST_F(CommandsTest, An_outage_and_its_end_are_reported) {
  remote.links = {client::Link::lost, client::Link::back};
  run({"runs", "tail", "msg_1"});
  EXPECT_EQ(console.errors,
            "sluice: connection lost; trying again… the run goes on at the server\nsluice: connected again\n");
}

TEST_F(CommandsTest, With_json_what_went_wrong_is_json_too) {
  const std::string problem = R"({"title":"Not found","status":404})";
  remote.status = 404;
  remote.answer = problem;
  EXPECT_EQ(run({"runs", "show", "run_1", "--json"}), exit_failed);
  EXPECT_EQ(console.output, problem + "\n");
  console.output.clear();
  remote.followed = {{client::Outcome::Kind::refused, problem, "", 404}};
  run({"send", "--conversation", "c", "--json", "hi"});
  EXPECT_EQ(console.output, problem + "\n");
  console.output.clear();
  remote.reachable = false;
  EXPECT_EQ(run({"runs", "show", "run_1", "--json"}), exit_unknown);
  EXPECT_EQ(console.output, R"({"error":"http://s: connection refused"})"
                            "\n");
}

TEST_F(CommandsTest, Tail_takes_a_run_or_a_message) {
  run({"runs", "tail", "run_7", "--after", "3"});
  EXPECT_EQ(remote.asked, (std::vector<std::string>{"GET /v1/runs/run_7", "follow msg_1 3"}));
  EXPECT_EQ(run({"runs", "tail", "msg_2", "--after", "x"}), exit_usage);
}

TEST_F(CommandsTest, Lists_ask_for_a_page_and_say_when_there_is_more) {
  remote.answer = R"({"data":[{"id":"run_1","state":"completed"}],"has_more":true,"next_cursor":"run_1"})";
  EXPECT_EQ(run({"runs", "--limit", "1", "--conversation", "con_1"}), exit_ok);
  EXPECT_EQ(remote.asked.back(), "GET /v1/runs?limit=1&conversation_id=con_1");
  EXPECT_TRUE(console.output.starts_with("ID     STATE      CREATED")) << console.output;
  EXPECT_EQ(console.errors, "There is more: --after run_1\n");
}

TEST_F(CommandsTest, An_id_cannot_become_another_path) {
  run({"runs", "show", "../tenants?x=1"});
  EXPECT_EQ(remote.asked.back(), "GET /v1/runs/%2E%2E%2Ftenants%3Fx%3D1");
}

TEST_F(CommandsTest, Keys_belong_to_the_tenant_of_the_flag_or_of_bootstrap) {
  run({"keys", "create", "--name", "crm"});
  EXPECT_EQ(remote.asked.back(), R"(admin POST /v1/tenants/tnt_1/keys {"name":"crm"})");
  run({"approver-keys", "revoke", "apk_1", "--tenant", "tnt_2"});
  EXPECT_EQ(remote.asked.back(), "admin DELETE /v1/tenants/tnt_2/approver-keys/apk_1");
  access.tenant_id.clear();
  EXPECT_EQ(run({"keys", "list"}), exit_usage);
}

TEST_F(CommandsTest, An_agent_is_described_by_flags) {
  run({"agents", "create", "w", "--provider", "p", "--model", "m", "--max-output-tokens", "9", "--default"});
  EXPECT_EQ(remote.asked.back(), R"(POST /v1/agents {"name":"w","model":{"provider":"p","name":"m"},)"
                                 R"("limits":{"max_output_tokens":9},"is_default":true})");
  EXPECT_EQ(run({"agents", "update", "agt_1", "--model", "m"}), exit_usage);
  run({"agents", "create", "w", "--skill", "skl_1,skl_2", "--environment", "env_1"});
  EXPECT_EQ(remote.asked.back(),
            R"(POST /v1/agents {"name":"w","skill_ids":["skl_1","skl_2"],"environment_id":"env_1"})");
  run({"agents", "update", "agt_1", "--skill", "", "--environment", ""});
  EXPECT_EQ(remote.asked.back(), R"(PATCH /v1/agents/agt_1 {"skill_ids":[],"environment_id":null})");
}

TEST_F(CommandsTest, H_1_an_agent_is_a_program_and_has_a_kit) {
  EXPECT_EQ(console.errors.find("of the type acp"), std::string::npos);
  const auto saved = [&](std::string_view type, std::string_view rule) {
    console.errors.clear();
    remote.answer =
        R"({"id":"agt_1","agent_type":")" + std::string(type) + R"(","policy":[)" + std::string(rule) + "]}";
    EXPECT_EQ(run({"agents", "create", "c", "--type", std::string(type)}), exit_ok);
    return console.errors;
  };
  EXPECT_NE(saved("acp", R"({"effect":"deny","command":"*"})").find("agent agt_1 has a policy"), std::string::npos);
  EXPECT_NE(saved("acp", R"({"effect":"ask","tool":"bash"})").find("of the type acp"), std::string::npos);
  EXPECT_EQ(saved("acp", R"({"effect":"deny","host":"a.example"},{"effect":"allow","tool":"bash"})"), "");
  EXPECT_EQ(saved("codex", R"({"effect":"deny","command":"*"})"), "");
  run({"agents", "create", "c", "--type", "codex"});
  EXPECT_EQ(remote.asked.back(), R"(POST /v1/agents {"name":"c","agent_type":"codex"})");
  run({"agents", "create", "c", "--workspace", "read"});
  EXPECT_EQ(remote.asked.back(), R"(POST /v1/agents {"name":"c","workspace":"read"})");
  const auto kit = testing::TempDir() + "/kit-" + std::to_string(getpid()) + ".json";
  std::ofstream(kit) << R"({"command":["agent","--acp"],"code_mode":true})";
  run({"agents", "update", "agt_1", "--type", "acp", "--kit", kit});
  EXPECT_EQ(remote.asked.back(),
            R"(PATCH /v1/agents/agt_1 {"agent_type":"acp","command":["agent","--acp"],"code_mode":true})");
  std::ofstream(kit) << R"({"comand":["agent"]})";
  EXPECT_EQ(run({"agents", "update", "agt_1", "--kit", kit}), exit_usage);
  unlink(kit.c_str());
  run({"conversations", "create", "--type", "opencode"});
  EXPECT_EQ(remote.asked.back(), R"(POST /v1/conversations {"runtime":{"agent_type":"opencode"}})");
}

TEST_F(CommandsTest, A_problem_is_printed_and_fails) {
  remote.status = 404;
  remote.answer = R"({"title":"Not found","status":404,"request_id":"req_1"})";
  EXPECT_EQ(run({"runs", "show", "run_1"}), exit_failed);
  EXPECT_EQ(console.errors, "sluice: Not found (404)\n  request_id req_1\n");
}

TEST(Commands, Every_command_has_help_with_an_example_of_itself) {
  for (const auto* command : commands()) {
    EXPECT_NE(help_of(*command).find("  sluice " + std::string(command->words)), std::string::npos) << command->words;
    const auto space = command->words.find(' ');
    std::vector<std::string> words = {std::string(command->words.substr(0, space))};
    if (space != std::string_view::npos) words.emplace_back(command->words.substr(space + 1));
    EXPECT_EQ(find_command(words).command, command);
  }
}

TEST(Commands, Only_an_update_takes_another_name) {
  const auto help = [](std::string_view verb) {
    return help_of(*find_command(std::vector<std::string>{"agents", std::string(verb)}).command);
  };
  EXPECT_EQ(help("create").find("--name"), std::string::npos);
  EXPECT_NE(help("update").find("--name"), std::string::npos);
}

TEST(Commands, An_error_is_json_whatever_the_bytes) { EXPECT_EQ(error_json("no \xff"), R"({"error":"no ?"})"); }

TEST(Commands, Hints_can_be_pasted) {
  EXPECT_EQ(shell_quoted("it's"), "'it'\\''s'");
  EXPECT_EQ(Hints("./my sluice", {}).command("chat"), "'./my sluice' chat");
}

TEST(Commands, Columns_of_a_help_text_are_aligned_whatever_letters_are_in_them) {
  const auto help = help_of(*find_command(std::vector<std::string>{"agents", "update"}).command);
  std::optional<std::size_t> column;
  std::istringstream lines(help.substr(help.find("flags:\n")));
  int wide = 0;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("  --")) continue;
    const auto gap = line.find("  ", 2);
    const auto at = utf8_length(std::string_view(line).substr(0, line.find_first_not_of(' ', gap)));
    wide += utf8_length(line.substr(0, gap)) < gap ? 1 : 0;
    if (!column) column = at;
    EXPECT_EQ(at, *column) << line;
  }
  EXPECT_GT(wide, 0) << "some flag has a letter of more than one byte";
}

TEST(Commands, The_second_words_of_a_group_are_known) {
  const auto words = second_words("runs");
  EXPECT_EQ(nearest("cancle", words), "cancel");
  EXPECT_EQ(nearest("lits", words), "list");
  EXPECT_TRUE(second_words("send").empty());
}

TEST(Commands, Words_that_name_no_command_are_not_found) {
  EXPECT_EQ(find_command(std::vector<std::string>{"runs", "tial"}).command, nullptr);
  EXPECT_EQ(find_command(std::vector<std::string>{"runs", "--help"}).command, nullptr);
  EXPECT_FALSE(knows("rums"));
}

}  // namespace commands_test
}  // namespace sluice::cli
