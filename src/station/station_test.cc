// S-1, S-5, S-6, S-10: one dispatch from the first line to the last.
#include "station/station.h"

#include "dispatch/envelope.h"
#include "station/station_fixture.h"

namespace sluice::station {
namespace station_test {

using model::EventKind;

TEST_F(StationTest, Redeems_both_tokens_bare_runs_and_tells_each_phase_S_5) {
  const auto exchange = at_work();
  EXPECT_EQ(exchange->status, 200);
  EXPECT_EQ(exchange->header("Content-Type"), "application/x-ndjson");
  EXPECT_EQ(exchange->header("Cache-Control"), "no-store");
  EXPECT_TRUE(exchange->leaves_at_half_close);
  ASSERT_EQ(client_.requests.size(), 2u);
  EXPECT_EQ(client_.requests[0].url, "http://workspace.example/api/agents/exe_1/env");
  EXPECT_EQ(client_.requests[0].headers.find("Authorization"), "otps_1");
  EXPECT_EQ(client_.requests[1].url, "http://workspace.example/api/agents/exe_1/config");
  EXPECT_EQ(client_.requests[1].headers.find("Authorization"), "otpr_2");

  agents_.say("Hel");
  agents_.say("lo.");
  agents_.listener->on_finished({3, 4});
  loop_.advance(Millis{0});
  EXPECT_TRUE(exchange->finished);
  EXPECT_EQ(phases(*exchange), "dispatch bootstrap bootstrap run settle ");
  EXPECT_EQ(last_line(*exchange),
            R"({"type":"result","message":"Hello.","ts":)" + std::to_string(loop_.now().ms) + "}");
  EXPECT_EQ(agents_.stopped, 1);
  EXPECT_EQ(agents_.dropped, 1);
}

TEST_F(StationTest, A_phase_that_the_dispatch_tells_is_told_once_and_in_its_place_S_5) {
  const auto phases_after = [&](std::initializer_list<const char*> sent, bool failed) {
    const auto exchange = at_work();
    for (const auto* phase : sent) {
      loop_.advance(Millis{10});
      agents_.listener->on_event(dispatch::phase_event(phase, "", 10, loop_.now()));
    }
    failed ? agents_.listener->on_failed({}) : agents_.listener->on_finished({});
    loop_.advance(Millis{0});
    return phases(*exchange);
  };
  EXPECT_EQ(phases_after({"sandbox", "run", "writeback", "settle"}, false),
            "dispatch bootstrap bootstrap sandbox run writeback settle ");
  EXPECT_EQ(phases_after({"sandbox", "run"}, true), "dispatch bootstrap bootstrap sandbox run settle ");
  EXPECT_EQ(phases_after({"sandbox"}, true), "dispatch bootstrap bootstrap sandbox run settle ");
}

TEST_F(StationTest, Times_never_go_back_from_one_line_to_the_next_S_9) {
  const auto check = [&](bool failed) {
    const auto exchange = at_work("profile=extended");
    agents_.stopping_ms = 40'000;
    agents_.listener->on_event({EventKind::text, {loop_.now().ms + 5}, "by a clock that was set back"});
    agents_.say("since");
    failed ? agents_.listener->on_failed({}) : agents_.listener->on_finished({});
    loop_.advance(Millis{40'000});
    EXPECT_TRUE(exchange->finished);
    EXPECT_EQ(member(last_line(*exchange), "type"), failed ? "\"error\"" : "\"result\"");
    EXPECT_EQ(member(last_line(*exchange), "ts"), std::to_string(loop_.now().ms));
    int64_t before = 0;
    for (const auto& line : lines(*exchange)) {
      const auto ts = std::stoll(member(line, "ts"));
      EXPECT_GE(ts, before) << exchange->body;
      before = ts;
    }
  };
  check(false);
  check(true);
}

TEST_F(StationTest, The_agent_is_given_what_the_workspace_said) {
  at_work("", R"({"agent":{"name":"Ada","system_prompt":"Be brief.","model":{"provider":"p","name":"m"},"max_rounds":3},
    "conversation":[{"role":"user","content":"a"},{"role":"assistant","content":"b","ts":1}],
    "limits":{"max_runtime_seconds":100}})");
  const auto& dispatch = agents_.dispatched.at(0);
  EXPECT_EQ(dispatch.conversation, model::ConversationId{});
  EXPECT_EQ(dispatch.prompt, "Hello");
  EXPECT_EQ(dispatch.agent.name, "Ada");
  EXPECT_EQ(dispatch.agent.system_prompt, "Be brief.");
  EXPECT_EQ(dispatch.agent.model, (model::ModelChoice{"p", "m", std::nullopt}));
  EXPECT_EQ(dispatch.agent.limits.max_runtime_seconds, 100);
  EXPECT_EQ(dispatch.max_rounds, 3);
  EXPECT_EQ(dispatch.materials.setup_script, "make");
  EXPECT_EQ(dispatch.materials.variables, (std::map<std::string, std::string>{{"A", "1"}}));
  ASSERT_EQ(dispatch.history.size(), 2u);
  EXPECT_EQ(dispatch.history[1].content, "b");
  EXPECT_TRUE(dispatch.supplies->wants_assets());
}

TEST_F(StationTest, What_another_runner_had_told_is_gone_on_from_and_not_told_again) {
  const auto exchange = at_work("profile=resumed", R"({"agent":{},"told":{"text":"Hel","reasoning":"Hm."}})");
  const auto& dispatch = agents_.dispatched.at(0);
  EXPECT_TRUE(dispatch.resumed);
  EXPECT_EQ(dispatch.told_text + "|" + dispatch.told_reasoning, "Hel|Hm.");
  agents_.say("lo.");
  agents_.listener->on_finished({});
  loop_.advance(Millis{0});
  EXPECT_EQ(exchange->body.find("Hel"), std::string::npos);
  EXPECT_EQ(member(last_line(*exchange), "message"), "\"lo.\"");
}

TEST_F(StationTest, The_result_is_what_came_after_the_last_step_or_all_if_nothing_did) {
  const auto tell = [&](std::string_view query, std::string_view last) {
    const auto exchange = at_work(std::string(query));
    agents_.say("Let me look. ");
    agents_.step(R"({"id":"s","name":"bash","status":"running"})");
    agents_.step(R"({"id":"s","name":"bash","status":"succeeded"})");
    if (!last.empty()) agents_.say(std::string(last));
    agents_.listener->on_finished({});
    loop_.advance(Millis{0});
    return member(last_line(*exchange), "message");
  };
  EXPECT_EQ(tell("", "It is hi."), "\"It is hi.\"");
  EXPECT_EQ(tell("", ""), "\"Let me look. \"");
  EXPECT_EQ(tell("profile=extended", "It is hi."), "\"Let me look. It is hi.\"");
}

TEST_F(StationTest, Deltas_are_told_to_whoever_asked_for_them_S_9) {
  const auto count_deltas = [&](std::string_view query) {
    const auto exchange = at_work(std::string(query));
    agents_.say("a");
    agents_.listener->on_event({EventKind::reasoning, loop_.now(), "hm"});
    agents_.listener->on_finished({3, 4});
    loop_.advance(Millis{0});
    int count = 0;
    for (const auto& line : lines(*exchange)) count += member(line, "type") == "\"delta\"";
    return std::pair(count, member(last_line(*exchange), "usage"));
  };
  EXPECT_EQ(count_deltas("profile=plain"), std::pair(0, std::string()));
  EXPECT_EQ(count_deltas("profile=extended"), std::pair(1, std::string(R"({"input_tokens":3,"output_tokens":4})")));
}

TEST_F(StationTest, A_failed_run_ends_with_its_problem_as_an_error_line) {
  const auto exchange = at_work();
  agents_.listener->on_failed({.slug = model::Slug::model_timeout, .detail = "60 s"});
  loop_.advance(Millis{0});
  EXPECT_TRUE(exchange->finished);
  EXPECT_EQ(member(last_line(*exchange), "code"), "\"model_timeout\"");
  EXPECT_EQ(member(last_line(*exchange), "message"), "\"60 s\"");
  EXPECT_EQ(exchange->body.find("\"result\""), std::string::npos);
}

TEST_F(StationTest, A_token_that_is_used_up_is_one_clear_error_line) {
  client_.answer(net::FakeAnswer::whole(401, R"({"title":"The token is not valid"})"));
  const auto exchange = post(body());
  EXPECT_TRUE(exchange->finished);
  EXPECT_EQ(member(last_line(*exchange), "code"), "\"token_invalid\"");
  EXPECT_NE(last_line(*exchange).find("The token is not valid"), std::string::npos);
  EXPECT_EQ(exchange->body.find("otps_1"), std::string::npos);
  EXPECT_EQ(client_.requests.size(), 1u);
  EXPECT_TRUE(agents_.dispatched.empty());
}

TEST_F(StationTest, A_refused_token_is_told_in_sentences_whatever_the_workspace_said) {
  const auto message_after = [&](std::string_view answer) {
    client_.answer(net::FakeAnswer::whole(403, std::string(answer)));
    return member(last_line(*post(body())), "message");
  };
  const std::string begin = "\"GET http://workspace.example/api/agents/exe_1/env was answered with status 403";
  const std::string end = " A token is good once, and not for long.\"";
  EXPECT_EQ(message_after(R"({"detail":"The token was used."})"), begin + ": The token was used." + end);
  EXPECT_EQ(message_after(R"({"title":"The token is not valid"})"), begin + ": The token is not valid." + end);
  EXPECT_EQ(message_after("nope"), begin + "." + end);
}

TEST_F(StationTest, A_workspace_that_cannot_be_had_or_understood_is_one_clear_error_line) {
  const auto end_of = [&](net::FakeAnswer env, std::optional<net::FakeAnswer> config) {
    client_.answer(std::move(env));
    if (config) client_.answer(*std::move(config));
    const auto exchange = post(body());
    loop_.advance(Millis{100'000});
    EXPECT_TRUE(exchange->finished);
    return member(last_line(*exchange), "code") + member(last_line(*exchange), "message");
  };
  const auto fine = net::FakeAnswer::whole(200, "{}");
  const std::string at = "http://workspace.example/api/agents/exe_1";
  EXPECT_EQ(end_of(net::FakeAnswer::connection_refused(), {}),
            "\"bootstrap_failed\"\"GET " + at + "/env: Connection refused\"");
  EXPECT_EQ(end_of(net::FakeAnswer().head(200), {}),
            "\"bootstrap_failed\"\"GET " + at + "/env: Nothing was heard for too long.\"");
  EXPECT_EQ(end_of(fine, net::FakeAnswer::whole(404, "nope")),
            "\"bootstrap_failed\"\"GET " + at + "/config was answered with status 404\"");
  EXPECT_EQ(end_of(fine, net::FakeAnswer::whole(200, "{]")),
            "\"bootstrap_failed\"\"The answer to " + at + "/config: the answer is not JSON: not valid JSON\"");
  EXPECT_EQ(end_of(fine, fine), "\"bootstrap_failed\"\"The answer to " + at + "/config: /agent is missing\"");
  EXPECT_EQ(end_of(fine, net::FakeAnswer::whole(200, R"({"agent":{"agent_type":"hal"}})")),
            "\"agent_type_unsupported\"\"This runner knows no agent of the type hal.\"");
  EXPECT_EQ(end_of(net::FakeAnswer::whole(200, std::string(9'000'000, ' ')), {}),
            "\"bootstrap_failed\"\"GET " + at + "/env: the answer is larger than 8388608 bytes\"");
  EXPECT_EQ(client_.calls_in_flight(), 0u);
}

TEST_F(StationTest, When_the_caller_leaves_the_work_is_stopped_at_once_S_10) {
  const auto exchange = at_work();
  agents_.stopping_ms = 50;
  exchange->hang_up();
  loop_.settle();
  EXPECT_EQ(agents_.stopped, 1);
  EXPECT_NE(metrics_.to_text().find("sluice_dispatches_live 1"), std::string::npos);
  loop_.advance(Millis{50});
  EXPECT_EQ(agents_.dropped, 1);
  EXPECT_NE(metrics_.to_text().find("sluice_dispatches_live 0"), std::string::npos);
  EXPECT_EQ(client_.requests.size(), 2u);
}

TEST_F(StationTest, When_the_caller_leaves_during_bootstrap_nothing_begins_S_10) {
  client_.answer(net::FakeAnswer().wait(1'000).head(200).piece("{}").finish());
  const auto exchange = post(body());
  exchange->hang_up();
  loop_.advance(Millis{5'000});
  EXPECT_EQ(client_.calls_in_flight(), 0u);
  EXPECT_EQ(client_.requests.size(), 1u);
  EXPECT_TRUE(agents_.dispatched.empty());
}

TEST_F(StationTest, What_an_agent_says_while_it_is_stopped_is_not_told) {
  const auto exchange = at_work();
  agents_.stopping_ms = 50;
  agents_.listener->on_finished({});
  loop_.settle();
  const auto before = exchange->body;
  agents_.say("late");
  agents_.listener->on_failed({});
  loop_.settle();
  EXPECT_EQ(exchange->body, before);
  loop_.advance(Millis{50});
  EXPECT_EQ(member(last_line(*exchange), "type"), "\"result\"");
}

TEST_F(StationTest, A_run_that_does_not_end_by_itself_is_ended_a_minute_after_its_time_S_6) {
  const auto exchange = at_work("", R"({"agent":{},"limits":{"max_runtime_seconds":100}})");
  loop_.advance(Millis{159'000});
  EXPECT_FALSE(exchange->finished);
  loop_.advance(Millis{1'001});
  EXPECT_TRUE(exchange->finished);
  EXPECT_EQ(member(last_line(*exchange), "code"), "\"runtime_exceeded\"");
  EXPECT_EQ(agents_.stopped, 1);
}

TEST_F(StationTest, A_caller_that_does_not_read_is_cut_off_before_memory_runs_out) {
  const auto exchange = at_work("profile=extended");
  exchange->stop_reading();
  const std::string piece(4 * 1024 * 1024, 'x');
  for (int i = 0; i < 18 && agents_.listener != nullptr; ++i) {
    agents_.say(piece);
    loop_.advance(Millis{0});
  }
  EXPECT_TRUE(exchange->aborted);
  EXPECT_FALSE(exchange->finished);
  EXPECT_EQ(agents_.dropped, 1);
}

TEST_F(StationTest, A_silent_agent_is_told_to_be_at_work) {
  const auto exchange = at_work();
  const auto before = lines(*exchange).size();
  loop_.advance(Millis{29'000});
  EXPECT_EQ(lines(*exchange).size(), before);
  loop_.advance(Millis{61'000});
  EXPECT_EQ(lines(*exchange).size(), before + 3);
  EXPECT_EQ(member(last_line(*exchange), "level"), "\"debug\"");
}

TEST_F(StationTest, What_the_configuration_asks_and_nobody_does_is_said) {
  const auto exchange = at_work("", R"({"agent":{},"mcp_servers":[{"name":"a","url":"b"}],"files":{"url":"c"}})");
  EXPECT_EQ(exchange->body.find("mcp_servers"), std::string::npos) << "the agent has it";
  EXPECT_NE(exchange->body.find("files without items, which this runner does not use"), std::string::npos);
}

TEST_F(StationTest, Draining_takes_no_more_and_ends_what_is_left_at_the_deadline) {
  const auto exchange = at_work();
  bool done = false;
  station().drain(Millis{1'000}, [&] { done = true; });
  EXPECT_EQ(post(body())->status, 503);
  loop_.advance(Millis{999});
  EXPECT_FALSE(done || exchange->finished);
  loop_.advance(Millis{1});
  EXPECT_TRUE(exchange->finished);
  EXPECT_EQ(member(last_line(*exchange), "code"), "\"unavailable\"");
  EXPECT_TRUE(done);
}

TEST_F(StationTest, Draining_is_done_when_nothing_is_at_work) {
  bool done = false;
  station().drain(Millis{1'000}, [&] { done = true; });
  EXPECT_FALSE(done);
  loop_.settle();
  EXPECT_TRUE(done);
}

}  // namespace station_test
}  // namespace sluice::station
