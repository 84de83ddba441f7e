// A native run uses the host's tools and the client's own, with its box or without, and goes on where it stood: H-6.
#include "native/loop_checkpoint.h"
#include "runner/gate_fixture.h"
#include "tools/toolbox_fixture.h"

namespace sluice::native {
namespace host_tool_test {

using namespace runner;

using model::EventKind;
using model::ItemKind;
using model::Subject;
using net::FakeAnswer;
using Bodies = std::vector<std::string>;

class HostToolTest : public GateTest {
 protected:
  HostToolTest() {
    options.tool_urls = {"*"};
    client.answer_method("GET", FakeAnswer::whole(405, ""));
    agent.kit.tools = {webhook_named("find_order")};
    agent.policy = {{.subject = Subject::host, .pattern = "mcp.example"}};
    client_tools = {{.name = "show_map", .parameters = R"({"type":"object"})"}, {.name = "pick_color"}};
  }

  void begin(dispatch::Dispatch dispatch) {
    dispatch.extras.client_tools = client_tools;
    dispatch.extras.context = context;
    if (!runner) {
      runner = make_native_runner(
          options,
          {client, loop, entropy, log, metrics, sandbox.get(), &watcher, &workers, egress, {}, fake_signature()});
    }
    SessionTest::begin(std::move(dispatch));
  }
  void begin(std::string prompt) { begin(dispatch_of(std::move(prompt))); }

  // The client gives its results, to the Work that waits or to another.
  void give(std::vector<model::ClientResult> results) {
    ASSERT_TRUE(heard.gate);
    const auto gate = *std::exchange(heard.gate, std::nullopt);
    EXPECT_EQ(gate.keeps_box, keeps_box);
    if (gate.keeps_box) {
      work->go_on(std::move(results));
      return loop.settle();
    }
    expect_nothing_left();
    last.results = std::move(results);
    go_on_from(gate.checkpoint);
  }

  // The model calls several tools at once, then says "Done."
  void answer_with_calls(const std::vector<std::string>& names) {
    std::string body;
    int index = 0;
    for (const auto& name : names) {
      const auto at = std::to_string(index++);
      body += sse(R"({"type":"content_block_start","index":)" + at +
                  R"(,"content_block":{"type":"tool_use","id":"toolu_)" + at + R"(","name":")" + name + R"("}})") +
              sse(R"({"type":"content_block_delta","index":)" + at +
                  R"(,"delta":{"type":"input_json_delta","partial_json":"{\"n\":)" + at + R"(}"}})") +
              sse(R"({"type":"content_block_stop","index":)" + at + "}");
    }
    client.answer(answer_of(body + stopped(1, 1)));
    use_provider();
  }
  void answer_done() { client.answer(answer_of(said("Done.") + stopped(1, 1))); }
  static model::RequestedItem item(std::string id, std::string name, std::string arguments) {
    return {.kind = ItemKind::client_tool,
            .description = "The client carries out " + name + ".",
            .call = model::ClientCall{std::move(id), name, std::move(arguments)}};
  }

  std::vector<model::HostTool> client_tools;
  std::vector<model::ContextNote> context;
};

INSTANTIATE_TEST_SUITE_P(Placements, HostToolTest, testing::Values(Placement::pooled, Placement::sticky),
                         name_of_placement);

// ── by webhook ──

TEST_P(HostToolTest, H_6_The_output_of_a_webhook_is_reported_at_once_and_its_result_goes_to_the_model) {
  client.answer(
      FakeAnswer()
          .head(200, {{"Content-Type", "application/x-ndjson"}})
          .piece("{\"type\":\"custom\",\"name\":\"shop.seen\",\"value\":[1]}\n")
          .wait(500)
          .piece("{\"type\":\"output\",\"text\":\"looking\"}\n{\"type\":\"result\",\"result\":\"shipped\"}\n"));
  begin("call find_order {\"id\":7}\nsay It is {{last}}.");
  EXPECT_EQ(heard.bodies(EventKind::custom), (Bodies{R"({"name":"shop.seen","value":[1]})"}));
  EXPECT_EQ(steps().size(), 1u);
  pass(500);
  ASSERT_TRUE(heard.usage);
  EXPECT_EQ(heard.text(), "It is shipped.");
  EXPECT_EQ(
      steps(),
      (Bodies{R"({"id":"step_1","name":"find_order","status":"running","args":{"id":7}})",
              R"({"id":"step_1","name":"find_order","status":"succeeded","result":"shipped","durationMs":500})"}));
  EXPECT_EQ(heard.bodies(EventKind::output), (Bodies{R"({"id":"step_1","stream":"stdout","text":"looking"})"}));
  EXPECT_EQ(sandbox->opened, 0) << "no box is needed for it";
  expect_nothing_left();
}

TEST_P(HostToolTest, The_policy_is_asked_before_a_tool_of_the_host_is_called) {
  ask_about(Subject::tool, "find_order", "Orders are private.");
  begin("call find_order {\"id\":7}\nsay {{last}}");
  ASSERT_TRUE(heard.gate);
  EXPECT_EQ(heard.gate->reason, "Orders are private.");
  EXPECT_EQ(heard.gate->items,
            (std::vector<model::RequestedItem>{{.description = R"(find_order: {"id":7})",
                                                .call = model::ClientCall{"step_1", "find_order", R"({"id":7})"}}}));
  EXPECT_TRUE(client.requests.empty());
  client.answer(FakeAnswer::whole(200, "shipped"));
  give({});
  EXPECT_EQ(heard.text(), "shipped");
  EXPECT_EQ(client.requests.size(), 1u);
}

TEST_P(HostToolTest,
       A_denied_tool_of_the_host_is_not_called_nor_is_one_that_needs_an_approval_that_cannot_be_asked_for) {
  forbid(Subject::tool, "find_*", "not today");
  begin("call find_order {}\nsay {{last}}");
  EXPECT_EQ(heard.text(), "refused by policy: not today");
  heard = {};
  agent.policy.clear();
  ask_about(Subject::tool, "*", "careful");
  may_ask = false;
  begin("call find_order {}\nsay {{last}}");
  EXPECT_NE(heard.text().find("cannot ask a human (careful)"), std::string::npos) << heard.text();
  EXPECT_TRUE(client.requests.empty());
}

TEST_P(HostToolTest, A_tool_that_is_gone_when_the_run_continues_is_answered_in_words) {
  ask_about(Subject::tool, "find_order");
  client.answer(FakeAnswer::whole(200, "shipped"));
  begin("call find_order {}\nsay {{last}}");
  last.agent.kit.tools.clear();
  give({});
  EXPECT_EQ(heard.text(), keeps_box ? "shipped" : "The tool find_order is not there any more.")
      << "who waits with its box keeps its tools";
}

TEST_P(HostToolTest, A_run_that_is_stopped_while_a_tool_works_leaves_nothing) {
  client.answer(FakeAnswer());
  begin("call find_order {}");
  EXPECT_EQ(client.calls_in_flight(), 1u);
  bool is_gone = false;
  work->stop([&] { is_gone = true; });
  loop.settle();
  EXPECT_TRUE(is_gone);
  expect_nothing_left();
}

TEST_P(HostToolTest, A_run_whose_time_is_up_breaks_its_tool_off) {
  agent.limits.max_runtime_seconds = 5;
  client.answer(FakeAnswer());
  begin("call find_order {}");
  pass(5'000);
  expect_problem(model::Slug::runtime_exceeded);
  ASSERT_EQ(steps().size(), 2u);
  EXPECT_NE(steps()[1].find(R"("status":"failed")"), std::string::npos);
}

// ── what the model is shown ──

TEST_P(HostToolTest, The_model_is_asked_once_the_tools_are_known_and_gets_the_client_s_situation) {
  context = {{"The page", "/orders/7"}, {"Language", "Finnish"}};
  agent.system_prompt = "Be kind.";
  agent.kit.mcp_servers = {{.name = "crm", .url = "https://mcp.example/mcp"}};
  agent.kit.code_mode = true;
  client.answer(FakeAnswer().wait(2'000).head(200, json_type()).piece(mcp_greeting()).finish());
  client.answer(FakeAnswer::whole(202, ""));
  client.answer(FakeAnswer::whole(200, mcp_tools(), json_type()));
  answer_done();
  use_provider();
  begin("Hello");
  EXPECT_EQ(client.requests.size(), 1u) << "the model waits for the tools";
  pass(2'000);
  ASSERT_TRUE(heard.usage);
  const auto& asked = client.requests.at(3).body;
  for (const auto* tool :
       {"bash", "request_secret", "find_order", "crm__lookup", "run_script", "show_map", "pick_color"}) {
    EXPECT_NE(asked.find(R"("name":")" + std::string(tool) + "\""), std::string::npos) << tool;
  }
  EXPECT_NE(asked.find("Be kind."), std::string::npos);
  EXPECT_NE(asked.find(R"(What the client says of its situation:\n\nThe page:\n/orders/7\n\nLanguage:\nFinnish)"),
            std::string::npos)
      << asked;
}

TEST_P(HostToolTest, A_server_that_is_left_out_is_reported_in_the_trace) {
  agent.kit.mcp_servers = {{.name = "crm", .url = "https://elsewhere.example/mcp"}};
  begin("call crm__lookup {}\nsay {{last}}");
  EXPECT_NE(heard.bodies(EventKind::log).at(0).find("the agent's policy does not allow elsewhere.example"),
            std::string::npos);
  EXPECT_EQ(heard.text(), "There is no tool named crm__lookup. Go on without it.");
}

// ── by the client ──

TEST_P(HostToolTest, H_6_A_call_of_the_client_s_tool_waits_for_its_result) {
  begin("put Look: \ncall show_map {\"city\":\"Turku\"}\nsay {{last}}");
  ASSERT_TRUE(heard.gate);
  EXPECT_EQ(heard.gate->reason, "The client carries out a tool call.");
  EXPECT_EQ(heard.gate->items, (std::vector<model::RequestedItem>{item("step_1", "show_map", R"({"city":"Turku"})")}));
  give({{.call_id = "step_1", .content = "shown"}});
  ASSERT_TRUE(heard.usage) << (heard.problem ? heard.problem->detail : "");
  EXPECT_EQ(heard.text(), "Look: \nshown");
  ASSERT_EQ(steps().size(), 2u);
  EXPECT_NE(steps()[1].find(R"("id":"step_1","name":"show_map","status":"succeeded","result":"shown")"),
            std::string::npos);
  expect_nothing_left();
}

TEST_P(HostToolTest, Calls_of_the_client_that_follow_each_other_wait_at_one_gate) {
  answer_with_calls({"find_order", "show_map", "pick_color", "find_order", "show_map"});
  client.answer(FakeAnswer::whole(200, "first"));
  begin("Go");
  ASSERT_TRUE(heard.gate);
  EXPECT_EQ(heard.gate->reason, "The client carries out 2 tool calls.");
  EXPECT_EQ(heard.gate->items, (std::vector<model::RequestedItem>{item("step_2", "show_map", R"({"n":1})"),
                                                                  item("step_3", "pick_color", R"({"n":2})")}));
  EXPECT_EQ(steps().size(), 4u) << "both are reported as running";
  client.answer(FakeAnswer::whole(200, "second"));
  give({{.call_id = "step_3", .content = "no colors", .failed = true}, {.call_id = "step_2", .content = "shown"}});
  ASSERT_TRUE(heard.gate) << "the last one waits again";
  EXPECT_EQ(heard.gate->items, (std::vector<model::RequestedItem>{item("step_5", "show_map", R"({"n":4})")}));
  answer_done();
  give({{.call_id = "step_5", .content = "again"}});
  ASSERT_TRUE(heard.usage) << (heard.problem ? heard.problem->detail : "");
  const auto& asked = client.requests.back().body;
  std::size_t at = 0;
  for (const auto* word : {"first", "shown", "no colors", "second", "again"}) {
    at = asked.find(word, at);
    EXPECT_NE(at, std::string::npos) << word << " is not in its place";
  }
}

TEST_P(HostToolTest, A_missing_result_is_a_failure_and_one_that_is_not_awaited_is_ignored) {
  answer_with_calls({"show_map", "pick_color"});
  begin("Go");
  answer_done();
  give({{.call_id = "step_9", .content = "what?"}, {.call_id = "step_2", .content = "red"}});
  ASSERT_TRUE(heard.usage);
  EXPECT_NE(heard.all(EventKind::log).find(R"(a result for \"step_9\", which waits for none; it is ignored)"),
            std::string::npos);
  ASSERT_EQ(steps().size(), 4u);
  EXPECT_NE(
      steps()[2].find(R"("id":"step_1","name":"show_map","status":"failed","error":"The client gave no result.")"),
      std::string::npos);
  EXPECT_NE(steps()[3].find(R"("id":"step_2","name":"pick_color","status":"succeeded","result":"red")"),
            std::string::npos);
}

TEST_P(HostToolTest, Results_that_come_with_another_approval_are_ignored) {
  begin("ask May I?\nsay {{last}}");
  give({{.call_id = "step_1", .content = "mine"}});
  EXPECT_EQ(heard.text(), "Approved.");
  EXPECT_NE(heard.all(EventKind::log).find("it is ignored"), std::string::npos);
}

TEST_P(HostToolTest, The_clients_tools_are_answered_in_words_where_no_result_can_come) {
  may_ask = false;
  begin("call show_map {}\nsay {{last}}");
  EXPECT_FALSE(heard.gate);
  EXPECT_EQ(heard.text(), "The tool show_map is carried out by the client, and none can be asked here.");
}

TEST_P(HostToolTest, The_policy_counts_for_the_client_s_tools_too) {
  forbid(Subject::tool, "pick_color", "no colors");
  ask_about(Subject::tool, "show_map", "Maps are asked about.");
  answer_with_calls({"pick_color", "show_map", "show_map"});
  begin("Go");
  ASSERT_TRUE(heard.gate);
  EXPECT_EQ(heard.gate->reason, "Maps are asked about.");
  EXPECT_NE(steps().at(1).find("refused by policy: no colors"), std::string::npos);
  give({});
  ASSERT_TRUE(heard.gate);
  EXPECT_EQ(heard.gate->items, (std::vector<model::RequestedItem>{item("step_2", "show_map", R"({"n":1})")}));
  give({{.call_id = "step_2", .content = "one"}});
  ASSERT_TRUE(heard.gate) << "the next is asked about by itself";
  EXPECT_EQ(heard.gate->reason, "Maps are asked about.");
}

TEST_P(HostToolTest, What_the_client_answers_is_scrubbed_and_bounded) {
  options.sessions.tool_result_chars_max = 40;
  secrets->replace({{.alias = "CRM_KEY", .value = "hunter2-hunter2"}});
  begin("call show_map {\"key\":\"hunter2-hunter2\"}\nsay {{last}}");
  ASSERT_TRUE(heard.gate);
  EXPECT_EQ(heard.gate->items[0].call->arguments, R"({"key":"{{secret:CRM_KEY}}"})");
  give({{.call_id = "step_1", .content = "hunter2-hunter2"}});
  EXPECT_EQ(heard.text(), "{{secret:CRM_KEY}}");
  heard = {};
  begin("call show_map {}\nsay {{last}}");
  give({{.call_id = "step_1", .content = std::string(100, 'x')}});
  EXPECT_NE(heard.text().find("60 bytes left out"), std::string::npos) << heard.text();
}

TEST_P(HostToolTest, What_the_box_holds_outlives_the_wait_for_the_client) {
  begin("write a.txt: one\ncall show_map {}\nread a.txt\nsay {{last}}");
  give({{.call_id = "step_2", .content = "shown"}});
  ASSERT_TRUE(heard.usage) << (heard.problem ? heard.problem->detail : "");
  EXPECT_EQ(heard.text(), "one");
}

TEST(LoopCheckpoint, Of_calls_that_the_client_carries_out_must_name_them) {
  LoopCheckpoint checkpoint{
      .turns = {{.role = model::Role::assistant, .calls = {{"c1", "show_map", "{}"}, {"c2", "show_map", "{}"}}}},
      .calls = {.step_id = "step_1", .asked = Asked::client}};
  auto& items = checkpoint.calls.items;
  EXPECT_FALSE(checkpoint_from_json(to_json(checkpoint))) << "no items";
  items = {{.kind = ItemKind::client_tool, .call = model::ClientCall{"step_1", "show_map", "{}"}}};
  const auto read = checkpoint_from_json(to_json(checkpoint));
  ASSERT_TRUE(read);
  EXPECT_EQ(read.value().calls.asked, Asked::client);
  EXPECT_EQ(read.value().calls.items, items);
  items.resize(2);
  EXPECT_FALSE(checkpoint_from_json(to_json(checkpoint))) << "an item without a call";
  items.assign(3, items[0]);
  EXPECT_FALSE(checkpoint_from_json(to_json(checkpoint))) << "more items than calls";
}

// ── servers of MCP in the box ──

class BoxServerTest : public HostToolTest {
 protected:
  BoxServerTest() {
    agent.kit.mcp_servers = {{.name = "files", .command = {"mcp-files", "--all"}, .environment = {{"DEPTH", "2"}}}};
    script = [](auto&, const sandbox::Command& command) {
      return sandbox::FakeResult{.hangs = command.argv[0] == "mcp-files"};
    };
  }
  // Of the server's process; the commands before it are the box's own.
  std::size_t place() {
    for (std::size_t i = box().commands.size(); i > 0; --i) {
      if (box().commands[i - 1]->command.argv[0] == "mcp-files") return i - 1;
    }
    ADD_FAILURE() << "it was not started";
    return 0;
  }
  sandbox::FakeProcess::State& server() { return *box().commands[place()]; }
  void say(const std::string& line) {
    box().say(place(), sandbox::Stream::out, line + "\n");
    loop.settle();
  }
  void greet() {
    say(mcp_greeting());
    say(mcp_tools());
  }
};

INSTANTIATE_TEST_SUITE_P(Placements, BoxServerTest, testing::Values(Placement::pooled, Placement::sticky),
                         name_of_placement);

TEST_P(BoxServerTest, H_6_A_server_of_MCP_in_the_box_is_started_before_the_model_is_asked) {
  begin("call files__lookup {\"id\":7}\nsay {{last}}");
  EXPECT_EQ(server().command.environment.at("DEPTH"), "2");
  EXPECT_TRUE(server().command.keeps_input);
  EXPECT_TRUE(steps().empty()) << "its tools are not known yet";
  say("Listening on stdio");
  box().say(place(), sandbox::Stream::err, "warming up\n");
  greet();
  EXPECT_NE(server().input.find(R"("method":"tools/call","params":{"name":"lookup","arguments":{"id":7})"),
            std::string::npos)
      << server().input;
  say(mcp_text(3, "found it"));
  ASSERT_TRUE(heard.usage);
  EXPECT_EQ(heard.text(), "found it");
  const auto logs = heard.all(EventKind::log);
  EXPECT_NE(logs.find(R"({"level":"debug","text":"MCP server files: Listening on stdio"})"), std::string::npos) << logs;
  EXPECT_NE(logs.find("MCP server files: warming up"), std::string::npos) << logs;
}

TEST_P(BoxServerTest, One_that_ends_is_left_out_or_its_tools_fail_in_words) {
  begin("call files__lookup {}\nsay {{last}}");
  box().end(place(), {.cause = sandbox::ExitCause::not_started, .what = "no such program"});
  loop.settle();
  EXPECT_NE(heard.all(EventKind::log).find("it ended: not_started (no such program)"), std::string::npos)
      << heard.all(EventKind::log);
  EXPECT_EQ(heard.text(), "There is no tool named files__lookup. Go on without it.");
  heard = {};
  begin("call files__lookup {}\ncall files__lookup {}\nsay {{last}}");
  greet();
  box().end(place(), {.code = 3});
  loop.settle();
  loop.advance(Millis{0});
  ASSERT_TRUE(heard.usage) << (heard.problem ? heard.problem->detail : "");
  EXPECT_EQ(steps().size(), 4u) << "one was under way, the other came later";
  EXPECT_NE(heard.text().find("the server \"files\" is not there: it ended with exit code 3"), std::string::npos)
      << heard.text();
}

TEST_P(BoxServerTest, A_box_that_is_lost_takes_the_run_with_it_unless_it_waits) {
  begin("call files__lookup {}\nsay {{last}}");
  greet();
  box().lose("out of memory");
  loop.settle();
  expect_problem(model::Slug::sandbox_failed, "out of memory");
  if (!keeps_box) return;
  heard = {};
  begin("ask May I?\ncall files__lookup {}\nsay {{last}}");
  greet();
  box().lose("out of memory");
  loop.settle();
  give({});
  pass(0);
  ASSERT_TRUE(heard.usage) << (heard.problem ? heard.problem->detail : "");
  EXPECT_NE(heard.text().find("the server \"files\" is not there: it ended"), std::string::npos) << heard.text();
}

TEST_P(BoxServerTest, One_that_says_nothing_is_left_out_in_time) {
  begin("say Hello.");
  EXPECT_EQ(heard.text(), "");
  pass(30'000);
  EXPECT_EQ(heard.text(), "Hello.");
  EXPECT_NE(heard.all(EventKind::log).find("it did not name its tools within 30 s"), std::string::npos);
}

TEST_P(BoxServerTest, It_is_there_again_after_a_wait_for_a_human) {
  begin("ask May I?\ncall files__lookup {}\nsay {{last}}");
  greet();
  ASSERT_TRUE(heard.gate);
  give({});
  if (!keeps_box) greet();  // in another box, it is another process
  say(mcp_text(3, "still here"));
  ASSERT_TRUE(heard.usage) << (heard.problem ? heard.problem->detail : "");
  EXPECT_EQ(heard.text(), "still here");
}

TEST_P(BoxServerTest, It_does_not_go_on_in_a_box_that_is_kept) {
  begin("say Hello.");
  greet();
  ASSERT_TRUE(heard.usage);
  ASSERT_EQ(sandbox->boxes.size(), keeps_box ? 1u : 0u);
  if (keeps_box) {
    EXPECT_TRUE(server().dropped);
  }
}

}  // namespace host_tool_test
}  // namespace sluice::native
