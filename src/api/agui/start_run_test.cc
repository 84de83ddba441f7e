// A client starts runs, leaves, comes back, and answers what waits (H-2, H-6, I-14, I-15).
#include "api/agui/agui_fixture.h"

namespace sluice::api::agui {
namespace start_run_test {

class StartRunTest : public AguiTest {
 protected:
  std::size_t conversations() {
    std::size_t count = 0;
    const auto document = json::Document::parse(get("/v1/conversations")->body);
    document.value().root().find("data")->each_element([&](json::Value) { ++count; });
    return count;
  }
  std::string entry(const std::string& payload, const std::string& more = "") {
    return R"({"interruptId":")" + approval + R"(","status":"resolved","payload":)" + payload + more + "}";
  }
  std::string signature_of(const Key& key, bool approve) {
    return body_of(sign(key, approve, approval, in_seconds(300)));
  }
};

// ── something new ──

TEST_F(StartRunTest, H_2_a_thread_is_a_conversation_and_a_run_is_a_run) {
  const auto stream = start("r1", user("hello"));
  EXPECT_EQ(stream->status, 200);
  EXPECT_TRUE(has(stream, R"({"type":"RUN_STARTED","threadId":"t1","runId":"r1")")) << stream->body;
  EXPECT_TRUE(stream->body.starts_with("id: r1-0\n")) << stream->body;
  EXPECT_FALSE(stream->finished);
  agent_says("Hi.");
  EXPECT_TRUE(has(stream, R"("delta":"Hi.")"));
  agent_finishes();
  EXPECT_TRUE(stream->finished);
  EXPECT_TRUE(has(stream, R"("type":"RUN_FINISHED")"));
  EXPECT_EQ(get("/v1/runs/" + stream->header("X-Run-Id"))->text("state"), "completed");
  EXPECT_EQ(get("/v1/messages/" + stream->header("X-Message-Id"))->text("content"), "Hi.");
  start("r2", user("again"));
  EXPECT_EQ(conversations(), 1U);
  EXPECT_EQ(agent.dispatch_count, 2);
}

TEST_F(StartRunTest, H_2_the_same_words_again_are_the_same_run_again) {
  const auto stream = start("r1", user("hello"));
  stream->hang_up();
  agent_says("Hi.");
  const auto again = start("r1", user("hello"));
  EXPECT_TRUE(has(again, R"("delta":"Hi.")")) << "from its beginning, and live";
  agent_says("More.");
  EXPECT_TRUE(has(again, R"("delta":"More.")"));
  agent_finishes();
  EXPECT_EQ(start("r1", user("hello"))->body, again->body);
  EXPECT_EQ(agent.dispatch_count, 1);
}

TEST_F(StartRunTest, H_2_a_client_that_reconnects_gets_the_frames_after_its_last_one) {
  const auto stream = start("r1", user("hello"));
  agent_says("Hi.");
  agent_finishes();
  const auto from = [&](const std::string& id) {
    net::Headers headers;
    headers.add("Last-Event-ID", id);
    return start("r1", user("hello"), "", std::move(headers));
  };
  EXPECT_EQ(from("-1")->body, stream->body);
  const auto rest = from("r1-1");
  EXPECT_TRUE(rest->body.starts_with("id: r1-2\n")) << rest->body;
  EXPECT_TRUE(stream->body.ends_with(rest->body));
  for (const auto& wrong : Texts{"r2-1", "r1", "r1-", "r1-x", "r1--2", "r1-1x", "1"}) {
    expect_refused(from(wrong), "Last-Event-ID");
  }
  net::Headers headers;
  headers.add("Last-Event-ID", "r9-3");
  const auto unknown = start("r9", user("hello"), "", std::move(headers));
  EXPECT_EQ(unknown->status, 404) << "a run that was never started is not started by coming back to it";
  EXPECT_EQ(agent.dispatch_count, 1);
}

TEST_F(StartRunTest, An_agent_is_named_by_its_id_or_its_name_and_keeps_its_threads) {
  const auto path = post("/v1/agents", R"({"name":"planner no 1"})")->header("Location");
  const auto at = [&](const std::string& agent, const std::string& run_id) {
    return post("/agui/" + agent, input(run_id, user("x")));
  };
  EXPECT_EQ(at("planner%20no%201", "r1")->status, 200);
  EXPECT_EQ("/v1/agents/" + agent.last.agent.id.text(), path);
  agent_finishes();
  EXPECT_EQ(at(path.substr(path.rfind('/') + 1), "r2")->status, 200);
  agent_finishes();
  EXPECT_EQ(start("r3", user("x"))->status, 200) << "without a name it is the thread's";
  EXPECT_EQ("/v1/agents/" + agent.last.agent.id.text(), path);
  agent_finishes();
  EXPECT_EQ(at("default", "r4")->status, 422);
  for (const auto& unknown : Texts{"unknown", "agt_00000000000000000000000000", other.agent.text()}) {
    EXPECT_EQ(at(unknown, "r5")->status, 404) << unknown;
  }
}

TEST_F(StartRunTest, An_agent_is_found_by_name_among_many) {
  for (int i = 0; i < 120; ++i) post("/v1/agents", R"({"name":"n)" + std::to_string(i) + "\"}");
  EXPECT_EQ(post("/agui/n119", input("r1", user("x")))->status, 200);
  EXPECT_EQ(agent.last.agent.name, "n119");
}

TEST_F(StartRunTest, Names_of_runs_belong_to_their_tenant) {
  const auto mine = start("r1", user("hello"));
  const auto theirs = ask_as("POST", "/agui", {.key = other.key, .body = input("r1", user("hello"))});
  EXPECT_EQ(theirs->status, 200);
  EXPECT_NE(theirs->header("X-Run-Id"), mine->header("X-Run-Id"));
  EXPECT_EQ(ask_as("POST", "/agui", {.body = input("r1", user("x"))})->status, 401);
}

TEST_F(StartRunTest, A_thread_has_one_run_at_a_time_and_slots_are_counted) {
  start("r1", user("hello"));
  EXPECT_EQ(start("r2", user("more"))->slug(), "conversation-busy");
  agent_finishes();
  make_engine({.max_running = 1, .max_hold_seconds = 30});
  make_surfaces({});
  start("r3", user("hello"));
  const auto elsewhere = [&](const std::string& props) {
    return post("/agui",
                R"({"threadId":"t2","runId":"r","messages":[)" + user("x") + R"(],"forwardedProps":)" + props + "}");
  };
  EXPECT_EQ(elsewhere("{}")->slug(), "capacity-exhausted");
  const auto held = elsewhere(R"({"onCapacity":"hold"})");
  EXPECT_EQ(held->status, 200) << held->body;
  EXPECT_TRUE(has(held, "RUN_STARTED"));
  agent_finishes();
  agent_finishes();
  EXPECT_TRUE(has(held, "RUN_FINISHED"));
}

TEST_F(StartRunTest, A_server_that_is_about_to_stop_starts_nothing) {
  api->begin_drain();
  EXPECT_EQ(start("r1", user("hello"))->status, 503);
  EXPECT_EQ(agent.dispatch_count, 0);
}

// ── answers to what waits ──

TEST_F(StartRunTest, I_14_an_unsigned_answer_counts_only_where_the_operator_lets_it) {
  const auto first = start_and_ask("r1", {an_action()});
  EXPECT_TRUE(first->finished) << "for the client the run is over";
  EXPECT_TRUE(has(first, R"("outcome":{"type":"interrupt")")) << first->body;
  const auto yes = entry(R"({"approved":true,"note":"go"})");
  EXPECT_EQ(resume("r2", yes)->slug(), "approval-signature-invalid");
  EXPECT_EQ(status(), "pending");
  allow_unsigned();
  const auto second = resume("r2", yes);
  ASSERT_EQ(second->status, 200) << second->body;
  EXPECT_TRUE(second->body.starts_with("id: r2-0\n")) << second->body;
  EXPECT_EQ(second->header("X-Run-Id"), first->header("X-Run-Id"));
  EXPECT_EQ(get("/v1/approvals/" + approval)->text("resolved_by"), "agui_client");
  EXPECT_EQ(get("/v1/approvals/" + approval)->text("note"), "go");
  agent_says("Done.");
  agent_finishes();
  EXPECT_TRUE(has(second, R"("delta":"Done.")"));
  EXPECT_FALSE(has(first, "Done."));
  EXPECT_EQ(resume("r2", yes)->body, second->body) << "and the same words again are the same run again";
}

TEST_F(StartRunTest, I_15_a_signature_may_stand_in_metadata_or_payload_and_must_be_right) {
  const auto key = make_key(acme);
  const auto inner = [&](bool approve) {
    const auto body = signature_of(key, approve);
    return body.substr(1, body.size() - 2);
  };
  start_and_ask("r1", {an_action()});
  EXPECT_EQ(resume("r2", entry(R"({"approved":true})", R"(,"metadata":{)" + inner(false) + "}"))->slug(),
            "approval-signature-invalid")
      << "signed for a denial";
  EXPECT_EQ(status(), "pending");
  EXPECT_EQ(resume("r2", entry(R"({"approved":true})", R"(,"metadata":{)" + inner(true) + "}"))->status, 200);
  EXPECT_EQ(get("/v1/approvals/" + approval)->text("resolved_by"), "approver_key:" + key.id);
  agent_finishes();
  start_and_ask("r3", {an_action()});
  EXPECT_EQ(resume("r4", entry(R"({"approved":true})", R"(,"metadata":{"sluice":{)" + inner(true) + "}}"))->status,
            200);
  agent_finishes();
  start_and_ask("r5", {an_action()});
  EXPECT_EQ(resume("r6", entry(R"({"approved":false,)" + inner(false) + "}"))->status, 200);
  EXPECT_EQ(status(), "denied");
}

TEST_F(StartRunTest, I_14_no_and_no_answer_end_the_run) {
  allow_unsigned();
  int number = 0;
  const auto expect_denied = [&](const std::string& rest, const std::string& note) {
    const auto run_id = "r" + std::to_string(number++);
    start_and_ask(run_id, {an_action()});
    const auto answer = resume(run_id + "-again", R"({"interruptId":")" + approval + "\"," + rest + "}");
    EXPECT_EQ(answer->status, 200) << answer->body;
    EXPECT_TRUE(has(answer, "approval-denied") && has(answer, R"("type":"RUN_FINISHED")")) << answer->body;
    EXPECT_EQ(status(), "denied");
    EXPECT_EQ(get("/v1/approvals/" + approval)->text("note"), note);
  };
  expect_denied(R"("status":"resolved","payload":false)", "");
  expect_denied(R"("status":"resolved","payload":{"approved":false,"note":"not now"})", "not now");
  expect_denied(R"("status":"cancelled")", "The user declined to answer.");
  expect_denied(R"("status":"cancelled","payload":{"approved":true})", "The user declined to answer.");
}

TEST_F(StartRunTest, I_17_secrets_come_with_the_answer_and_not_with_a_denial) {
  allow_unsigned();
  start_and_ask("r1", {a_secret("CRM_KEY")});
  EXPECT_EQ(resume("r2", entry(R"({"approved":true})"))->status, 422) << "it is asked for";
  EXPECT_EQ(resume("r2", entry(R"({"approved":true,"secrets":{"CRM_KEY":"value-1234"}})"))->status, 200);
  conversation = get("/v1/approvals/" + approval)->text("conversation_id");
  EXPECT_EQ(on_file().size(), 1U);
  agent_finishes();
  start_and_ask("r3", {a_secret("OTHER_KEY")});
  EXPECT_EQ(resume("r4", entry(R"({"approved":false,"secrets":{"OTHER_KEY":"value-1234"}})"))->status, 200);
  EXPECT_EQ(on_file().size(), 1U);
}

TEST_F(StartRunTest, I_14_an_answer_covers_what_waits_once_and_nothing_else) {
  allow_unsigned();
  start_and_ask("r1", {an_action()});
  const auto yes = entry(R"({"approved":true})");
  expect_refused(resume("r2", R"({"interruptId":"apr_x","status":"resolved","payload":{"approved":true}})"),
                 "/resume/0/interruptId");
  expect_refused(resume("r2", yes + "," + yes), "/resume/1/interruptId");
  expect_refused(resume("r2", entry("{}")), "/resume/0/payload/approved");
  expect_refused(start("r2", result("toolu_1", "x")), "/resume");
  const auto busy = start("r2", user("never mind"));
  EXPECT_EQ(busy->slug(), "conversation-busy");
  EXPECT_TRUE(has(busy, approval)) << "it says what waits";
  EXPECT_EQ(status(), "pending");
  EXPECT_EQ(resume("r2", yes)->status, 200);
  agent_finishes();
  const auto late = resume("r3", yes);
  EXPECT_EQ(late->status, 200);
  EXPECT_TRUE(has(late, "MESSAGES_SNAPSHOT") && has(late, "RUN_FINISHED"))
      << "what was asked is settled: " << late->body;
  expect_refused(resume("r4", R"({"interruptId":"apr_01k1zqx8000000000000000000","status":"resolved","payload":true})"),
                 "/resume/0/interruptId");
}

TEST_F(StartRunTest, I_15_a_gate_that_names_nothing_is_still_a_humans) {
  start_and_ask("r1", {});
  EXPECT_EQ(start("r2", result("toolu_1", "x"))->status, 422);
  EXPECT_EQ(status(), "pending") << "no decision was made";
}

// ── the client's own tools ──

TEST_F(StartRunTest, H_6_results_come_as_tool_messages_and_need_no_signature) {
  start_and_ask("r1", {a_call("step_3"), a_call("toolu_b")});
  const auto message_id = get("/v1/approvals/" + approval)->text("message_id");
  const auto ours = "step_3@" + message_id;
  expect_refused(start("r2", user("x") + "," + result(ours, "three")), "/messages");
  const auto second = start("r2", user("x") + "," + result(ours, "three") + "," +
                                      result("toolu_b", "", R"(,"error":"The user closed the page.")"));
  ASSERT_EQ(second->status, 200) << second->body;
  EXPECT_EQ(agent.last.results, (std::vector<model::ClientResult>{{"step_3", "three", false},
                                                                  {"toolu_b", "The user closed the page.", true}}));
  EXPECT_EQ(get("/v1/approvals/" + approval)->text("resolved_by"), "agui_client");
  agent_finishes();
  EXPECT_TRUE(has(second, "RUN_FINISHED"));
  expect_refused(start("r3", result("toolu_b", "again")), "/messages");
}

TEST_F(StartRunTest, H_6_results_of_the_servers_own_tools_among_the_messages_do_no_harm) {
  start_and_ask("r1", {a_call("toolu_b")});
  const auto missing = start("r2", user("x") + "," + result("toolu_a", "the server's"));
  EXPECT_TRUE(has(missing, "none for toolu_b") && has(missing, "no call toolu_a waits")) << missing->body;
  const auto second =
      start("r2", user("x") + "," + result("toolu_a", "the server's") + "," + result("toolu_b", "mine"));
  ASSERT_EQ(second->status, 200) << second->body;
  EXPECT_EQ(agent.last.results, (std::vector<model::ClientResult>{{"toolu_b", "mine", false}}));
}

TEST_F(StartRunTest, H_6_tanstack_brings_results_in_resume) {
  start_and_ask("r1", {a_call("toolu_a"), a_call("toolu_b"), a_call("toolu_c")});
  const auto one = [](const std::string& id, const std::string& rest) {
    return R"({"interruptId":"client_tool_)" + id + "\"," + rest + "}";
  };
  const auto resolved = one("toolu_a", R"("status":"resolved","payload":{"n":[1,2]})") + "," +
                        one("toolu_b", R"("status":"resolved","payload":"words")") + ",";
  expect_refused(resume("r2", resolved + one("toolu_x", R"("status":"resolved")")), "/resume/2/interruptId");
  expect_refused(resume("r2", resolved + R"({"interruptId":"toolu_c","status":"resolved"})"), "/resume/2/interruptId");
  const auto placeholder = result("toolu_c", R"({\"pendingExecution\":true})");
  const auto second = start("r2", user("x") + "," + placeholder,
                            R"(,"data":{},"resume":[)" + resolved + one("toolu_c", R"("status":"cancelled")") + "]");
  ASSERT_EQ(second->status, 200) << second->body;
  EXPECT_EQ(agent.last.results,
            (std::vector<model::ClientResult>{{"toolu_a", R"({"n":[1,2]})", false},
                                              {"toolu_b", "words", false},
                                              {"toolu_c", "The user declined to run the tool.", true}}));
}

TEST_F(StartRunTest, H_6_results_do_not_answer_for_a_human) {
  start_and_ask("r1", {a_call("toolu_a"), an_action()});
  expect_refused(start("r2", user("x") + "," + result("toolu_a", "done")), "/resume");
  EXPECT_EQ(resume("r2", entry(R"({"approved":true})"))->slug(), "approval-signature-invalid");
  EXPECT_EQ(status(), "pending");
}

}  // namespace start_run_test
}  // namespace sluice::api::agui
