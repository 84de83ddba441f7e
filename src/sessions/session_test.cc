// What an agent does in its sandbox, and what is reported of it.
#include "runner/session_fixture.h"

namespace sluice::sessions {
namespace session_test {

using namespace runner;

using model::EventKind;
using model::Slug;
using sandbox::Exit;
using sandbox::ExitCause;
using sandbox::FakeResult;
using sandbox::Stream;
using Bodies = std::vector<std::string>;

TEST_F(SessionTest, The_first_word_of_a_run_that_needs_no_hands_does_not_wait_for_a_box) {
  begin("say Hello.");
  EXPECT_EQ(heard.text(), "Hello.");
  EXPECT_TRUE(heard.usage);
  EXPECT_EQ(sandbox->opened, 0);
  EXPECT_TRUE(phases().empty());
}

// S-9: running, then succeeded or failed, under one id.
TEST_F(SessionTest, A_command_is_told_from_its_beginning_to_its_end) {
  script = [](auto&, auto&) { return FakeResult{.out = "a.txt\n", .takes_ms = 5}; };
  begin("$ ls\nsay I see {{last}}.");
  EXPECT_EQ(steps(), (Bodies{R"({"id":"step_1","name":"bash","status":"running","args":{"command":"ls"}})"}));
  EXPECT_EQ(heard.bodies(EventKind::output), (Bodies{R"({"id":"step_1","stream":"stdout","text":"a.txt\n"})"}))
      << "as it comes, not at the end";
  pass(5);
  ASSERT_EQ(steps().size(), 2u);
  EXPECT_EQ(steps()[1], R"({"id":"step_1","name":"bash","status":"succeeded","result":"a.txt","durationMs":5})");
  EXPECT_EQ(heard.text(), "I see a.txt.");
  ASSERT_TRUE(heard.usage);
  ASSERT_EQ(commands.size(), 1u);
  EXPECT_EQ(commands[0].argv, (Bodies{"bash", "-c", "ls"}));
  EXPECT_EQ(commands[0].timeout_ms, options.sessions.tool_timeout_ms);
  EXPECT_EQ(commands[0].directory, "/workspace");
  expect_nothing_left();
}

TEST_F(SessionTest, The_first_step_is_not_done_before_whoever_would_do_it_elsewhere_knows_of_it) {
  const auto witness = std::make_shared<FakeWitness>();
  auto dispatch = dispatch_of("say Well.\n$ one\n$ two\nsay Done.");
  dispatch.witness = witness;
  begin(std::move(dispatch));
  EXPECT_EQ(steps().size(), 1u) << "it was reported";
  EXPECT_TRUE(commands.empty());
  pass(60'000);
  EXPECT_TRUE(commands.empty());
  witness->seen();
  loop.settle();
  EXPECT_EQ(commands.size(), 2u);
  EXPECT_EQ(witness->asked, 1) << "once is enough";
  EXPECT_TRUE(heard.usage);
}

TEST_F(SessionTest, Who_stops_a_run_that_waits_to_be_seen_does_nothing_afterwards) {
  const auto witness = std::make_shared<FakeWitness>();
  auto dispatch = dispatch_of("$ one");
  dispatch.witness = witness;
  begin(std::move(dispatch));
  work->stop([] {});
  loop.settle();
  witness->seen();
  loop.settle();
  EXPECT_TRUE(commands.empty());
  expect_nothing_left();
}

// S-5
TEST_F(SessionTest, Every_phase_of_its_life_is_in_the_log) {
  begin("$ true");
  EXPECT_EQ(phases(), (Bodies{"sandbox", "run", "settle"}));
}

TEST_F(SessionTest, A_command_that_fails_tells_its_exit_code_and_the_model_goes_on) {
  script = [](auto&, auto&) {
    return FakeResult{.out = "half\n", .err = "broken\n", .exit = {.cause = ExitCause::exited, .code = 2}};
  };
  begin("$ make\nsay Oh: {{last}}");
  ASSERT_EQ(steps().size(), 2u);
  EXPECT_EQ(steps()[1],
            R"({"id":"step_1","name":"bash","status":"failed","error":"half\nbroken\nexit code 2","durationMs":0})");
  EXPECT_EQ(heard.text(), "Oh: half\nbroken\nexit code 2");
  EXPECT_TRUE(heard.usage);
}

TEST_F(SessionTest, Calls_of_one_round_run_one_after_another) {
  use_provider();
  script = [](auto&, auto&) { return FakeResult{.hangs = true}; };
  const auto call = [](int index, const std::string& id) {
    const auto at = std::to_string(index);
    return sse(R"({"type":"content_block_start","index":)" + at + R"(,"content_block":{"type":"tool_use","id":")" + id +
               R"(","name":"bash"}})") +
           sse(R"({"type":"content_block_delta","index":)" + at +
               R"(,"delta":{"type":"input_json_delta","partial_json":"{\"command\":\"x\"}"}})");
  };
  client.answer(answer_of(call(0, "one") + call(1, "two") + stopped(1, 1)));
  client.answer(answer_of(said("Done.") + stopped(1, 1)));
  begin("Go.");
  pass(0);
  ASSERT_EQ(commands.size(), 1u);
  box().end(box().commands.size() - 1, {});
  loop.settle();
  ASSERT_EQ(commands.size(), 2u);
  EXPECT_EQ(steps().size(), 3u);
  box().end(box().commands.size() - 1, {.cause = ExitCause::exited, .code = 7});
  loop.settle();
  pass(0);
  EXPECT_EQ(heard.text(), "Done.");
  const auto& body = client.requests.at(1).body;
  EXPECT_NE(body.find(R"_("tool_use_id":"one","content":"(no output)"},)_"), std::string::npos) << body;
  EXPECT_NE(body.find(R"("tool_use_id":"two","content":"exit code 7","is_error":true})"), std::string::npos) << body;
  EXPECT_NE(body.find(R"("tools":[{"name":"bash")"), std::string::npos);
}

TEST_F(SessionTest, Arguments_that_make_no_sense_are_said_so_and_no_box_is_opened) {
  begin("call read {\"path\":\"x\",\"offset\":\"one\"}\nsay {{last}}");
  EXPECT_EQ(heard.text(), "offset must be of type integer, not string.");
  EXPECT_EQ(sandbox->opened, 0);
  ASSERT_EQ(steps().size(), 2u);
  EXPECT_NE(steps()[1].find(R"("status":"failed","error":"offset must be)"), std::string::npos);
}

TEST_F(SessionTest, A_tool_that_does_not_exist_is_a_step_that_failed) {
  begin("call fly {}\nsay {{last}}");
  EXPECT_EQ(heard.text(), "There is no tool named fly. Go on without it.");
  ASSERT_EQ(steps().size(), 2u);
  EXPECT_NE(heard.all(EventKind::log).find("fly"), std::string::npos);
}

TEST_F(SessionTest, Every_line_of_the_offline_model_s_language_reaches_its_tool) {
  begin("write notes.txt: hello\nread notes.txt\nsay {{last}}\nedit notes.txt: hello -> bye\ncall list {}");
  EXPECT_TRUE(heard.usage);
  EXPECT_EQ(heard.text(), "hello");
  ASSERT_EQ(commands.size(), 2u);
  EXPECT_EQ(commands[0].argv, (Bodies{"@edit", "notes.txt", "0"}));
  EXPECT_EQ(commands[0].input, "5\nhellobye");
  EXPECT_EQ(commands[1].argv, (Bodies{"@list", "."}));
}

TEST_F(SessionTest, How_a_command_ended_is_said_in_words) {
  const std::pair<Exit, const char*> cases[] = {
      {{.cause = ExitCause::timed_out, .code = 9}, "killed because it took longer than 120000 ms"},
      {{.cause = ExitCause::out_of_memory, .code = 9}, "killed because the sandbox ran out of memory"},
      {{.cause = ExitCause::cpu_limit, .code = 24}, "killed because it used too much processor time"},
      {{.cause = ExitCause::file_limit, .code = 25}, "killed because it wrote a file larger than is allowed"},
      {{.cause = ExitCause::killed, .code = 11}, "killed by signal 11"},
  };
  for (const auto& [exit, words] : cases) {
    heard = {};
    script = [&](auto&, auto&) { return FakeResult{.exit = exit}; };
    begin("$ x\nsay {{last}}");
    EXPECT_EQ(heard.text(), words);
    EXPECT_TRUE(heard.usage) << "the run goes on";
  }
}

TEST_F(SessionTest, Where_there_is_no_bash_sh_does_it) {
  script = [](auto&, const auto& command) {
    if (command.argv[0] == "bash") return FakeResult{.exit = {.cause = ExitCause::not_started, .what = "no bash"}};
    return FakeResult{.out = "by " + command.argv[0]};
  };
  begin("$ x\nsay {{last}}");
  EXPECT_EQ(heard.text(), "by sh");
}

TEST_F(SessionTest, A_command_in_the_background_goes_on_beside_the_others) {
  script = [](auto&, const auto& command) {
    return command.background ? FakeResult{.out = "up\n", .hangs = true} : FakeResult{.out = "ok", .takes_ms = 10};
  };
  begin("call bash {\"command\":\"serve\",\"background\":true}\n$ curl\nsay {{last}}");
  EXPECT_EQ(steps().size(), 3u) << "the first has ended, the second runs";
  ASSERT_EQ(box().commands.size(), 3u);
  EXPECT_EQ(box().commands[1]->command.timeout_ms, 0);
  box().say(1, Stream::out, "a request\n");
  loop.settle();
  EXPECT_EQ(heard.bodies(EventKind::output), (Bodies{R"({"id":"step_1","stream":"stdout","text":"up\n"})",
                                                     R"({"id":"step_2","stream":"stdout","text":"ok"})",
                                                     R"({"id":"step_1","stream":"stdout","text":"a request\n"})"}));
  pass(10);
  EXPECT_EQ(heard.text(), "ok");
  EXPECT_TRUE(heard.usage) << "it does not wait for what is in the background";
}

TEST_F(SessionTest, What_is_printed_is_told_as_text_whatever_it_is_and_however_it_is_cut) {
  script = [](auto&, auto&) { return FakeResult{.hangs = true}; };
  begin("$ x\nsay {{last}}");
  box().say(1, Stream::out, "caf\xC3");
  loop.settle();
  box().say(1, Stream::err, "no: \xFF\n");
  box().say(1, Stream::out, "\xA9 \x1B[1m\xE2\x82");
  box().end(1, {});
  loop.settle();
  EXPECT_EQ(
      heard.bodies(EventKind::output),
      (Bodies{R"({"id":"step_1","stream":"stdout","text":"caf"})",
              "{\"id\":\"step_1\",\"stream\":\"stderr\",\"text\":\"no: \xEF\xBF\xBD\\n\"}",
              "{\"id\":\"step_1\",\"stream\":\"stdout\",\"text\":\"\xC3\xA9 \\u001b[1m\xEF\xBF\xBD\xEF\xBF\xBD\"}"}));
}

TEST_F(SessionTest, What_the_model_is_not_shown_of_any_tool_s_result_is_in_the_trace) {
  options.sessions.tool_result_chars_max = 10;
  options.sessions.tool_output_bytes_max = 100'000;
  script = [](auto&, const auto& command) {
    const std::size_t lines = command.argv[0] == "@grep" ? 50'000 : 2;
    return FakeResult{.out = std::string(lines, 'a') + std::string(lines, 'b')};
  };
  begin("call list {}\ncall grep {\"pattern\":\"a\"}\nsay {{last}}");
  EXPECT_EQ(heard.text(), "aaaaa\n… 99990 bytes left out …\nbbbbb");
  std::string printed;
  for (const auto& body : heard.bodies(EventKind::output)) {
    const auto document = json::Document::parse(body);
    EXPECT_EQ(*document.value().root().find("id")->string(), "step_2") << "what was shown whole is not reported twice";
    EXPECT_EQ(*document.value().root().find("stream")->string(), "stdout");
    printed += *document.value().root().find("text")->string();
  }
  EXPECT_EQ(printed, std::string(50'000, 'a') + std::string(50'000, 'b'));
  const auto last =
      std::ranges::find(heard.events.rbegin(), heard.events.rend(), EventKind::output, &model::RunEvent::kind);
  EXPECT_EQ(std::prev(last)->kind, EventKind::step) << "the step ends after it";
}

TEST_F(SessionTest, A_flood_costs_no_more_than_its_limits) {
  options.sessions.tool_output_bytes_max = 100'000;
  options.sessions.tool_result_chars_max = 1'000;
  script = [](auto&, auto&) { return FakeResult{.hangs = true}; };
  begin("$ yes\nsay {{last}}");
  const std::string piece(64 * 1024, 'y');
  std::size_t byte_count = 0;
  for (int i = 0; i < 1'600; ++i) {
    box().say(1, Stream::out, piece);
    loop.settle();
  }
  box().end(1, {});
  loop.settle();
  for (const auto& body : heard.bodies(EventKind::output)) byte_count += body.size();
  EXPECT_GT(byte_count, 100'000u);
  EXPECT_LT(byte_count, 101'000u);
  EXPECT_NE(heard.bodies(EventKind::output).back().find("output cut: more than 100000 bytes"), std::string::npos);
  const auto cut = std::to_string(1'600 * piece.size() - 1'000);
  EXPECT_EQ(heard.text(), std::string(500, 'y') + "\n… " + cut + " bytes left out …\n" + std::string(500, 'y'));
}

TEST_F(SessionTest, The_model_is_told_of_its_workspace_and_of_what_AGENTS_md_says) {
  use_provider();
  agent.system_prompt = "Be kind.";
  materials.setup_script = "true";
  script = [](auto&, auto&) { return FakeResult{}; };
  sandbox->script = [this](auto& box, const auto& command) {
    put(box.workspace() + "/AGENTS.md", "Use tabs.");
    return respond(box, command);
  };
  client.answer(answer_of(said("Yes.") + stopped(1, 1)));
  begin("Hi.");
  pass(0);
  ASSERT_EQ(client.requests.size(), 1u);
  const auto& body = client.requests[0].body;
  for (const char* words : {"Be kind.\\n\\nYou work in a sandbox", "/workspace", "AGENTS.md:\\n\\nUse tabs."}) {
    EXPECT_NE(body.find(words), std::string::npos) << words;
  }
}

// H-4
TEST_F(SessionTest, Files_are_told_as_they_change) {
  script = [this](auto&, auto&) {
    watcher.emit({{workspace::FileNews::Kind::created, "a.txt"}, {workspace::FileNews::Kind::overflow, ""}});
    return FakeResult{};
  };
  watcher.at_settle = {{workspace::FileNews::Kind::deleted, "b.txt"}};
  begin("$ x\nsay Done.");
  const auto at = std::to_string(loop.now().ms);
  EXPECT_EQ(heard.bodies(EventKind::file), (Bodies{R"({"type":"create","path":"a.txt","timestamp":)" + at + "}",
                                                   R"({"type":"delete","path":"b.txt","timestamp":)" + at + "}"}));
  EXPECT_EQ(heard.bodies(EventKind::custom), (Bodies{R"({"name":"sandbox.file.overflow","value":{}})"}));
  EXPECT_TRUE(heard.usage);
}

// H-4
TEST_F(SessionTest, Files_beyond_the_first_are_told_as_a_number) {
  options.sessions.file_events_max = 3;
  script = [this](auto&, auto&) {
    for (int i = 0; i < 100; ++i) watcher.emit({{workspace::FileNews::Kind::created, "a" + std::to_string(i)}});
    return FakeResult{};
  };
  watcher.at_settle = {{workspace::FileNews::Kind::deleted, "a0"}};
  begin("$ x\nsay Done.");
  EXPECT_EQ(heard.bodies(EventKind::file).size(), 3u);
  EXPECT_EQ(heard.bodies(EventKind::custom), (Bodies{R"({"name":"sandbox.file.overflow","value":{"more":98}})"}));
  EXPECT_TRUE(heard.usage);
}

// H-4
TEST_F(SessionTest, Files_beyond_the_first_are_told_while_the_run_goes_on) {
  options.sessions.file_events_max = 0;
  script = [this](auto&, auto&) {
    for (int i = 0; i < 3; ++i) watcher.emit({{workspace::FileNews::Kind::changed, "a"}});
    pass(options.sessions.file_sum_ms);
    watcher.emit({{workspace::FileNews::Kind::changed, "a"}});
    return FakeResult{};
  };
  begin("$ x\nsay Done.");
  EXPECT_EQ(heard.bodies(EventKind::custom), (Bodies{R"({"name":"sandbox.file.overflow","value":{"more":3}})",
                                                     R"({"name":"sandbox.file.overflow","value":{"more":1}})"}));
}

TEST_F(SessionTest, Files_need_not_be_watched) {
  options.sessions.watch_files = false;
  begin("$ x");
  EXPECT_TRUE(heard.usage);
  EXPECT_FALSE(watcher.emit);
}

TEST_F(SessionTest, A_run_goes_on_when_its_files_cannot_be_watched) {
  watcher.fails = true;
  begin("$ x");
  EXPECT_TRUE(heard.usage);
  EXPECT_NE(heard.all(EventKind::log).find("Files are not watched: no more watches"), std::string::npos);
}

TEST_F(SessionTest, One_call_of_a_model_has_no_hands) {
  auto dispatch = dispatch_of("$ x\nsay {{last}}");
  dispatch.extras.inference.emplace();
  begin(std::move(dispatch));
  EXPECT_EQ(heard.text(), "There is no tool named bash. Go on without it.");
  EXPECT_EQ(sandbox->opened, 0);
}

}  // namespace session_test
}  // namespace sluice::sessions
