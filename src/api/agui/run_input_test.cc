// What an AG-UI client may post (H-2, H-6).
#include "api/agui/agui.h"

#include "api/agui/agui_fixture.h"

namespace sluice::api::agui {
namespace run_input_test {

class RunInputTest : public AguiTest {
 protected:
  // One run that is refused: the whole body.
  void expect_wrong(const std::string& body, const Texts& pointers) {
    const auto answer = post("/agui", body);
    for (const auto& pointer : pointers) expect_refused(answer, pointer);
    EXPECT_EQ(agent.dispatch_count, 0) << body;
  }
  const model::RunExtras& extras() const { return agent.last.extras; }
};

TEST_F(RunInputTest, H_2_everything_that_a_client_says_reaches_the_agent) {
  const std::string messages =
      R"({"id":"s","role":"system","content":"Be brief."},)"
      R"({"id":"d","role":"developer","content":"Be kind."},{"id":"a","role":"assistant"},)"
      R"({"id":"x","role":"activity","activityType":"PLAN","content":{"steps":[]}},)"
      R"({"id":"r","role":"reasoning","content":"hm"},)"
      R"({"id":"u","role":"user","content":[{"type":"text","text":"first"},{"type":"text","text":"second"}]})";
  const auto answer = start("r1", messages,
                            R"(,"parentRunId":"r0","state":{"any":1},"context":[{"description":"page","value":"7"}],)"
                            R"("tools":[{"name":"pick","description":"Picks.","parameters":{"type":"object"}},)"
                            R"({"name":"bare"}],"forwardedProps":{"sessionId":"s-1","other":[1]},"never":"heard of")");
  EXPECT_EQ(answer->status, 200) << answer->body;
  EXPECT_EQ(agent.last.prompt, "first\nsecond");
  EXPECT_EQ(extras().agui, (model::AguiNames{"t1", "r1", "r0", "[" + messages + "]"}));
  EXPECT_EQ(extras().context, (std::vector<model::ContextNote>{{"page", "7"}}));
  EXPECT_EQ(extras().session_id, "s-1");
  EXPECT_EQ(extras().client_tools, (std::vector<model::HostTool>{{"pick", "Picks.", R"({"type":"object"})"},
                                                                 {"bare", "", R"({"type":"object"})"}}));
}

TEST_F(RunInputTest, A_session_may_stand_where_tanstacks_adapters_have_it) {
  start("r1", user("x"), R"(,"forwardedProps":{"modelOptions":{"sessionId":"deep"}})");
  EXPECT_EQ(extras().session_id, "deep");
  agent_finishes();
  start("r2", user("y"), R"(,"forwardedProps":{"sessionId":"near","modelOptions":{"sessionId":"deep"}})");
  EXPECT_EQ(extras().session_id, "near");
  agent_finishes();
  start("r3", user("z"), R"(,"forwardedProps":{"modelOptions":null})");
  EXPECT_EQ(extras().session_id, std::nullopt);
}

TEST_F(RunInputTest, H_3_a_session_is_named_by_its_id_or_by_the_value_of_its_event) {
  int number = 0;
  for (const auto& props : Texts{R"({"sessionId":{"sessionId":"s-1","model":"m","tools":[]}})",
                                 R"({"modelOptions":{"sessionId":{"sessionId":"s-1"}}})", R"({"sessionId":"s-1"})"}) {
    const auto name = "r" + std::to_string(number++);
    EXPECT_EQ(start(name, user(name), R"(,"forwardedProps":)" + props)->status, 200) << props;
    EXPECT_EQ(extras().session_id, "s-1") << props;
    agent_finishes();
  }
}

TEST_F(RunInputTest, H_3_every_session_id_that_a_run_emits_is_accepted_and_a_longer_one_is_not) {
  const auto longest = std::string(200, 'x');
  expect_wrong(input("r9", user("x"), R"(,"forwardedProps":{"sessionId":")" + longest + "x\"}"),
               {"/forwardedProps/sessionId"});
  expect_wrong(input("r9", user("x"), R"(,"forwardedProps":{"sessionId":{"sessionId":")" + longest + "x\"}}"),
               {"/forwardedProps/sessionId/sessionId"});
  int number = 0;
  for (const auto& id : Texts{"a:b", ":b", longest}) {
    for (const auto& value : Texts{"\"" + id + "\"", R"({"sessionId":")" + id + "\"}"}) {
      const auto name = "r" + std::to_string(number++);
      EXPECT_EQ(start(name, user(name), R"(,"forwardedProps":{"sessionId":)" + value + "}")->status, 200) << value;
      EXPECT_EQ(extras().session_id, id);
      agent_finishes();
    }
  }
}

TEST_F(RunInputTest, All_missing_and_mistyped_members_are_refused_in_one_answer) {
  expect_wrong("{}", {"/threadId", "/runId", "/messages"});
  expect_wrong("[]", {""});
  expect_wrong(
      R"({"threadId":1,"runId":"","parentRunId":[],"protocolVersion":1,"messages":{},"tools":{},"context":1,)"
      R"("resume":"x"})",
      {"/threadId", "/runId", "/parentRunId", "/protocolVersion", "/messages", "/tools", "/context", "/resume"});
  EXPECT_EQ(post("/agui", "{")->slug(), "malformed-request");
}

TEST_F(RunInputTest, A_name_must_be_able_to_stand_in_the_head_of_a_frame) {
  for (const auto& name : Texts{"a b", "a\\nid: b", "\\u0007", "a\\u007f"}) {
    expect_wrong(R"({"threadId":"t","runId":")" + name + R"(","messages":[]})", {"/runId"});
  }
  expect_wrong(input(std::string(257, 'x'), user("x")), {"/runId"});
  EXPECT_EQ(start(std::string(256, 'x'), user("x"))->status, 200);
}

TEST_F(RunInputTest, Any_minor_version_is_served_and_another_major_one_is_not) {
  const auto with = [](const std::string& version) {
    return R"({"threadId":"t1","runId":"r","messages":[],"protocolVersion":")" + version + "\"}";
  };
  for (const auto& version : Texts{"2.0", "0.9", "x", "1x", "-1", "v1.0", ""}) {
    expect_wrong(with(version), {"/protocolVersion"});
  }
  for (const auto& version : Texts{"1", "1.0", "1.17"}) {
    EXPECT_EQ(post("/agui", with(version))->status, 200) << version;
  }
}

TEST_F(RunInputTest, A_wrong_message_says_where) {
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {"7", "/messages/0"},
      {R"({"role":"user","content":"x"})", "/messages/0/id"},
      {R"({"id":"1","content":"x"})", "/messages/0/role"},
      {R"({"id":"1","role":"robot","content":"x"})", "/messages/0/role"},
      {R"({"id":"1","role":"user"})", "/messages/0/content"},
      {R"({"id":"1","role":"user","content":5})", "/messages/0/content"},
      {R"({"id":"1","role":"user","content":[{"type":"text","text":"x"},{"type":"image","source":{}}]})",
       "/messages/0/content/1"},
      {R"({"id":"1","role":"user","content":[{"type":"text"}]})", "/messages/0/content/0/text"},
      {R"({"id":"1","role":"tool","content":"x"})", "/messages/0/toolCallId"},
      {R"({"id":"1","role":"tool","toolCallId":"c"})", "/messages/0/content"}};
  for (const auto& [message, pointer] : wrong) expect_wrong(input("r", message), {pointer});
}

TEST_F(RunInputTest, A_message_of_the_user_says_something) {
  for (const auto& messages : Texts{user(""), R"({"id":"u","role":"user","content":[]})"}) {
    expect_wrong(input("r", messages), {"/messages"});
  }
  const std::string most(limits::message_content_bytes_max, 'x');
  expect_wrong(input("r", user(most + "x")), {"/messages/0/content"});
  EXPECT_EQ(start("r", user(most))->status, 200);
}

TEST_F(RunInputTest, A_run_without_a_message_of_the_user_returns_the_thread_as_it_is) {
  for (const auto& messages : Texts{"", user("x") + R"(,{"id":"a","role":"assistant","content":"y"})"}) {
    const auto answer = start("r", messages);
    EXPECT_EQ(answer->status, 200) << answer->body;
    EXPECT_TRUE(has(answer, R"({"type":"MESSAGES_SNAPSHOT","messages":[)" + messages + "]}")) << answer->body;
    EXPECT_TRUE(has(answer, "RUN_FINISHED")) << answer->body;
  }
  EXPECT_EQ(agent.dispatch_count, 0);
  start("r1", user("x"));
  EXPECT_EQ(start("r2", "")->slug(), "conversation-busy") << "there is something to be joined";
}

TEST_F(RunInputTest, Pictures_of_earlier_messages_do_no_harm) {
  EXPECT_EQ(start("r", R"({"id":"0","role":"user","content":[{"type":"image"}]},)" + user("x"))->status, 200);
  EXPECT_EQ(agent.last.prompt, "x");
}

TEST_F(RunInputTest, Wrong_tools_notes_and_properties_say_where) {
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {R"("tools":[1])", "/tools/0"},
      {R"("tools":[{"description":"x"}])", "/tools/0/name"},
      {R"("tools":[{"name":"1st"}])", "/tools/0/name"},
      {R"("tools":[{"name":"a.b"}])", "/tools/0/name"},
      {R"("tools":[{"name":"a","parameters":"{}"}])", "/tools/0/parameters"},
      {R"("context":[{"value":"x"}])", "/context/0/description"},
      {R"("context":[{"description":"x","value":{}}])", "/context/0/value"},
      {R"("forwardedProps":{"sessionId":"../x"})", "/forwardedProps/sessionId"},
      {R"("forwardedProps":{"sessionId":"-rf"})", "/forwardedProps/sessionId"},
      {R"("forwardedProps":{"modelOptions":{"sessionId":1}})", "/forwardedProps/modelOptions/sessionId"},
      {R"("forwardedProps":{"sessionId":{}})", "/forwardedProps/sessionId/sessionId"},
      {R"("forwardedProps":{"sessionId":{"sessionId":"-rf"}})", "/forwardedProps/sessionId/sessionId"},
      {R"("forwardedProps":{"onCapacity":"wait"})", "/forwardedProps/onCapacity"}};
  for (const auto& [members, pointer] : wrong) expect_wrong(input("r", user("x"), "," + members), {pointer});
}

TEST_F(RunInputTest, A_wrong_resume_says_where) {
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {"7", "/resume/0"},
      {R"({"status":"resolved"})", "/resume/0/interruptId"},
      {R"({"interruptId":"a"})", "/resume/0/status"},
      {R"({"interruptId":"a","status":"done"})", "/resume/0/status"},
      {R"({"interruptId":"a","status":"resolved","payload":{"approved":"yes"}})", "/resume/0/payload/approved"},
      {R"({"interruptId":"a","status":"resolved","payload":{"note":5}})", "/resume/0/payload/note"},
      {R"({"interruptId":"a","status":"resolved","payload":{"approved":true,"editedArgs":{"x":1}}})",
       "/resume/0/payload/editedArgs"},
      {R"({"interruptId":"a","status":"resolved","payload":{"secrets":{"lower":"v"}}})", "/resume/0/payload/secrets"}};
  for (const auto& [entry, pointer] : wrong) {
    expect_wrong(input("r", user("x"), R"(,"resume":[)" + entry + "]"), {pointer});
  }
}

TEST_F(RunInputTest, H_2_each_kind_of_client_gets_frames_or_lines_as_it_accepts) {
  int number = 0;
  const auto type_for = [&](const std::string& accept) {
    net::Headers headers;
    if (!accept.empty()) headers.add("Accept", accept);
    const auto answer = start("r" + std::to_string(++number), user("x"), "", std::move(headers));
    agent_finishes();
    EXPECT_TRUE(answer->body.starts_with(answer->header("Content-Type") == "text/event-stream" ? "id: " : "{"))
        << answer->body;
    return answer->header("Content-Type");
  };
  EXPECT_EQ(type_for(""), "text/event-stream");
  EXPECT_EQ(type_for("*/*"), "text/event-stream");
  EXPECT_EQ(type_for("application/x-ndjson"), "application/x-ndjson");
  EXPECT_EQ(type_for("text/event-stream, application/x-ndjson"), "text/event-stream");
}

TEST_F(RunInputTest, H_2_who_asks_is_known_by_what_it_says) {
  const auto ends_with = [&](const std::string& body, const net::Headers& headers) {
    const auto answer = post("/agui", body, headers);
    agent.listener->on_event(
        {model::EventKind::step, loop.now(), R"({"id":"toolu_1","name":"pick","status":"running","args":{"from":3}})"});
    agent_asks({a_call("toolu_1")});
    return answer->body.substr(answer->body.rfind("RUN_FINISHED"));
  };
  const auto plain = [](const std::string& thread, const std::string& more) {
    return R"({"threadId":")" + thread + R"(","runId":"r","messages":[)" + user("x") + "]" + more + "}";
  };
  EXPECT_NE(ends_with(plain("new", R"(,"protocolVersion":"1.0")"), {}).find(R"("pendingToolCallIds":["toolu_1"])"),
            std::string::npos);
  EXPECT_NE(ends_with(plain("data", R"(,"data":{})"), {}).find("client_tool_toolu_1"), std::string::npos);
  net::Headers tanstack;
  tanstack.add("X-Run-Id", "r");
  EXPECT_NE(ends_with(plain("header", ""), tanstack).find("client_tool_toolu_1"), std::string::npos);
  const auto old = ends_with(plain("old", ""), {});
  EXPECT_EQ(old.find("toolu_1"), std::string::npos) << old;
  const auto unsaid = ends_with(plain("null", R"(,"protocolVersion":null)"), {});
  EXPECT_EQ(unsaid.find("toolu_1"), std::string::npos) << unsaid;
}

}  // namespace run_input_test
}  // namespace sluice::api::agui
