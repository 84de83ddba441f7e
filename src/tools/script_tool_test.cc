#include "tools/script_tool.h"
#include "tools/script_run.h"

#include "runner/session_fixture.h"
#include "sessions/sessions.h"
#include "tools/host_call_output.h"
#include "tools/script_fixture.h"

namespace sluice::tools {
namespace script_tool_test {

using namespace runner;

struct SilentSessionListener final : SessionListener {
  void on_session_question(egress::Question) override {}
  void on_session_failed(model::Slug, std::string) override {}
};

// H-7
class ScriptTool : public SessionTest {
 protected:
  ScriptTool() {
    script = [](sandbox::FakeBox&, const sandbox::Command&) { return sandbox::FakeResult{.hangs = true}; };
    toolbox.list = {{.name = "crm__look-up", .description = "Finds a row."}, {.name = "run_script"}, {.name = "pick"}};
    toolbox.client_tool = "pick";
    toolbox.script = [](const models::ToolCall&) { return ToolAnswer{.text = R"({"row":1})"}; };
    dispatch = dispatch_of("");
  }
  ~ScriptTool() override {
    call.reset();
    session.reset();
    loop.settle();
    context.reset();
  }

  void run(std::string arguments = R"({"code":"return 1"})") {
    call.reset();
    session.reset();  // which needs its context to the end
    shared.reset(new Host{.options = options.sessions,
                          .loop = loop,
                          .log = log,
                          .sandbox = sandbox.get(),
                          .watcher = &watcher,
                          .workers = &workers,
                          .kept_sandboxes = &kept});
    context.reset(new tools::Context{options, options.sessions, sign, loop, loop, client});
    session = std::make_unique<SandboxSession>(*shared, loop, dispatch, SessionState(), output, silent);
    call = run_script(*context, dispatch, *session, toolbox, {"call-1", "run_script", std::move(arguments)}, host);
    EXPECT_TRUE(host.events.empty() && !host.answer) << "no callback comes from inside";
    loop.settle();
  }
  std::size_t last() { return box().commands.size() - 1; }
  const sandbox::Command& command() { return box().commands.back()->command; }
  // What it is sent after its first line.
  const std::string& sent() { return box().commands.back()->input; }
  void say(const std::string& line) {
    box().say(last(), sandbox::Stream::out, line + "\n");
    loop.settle();
  }
  void call_tool(int id, std::string_view tool = "crm__look-up", std::string_view args = "{}") {
    say(R"({"call":{"id":)" + std::to_string(id) + R"(,"name":")" + std::string(tool) + R"(","args":)" +
        std::string(args) + "}}");
  }
  void end(sandbox::Exit exit = {}) {
    box().end(last(), std::move(exit));
    loop.settle();
  }
  void expect_failed(std::string_view words) {
    ASSERT_TRUE(host.answer);
    EXPECT_TRUE(host.answer->failed);
    EXPECT_NE(host.answer->text.find(words), std::string::npos) << host.answer->text;
    EXPECT_NE(host.all("execution_finished", "error").find(words), std::string::npos)
        << "reported to those who watch, too";
    EXPECT_EQ(host.all("execution_finished", "success"), "false");
    EXPECT_EQ(toolbox.under_way, 0);
  }

  FakeToolbox toolbox{loop};
  SilentSessionListener silent;
  runs::EventOutput output{loop, nullptr, heard};
  HeardHost host;
  dispatch::Dispatch dispatch;
  KeptSandboxes kept;
  SignWebhook sign;
  std::unique_ptr<Host> shared;
  std::unique_ptr<tools::Context> context;
  std::unique_ptr<SandboxSession> session;
  std::unique_ptr<HostCall> call;
};

TEST_F(ScriptTool, Runs_on_node_with_a_function_for_each_tool_that_it_may_call) {
  run(R"({"code":"return 1","timeout_ms":5000})");
  EXPECT_EQ(command().argv[4], "node");
  EXPECT_EQ(command().argv[5], "--max-old-space-size=128");
  EXPECT_EQ(command().timeout_ms, 5000);
  EXPECT_TRUE(command().keeps_input);
  EXPECT_EQ(command().input,
            R"({"code":"return 1","functions":{"external_crm__look_up":"crm__look-up"},"memory_bytes":134217728})"
            "\n");
}

TEST_F(ScriptTool, Runs_Python_where_that_is_asked_for) {
  run(R"({"code":"return 1","language":"python"})");
  EXPECT_EQ(command().argv[4], "python3");
  EXPECT_EQ(command().timeout_ms, 30'000);
  EXPECT_EQ(host.all("execution_started", "language"), R"("python")");
}

TEST_F(ScriptTool, Tells_what_happens_in_the_order_in_which_it_happens) {
  run();
  say(R"({"console":{"level":"log","message":"before"}})");
  call_tool(1, "crm__look-up", R"({"q":7})");
  say(R"({"console":{"level":"warn","message":"after"}})");
  say(R"({"result":{"sum":3}})");
  end();
  EXPECT_EQ(host.names(),
            "execution_started console external_call crm.progress external_result console execution_finished");
  EXPECT_EQ(host.all("execution_started", "codeLength"), "8");
  EXPECT_EQ(host.all("console", "level"), "\"log\"\n\"warn\"");
  EXPECT_EQ(host.all("external_call", "function"), R"("external_crm__look_up")");
  EXPECT_EQ(host.all("external_call", "args"), R"({"q":7})");
  EXPECT_EQ(host.all("external_result", "result"), R"({"row":1})");
  EXPECT_EQ(host.all("execution_finished", "success"), "true");
  EXPECT_EQ(host.all("execution_finished", "logCount"), "2");
  EXPECT_EQ(host.output, "before\nafter\n");
  EXPECT_EQ(sent(), R"({"id":1,"text":"{\"row\":1}","failed":false})"
                    "\n");
  ASSERT_EQ(toolbox.calls.size(), 1u);
  EXPECT_EQ(toolbox.calls[0], (models::ToolCall{"call-1.1", "crm__look-up", R"({"q":7})"}));
  ASSERT_TRUE(host.answer);
  EXPECT_FALSE(host.answer->failed);
  EXPECT_EQ(host.answer->text, R"({"success":true,"result":{"sum":3},"logs":["before","warn: after"]})");
}

TEST_F(ScriptTool, Tells_an_answer_that_is_no_JSON_as_text_and_a_failed_one_as_an_error) {
  toolbox.script = [](const models::ToolCall& made) {
    return made.arguments == "{}" ? ToolAnswer{.text = "plain"} : ToolAnswer{.text = "no such row", .failed = true};
  };
  run();
  call_tool(1);
  call_tool(2, "crm__look-up", R"({"q":1})");
  EXPECT_EQ(host.all("external_result", "result"), R"("plain")");
  EXPECT_EQ(host.all("external_error", "error"), R"("no such row")");
  EXPECT_NE(sent().find(R"({"id":2,"text":"no such row","failed":true})"), std::string::npos);
}

TEST_F(ScriptTool, Says_what_is_wrong_with_its_arguments) {
  for (const auto* arguments : {"{}", R"({"code":""})", R"({"code":7})", R"({"code":"x","language":"perl"})",
                                R"({"code":"x","timeout_ms":0})", R"({"code":"x","timeout_ms":600001})", "nonsense"}) {
    EXPECT_FALSE(script_of(arguments, {})) << arguments;
  }
  const std::pair<const char*, const char*> wrong[] = {
      {"{}", "run_script needs code"}, {R"({"code":"return 1","language":"perl"})", "language must be"}};
  for (const auto& [arguments, words] : wrong) {
    host.answer.reset();
    run(arguments);
    ASSERT_TRUE(host.answer);
    EXPECT_TRUE(host.answer->failed);
    EXPECT_NE(host.answer->text.find(words), std::string::npos) << host.answer->text;
    EXPECT_EQ(host.names(), "") << "what never started does not finish";
    EXPECT_TRUE(sandbox->boxes.empty()) << "no box is opened for it";
  }
}

TEST_F(ScriptTool, Ends_with_the_scripts_own_error) {
  run();
  say(R"({"error":{"name":"TypeError","message":"x is null","stack":"at script.js:1"}})");
  end();
  expect_failed("x is null");
  EXPECT_NE(host.answer->text.find("script.js:1"), std::string::npos);
}

TEST_F(ScriptTool, Is_stopped_when_its_time_is_up) {
  toolbox.script = [](const models::ToolCall&) { return std::nullopt; };
  run(R"({"code":"return 1","timeout_ms":1000})");
  call_tool(1);
  pass(1000);
  expect_failed("it ran longer than 1000 ms");
  EXPECT_EQ(host.count("external_error"), 1u) << "what was begun is not left open";
}

TEST_F(ScriptTool, Says_which_limit_of_memory_it_met) {
  run();
  box().say(last(), sandbox::Stream::err, "FATAL ERROR: Reached heap limit - JavaScript heap out of memory\n");
  end({.cause = sandbox::ExitCause::killed, .code = 6});
  expect_failed("it used more than 128 MiB of memory");
}

TEST_F(ScriptTool, Says_what_is_missing_in_the_sandbox) {
  run();
  box().say(last(), sandbox::Stream::err, "sh: 1: exec: node: not found\n");
  end({.code = 127});
  expect_failed("there is no node in this sandbox");
}

TEST_F(ScriptTool, Says_how_it_ended_when_it_did_not_return) {
  run();
  box().say(last(), sandbox::Stream::err, "dying\n");
  end({.code = 3});
  expect_failed("before it returned (exit code 3)");
  EXPECT_EQ(host.output, "dying\n");
}

TEST_F(ScriptTool, May_call_tools_only_so_often) {
  options.scripts.calls_max = 2;
  run();
  for (int id = 1; id <= 5; ++id) call_tool(id);
  EXPECT_EQ(toolbox.calls.size(), 2u);
  EXPECT_EQ(host.count("external_call"), 3u) << "past the limit only the first is reported";
  EXPECT_EQ(host.all("external_error", "error"), R"("A script may call tools 2 times, and no more.")");
  EXPECT_NE(sent().find(R"("id":5)"), std::string::npos) << "but each is answered";
}

TEST_F(ScriptTool, Makes_a_few_calls_at_once_and_the_others_after_them) {
  int answered = 0;
  toolbox.script = [&](const models::ToolCall&) { return ++answered, std::optional(ToolAnswer{.text = "ok"}); };
  run();
  std::string lines;
  for (int id = 1; id <= 50; ++id) {
    lines += R"({"call":{"id":)" + std::to_string(id) + R"(,"name":"crm__look-up","args":{}}})" + "\n";
  }
  box().say(last(), sandbox::Stream::out, lines);
  EXPECT_EQ(toolbox.under_way, 8);
  loop.settle();
  EXPECT_EQ(answered, 50);
  EXPECT_EQ(toolbox.under_way, 0);
}

TEST_F(ScriptTool, Obeys_the_policy_and_calls_only_what_can_answer_it) {
  toolbox.list.push_back({.name = "risky"});
  dispatch.agent.policy = {{.effect = model::Effect::deny, .pattern = "crm__*", .reason = "not this one"},
                           {.effect = model::Effect::ask, .pattern = "risky"}};
  run();
  call_tool(1);
  call_tool(2, "risky");
  call_tool(3, "pick");
  call_tool(4, "run_script");
  call_tool(5, "bash");
  EXPECT_TRUE(toolbox.calls.empty());
  const auto errors = host.all("external_error", "error");
  for (const auto* words : {"refused by policy: not this one", "a script cannot wait for one",
                            "carried out by the client", "no tool named run_script", "no tool named bash"}) {
    EXPECT_NE(errors.find(words), std::string::npos) << words << "\n" << errors;
  }
  EXPECT_EQ(host.count("external_error"), 5u);
}

TEST_F(ScriptTool, Refuses_arguments_that_are_no_object) {
  run();
  call_tool(1, "crm__look-up", "[1]");
  EXPECT_NE(host.all("external_error", "error").find("must be an object"), std::string::npos);
  EXPECT_TRUE(toolbox.calls.empty());
}

TEST_F(ScriptTool, Tells_only_so_much_of_what_it_prints) {
  options.scripts.console_lines_max = 3;
  run();
  for (int i = 0; i < 10; ++i) say(R"({"console":{"level":"log","message":"line"}})");
  say(R"({"result":null})");
  end();
  EXPECT_EQ(host.count("console"), 4u);
  EXPECT_NE(host.all("console", "message").find("more than 3 lines"), std::string::npos);
  EXPECT_FALSE(host.answer->failed);
}

TEST_F(ScriptTool, Is_stopped_when_a_line_does_not_end) {
  run();
  for (int i = 0; i < 70 && !host.answer; ++i) {
    box().say(last(), sandbox::Stream::out, std::string(64 * 1024, 'x'));
    loop.settle();
  }
  expect_failed("bytes at once");
  EXPECT_TRUE(box().commands.back()->dropped) << "its process is killed";
}

TEST_F(ScriptTool, Is_stopped_when_what_it_says_cannot_be_read) {
  run();
  say("{half");
  expect_failed("cannot be read");
}

TEST_F(ScriptTool, Is_judged_by_its_end_and_not_by_the_half_line_that_it_left) {
  run();
  box().say(last(), sandbox::Stream::out, R"({"console":{"level":"l)");
  end({.cause = sandbox::ExitCause::timed_out, .code = 9});
  expect_failed("it ran longer than 30000 ms");
}

TEST_F(ScriptTool, Has_the_whole_answer_of_a_tool_and_the_model_only_what_it_can_read) {
  struct Whole final : HostCallListener {
    void on_host_custom(std::string_view, std::string_view) override {}
    void on_host_output(std::string_view) override {}
    void on_host_answer(ToolAnswer answer) override { bytes = answer.text.size(); }
    bool takes_whole_answer() const override { return true; }
    std::size_t bytes = 0;
  } whole;
  const std::string text = "[" + std::string(100'000, '1') + "]";
  run();
  HostCallOutput(*context, nullptr, whole).answer({.text = text});
  EXPECT_EQ(whole.bytes, text.size());
  say(R"({"result":)" + text + "}");
  end();
  EXPECT_LT(host.answer->text.size(), 31'000u);
}

TEST_F(ScriptTool, Dropping_it_ends_the_script_and_what_it_called) {
  toolbox.script = [](const models::ToolCall&) { return std::nullopt; };
  run();
  call_tool(1);
  EXPECT_EQ(toolbox.under_way, 1);
  call.reset();
  EXPECT_EQ(toolbox.under_way, 0);
  EXPECT_TRUE(box().commands.back()->dropped);
  EXPECT_FALSE(host.answer);
}

TEST(ScriptToolWords, Describe_each_function_and_stay_within_bounds) {
  const auto tool = script_tool({{.name = "crm__look-up", .description = "Finds a row.", .parameters = R"({"a":1})"}});
  EXPECT_NE(tool.description.find("external_crm__look_up(args): Finds a row.\nargs: {\"a\":1}"), std::string::npos);
  EXPECT_TRUE(json::Document::parse(tool.parameters));
  std::vector<model::HostTool> many;
  for (int i = 0; i < 100; ++i)
    many.push_back({.name = "tool" + std::to_string(i), .description = std::string(9000, 'x')});
  const auto bounded = script_tool(many);
  EXPECT_LT(bounded.description.size(), 40'000u);
  EXPECT_NE(bounded.description.find("external_tool99(args)"), std::string::npos);
}

}  // namespace script_tool_test
}  // namespace sluice::tools
