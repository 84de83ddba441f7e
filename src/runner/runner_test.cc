// What a dispatch tells, and how it ends.
#include "base/limits.h"
#include "runner/runner_fixture.h"

namespace sluice::runner {
namespace runner_test {

using model::EventKind;
using model::Slug;
using net::FakeAnswer;

TEST_F(RunnerTest, The_offline_model_answers_at_once_and_in_order) {
  begin("think Hm.\nsay Hello, world.\ntokens 1000");
  ASSERT_TRUE(heard.usage);
  EXPECT_EQ(heard.all(EventKind::reasoning), "Hm.");
  EXPECT_TRUE(heard.text().starts_with("Hello, world.\nw1 w2 ")) << heard.text().substr(0, 40);
  EXPECT_TRUE(heard.text().ends_with("w1000"));
  EXPECT_GE(heard.bodies(EventKind::text).size(), 1000u);
  EXPECT_GT(heard.usage->output_tokens, 1000);
  EXPECT_EQ(heard.events.front().at.ms, loop.now().ms) << "no time has passed";
  EXPECT_TRUE(client.requests.empty());
  expect_nothing_left();
}

TEST_F(RunnerTest, The_offline_model_waits_as_told) {
  begin("say One.\nsleep 250\nsay Two.");
  EXPECT_EQ(heard.text(), "One.");
  pass(249);
  EXPECT_EQ(heard.text(), "One.");
  pass(1);
  EXPECT_EQ(heard.text(), "One.\nTwo.");
  EXPECT_TRUE(heard.usage);
}

TEST_F(RunnerTest, A_long_offline_answer_lets_others_have_their_turn) {
  runner = make_native_runner(options, {client, loop, entropy, log, metrics});
  work = runner->dispatch(dispatch_of("tokens 5000"), heard);
  // Runs again and again beside the work, until the work is done.
  int turns = 0;
  std::function<void()> other = [&] {
    ++turns;
    if (!heard.is_over()) loop.defer([&] { other(); });
  };
  loop.defer([&] { other(); });
  loop.settle();
  EXPECT_TRUE(heard.usage);
  EXPECT_GT(turns, 10);
}

TEST_F(RunnerTest, A_provider_is_asked_with_the_whole_dialogue_and_told_as_it_streams) {
  use_provider();
  agent.system_prompt = "Be brief.";
  agent.limits.max_output_tokens = 77;
  client.answer(FakeAnswer()
                    .head(200)
                    .piece(thought("Hm."))
                    .piece(said("Hel") + said("lo"))
                    .wait(100)
                    .piece(said("!") + stopped(7, 3))
                    .finish());
  auto dispatch = dispatch_of("Hi?");
  dispatch.history = {{model::Role::user, "Before."}, {model::Role::assistant, "After."}};
  dispatch.traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  begin(std::move(dispatch));
  EXPECT_EQ(heard.bodies(EventKind::text), (std::vector<std::string>{"Hel", "lo"}));
  EXPECT_EQ(heard.all(EventKind::reasoning), "Hm.");
  pass(100);
  EXPECT_EQ(heard.text(), "Hello!");
  ASSERT_TRUE(heard.usage);
  EXPECT_EQ(*heard.usage, (model::Usage{7, 3}));
  EXPECT_TRUE(heard.bodies(EventKind::usage).empty()) << "one round needs no sum on the way";
  expect_nothing_left();

  ASSERT_EQ(client.requests.size(), 1u);
  const auto& request = client.requests[0];
  EXPECT_EQ(request.method, "POST");
  EXPECT_EQ(request.url, "https://api.anthropic.com/v1/messages");
  EXPECT_EQ(request.headers.find("x-api-key"), key);
  EXPECT_EQ(request.headers.find("traceparent"), "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
  EXPECT_EQ(request.idle_ms_max, options.model_idle_ms_max);
  for (const char* words : {"Be brief.", "Before.", "After.", "Hi?", "77", "model-x"}) {
    EXPECT_NE(request.body.find(words), std::string::npos) << words;
  }
  EXPECT_EQ(figure(R"(sluice_model_calls_total{provider="anthropic"})"), 1);
  EXPECT_EQ(figure(R"(sluice_model_tokens_total{provider="anthropic",direction="input"})"), 7);
  EXPECT_EQ(figure(R"(sluice_model_tokens_total{provider="anthropic",direction="output"})"), 3);
}

TEST_F(RunnerTest, A_tool_that_does_not_exist_is_answered_and_the_model_goes_on) {
  use_provider();
  client.answer(answer_of(said("Let me see. ") + called("search") + stopped(10, 5)));
  client.answer(answer_of(said("Never mind.") + stopped(20, 6)));
  begin("Look it up.");
  EXPECT_EQ(heard.text(), "Let me see. Never mind.");
  ASSERT_TRUE(heard.usage);
  EXPECT_EQ(*heard.usage, (model::Usage{30, 11}));
  EXPECT_EQ(heard.bodies(EventKind::usage), (std::vector<std::string>{R"({"input_tokens":10,"output_tokens":5})",
                                                                      R"({"input_tokens":30,"output_tokens":11})"}));
  EXPECT_NE(heard.all(EventKind::log).find("search"), std::string::npos);
  ASSERT_EQ(client.requests.size(), 2u);
  EXPECT_NE(client.requests[1].body.find("There is no tool named search. Go on without it."), std::string::npos);
  EXPECT_NE(client.requests[1].body.find("Let me see. "), std::string::npos);
}

TEST_F(RunnerTest, S_8_a_call_of_a_sandboxs_tool_fails_the_run_where_there_is_no_sandbox) {
  begin("say A\n$ ls\nsay B {{last}}");
  ASSERT_TRUE(heard.problem);
  EXPECT_EQ(heard.problem->slug, Slug::sandbox_failed);
  EXPECT_NE(heard.problem->detail.find("The agent called the tool bash, which works in a sandbox, and there is none"),
            std::string::npos)
      << heard.problem->detail;
}

TEST_F(RunnerTest, S_8_an_agent_whose_tools_work_in_a_sandbox_fails_at_once_where_there_is_none) {
  const auto expect_failure = [&](const char* words) {
    begin("say A");
    ASSERT_TRUE(heard.problem) << words;
    EXPECT_EQ(heard.problem->slug, Slug::sandbox_failed);
    EXPECT_NE(heard.problem->detail.find(words), std::string::npos) << heard.problem->detail;
    EXPECT_EQ(heard.text(), "");
    heard.problem.reset();
  };
  agent.kit.code_mode = true;
  expect_failure("run_script");
  agent.kit = {.mcp_servers = {{.name = "files", .command = {"serve"}}}};
  expect_failure("MCP server without a url");
}

TEST_F(RunnerTest, The_offline_model_goes_through_the_same_rounds) {
  begin("say A\nask May I?\nsay B {{last}}");
  EXPECT_NE(heard.text().find("There is no tool named request_approval"), std::string::npos) << heard.text();
  EXPECT_TRUE(heard.usage);
  EXPECT_EQ(heard.bodies(EventKind::usage).size(), 2u);
}

TEST_F(RunnerTest, A_model_that_only_calls_tools_is_stopped) {
  use_provider();
  options.tool_rounds_max = 3;
  for (int i = 0; i < 9; ++i) client.answer(answer_of(called("again") + stopped(1, 1)));
  begin("Go.");
  expect_problem(Slug::model_error, "tools 4 times");
  EXPECT_EQ(client.requests.size(), 4u);
}

TEST_F(RunnerTest, A_dispatch_may_ask_for_fewer_rounds_but_not_for_more) {
  use_provider();
  options.tool_rounds_max = 3;
  for (const int64_t asked : {int64_t{1}, int64_t{9}}) {
    for (int i = 0; i < 9; ++i) client.answer(answer_of(called("again") + stopped(1, 1)));
    auto dispatch = dispatch_of("Go.");
    dispatch.max_rounds = asked;
    heard = {};
    begin(std::move(dispatch));
    expect_problem(Slug::model_error, asked == 1 ? "tools 2 times" : "tools 4 times");
  }
}

class AnswerLimit : public RunnerTest {
 protected:
  // An answer of the limit, and `more`.
  void answer_with_limit_and(std::string_view more) {
    use_provider();
    FakeAnswer answer;
    answer.head(200);
    for (int i = 0; i < 8; ++i) answer.piece(said(std::string(limits::answer_bytes_max / 8, 'x')));
    if (!more.empty()) answer.piece(said(more));
    client.answer(answer.piece(stopped(1, 1)).finish());
    begin("Tell me everything.");
  }
};

TEST_F(AnswerLimit, Is_reached_without_harm) {
  answer_with_limit_and("");
  EXPECT_TRUE(heard.usage);
  EXPECT_EQ(heard.text().size(), limits::answer_bytes_max);
}

TEST_F(AnswerLimit, Is_not_passed_by_a_byte) {
  answer_with_limit_and("y");
  expect_problem(Slug::answer_too_large);
  EXPECT_EQ(heard.text().size(), limits::answer_bytes_max);
}

TEST_F(RunnerTest, A_run_ends_when_the_agent_s_time_is_up) {
  agent.limits.max_runtime_seconds = 2;
  begin("say One.\nsleep 5000\nsay Two.");
  pass(1'999);
  EXPECT_FALSE(heard.is_over());
  pass(1);
  expect_problem(Slug::runtime_exceeded, "2 s");
  EXPECT_EQ(heard.text(), "One.");
}

TEST_F(RunnerTest, An_agent_whose_model_cannot_be_asked_is_misconfigured_and_the_reason_is_precise) {
  struct Case {
    model::ModelChoice choice;
    const char* words;
  };
  options.providers["odd"] = {.dialect = "morse"};
  for (const auto& [choice, words] :
       {Case{{.provider = "nowhere", .name = "m"}, "\"nowhere\" is not configured"},
        Case{{.provider = "antropic", .name = "m"}, "did you mean \"anthropic\"?"},
        Case{{.provider = "openai-chat", .name = "m"}, "\"openai-chat\" has no API key: set OPENAI_API_KEY"},
        Case{{.provider = "odd", .name = "m"}, "unknown dialect \"morse\""}}) {
    heard = {};
    agent.model = choice;
    begin("Hi.");
    expect_problem(Slug::agent_misconfigured, words);
  }
  EXPECT_TRUE(client.requests.empty());
}

TEST_F(RunnerTest, A_key_goes_only_to_the_provider_it_belongs_to) {
  options.providers["house"] = {.dialect = "anthropic", .base_url = "http://models.local/", .api_key = "house-key"};
  options.agent_base_urls = {"http://thief.example"};
  client.answer(answer_of(stopped(1, 1)));
  agent.model = {.provider = "house", .name = "m"};
  begin("Hi.");
  client.answer(answer_of(stopped(1, 1)));
  heard = {};
  agent.model = {.provider = "house", .name = "m", .base_url = "http://models.local"};
  begin("Hi.");
  client.answer(net::FakeAnswer::whole(401, R"({"type":"error","error":{"type":"authentication_error"}})"));
  heard = {};
  agent.model = {.provider = "house", .name = "m", .base_url = "http://thief.example"};
  begin("Hi.");
  ASSERT_EQ(client.requests.size(), 3u);
  EXPECT_EQ(client.requests[0].url, "http://models.local/v1/messages");
  EXPECT_EQ(client.requests[0].headers.find("x-api-key"), "house-key");
  EXPECT_EQ(client.requests[1].headers.find("x-api-key"), "house-key");
  EXPECT_EQ(client.requests[2].url, "http://thief.example/v1/messages");
  EXPECT_FALSE(client.requests[2].headers.find("x-api-key"));
  expect_problem(Slug::agent_misconfigured, "not sent to the base_url");
}

TEST_F(RunnerTest, An_agent_cannot_send_the_server_where_its_operator_does_not_allow) {
  agent.model = {.provider = "anthropic", .name = "m", .base_url = "http://169.254.169.254/latest"};
  begin("Hi.");
  EXPECT_TRUE(client.requests.empty());
  expect_problem(Slug::agent_misconfigured, "models.agent_base_urls");
}

TEST_F(RunnerTest, Dropped_work_is_quiet_wherever_it_stood) {
  use_provider();
  for (const int after : {0, 1, 2, 3}) {
    heard = {};
    client.answer(FakeAnswer().head(200).piece(thought("Hm.")).piece(said("a") + said("b") + stopped(1, 1)).finish());
    int count = 0;
    if (after == 3) heard.after_end = [this] { work.reset(); };
    heard.after_event = [&] {
      if (++count == after) work.reset();
    };
    begin("Hi.");
    if (after == 0) EXPECT_TRUE(heard.usage);
    work.reset();
    pass(1'000'000);
    EXPECT_EQ(heard.events.size(), after == 0 || after == 3 ? 3u : static_cast<std::size_t>(after));
    expect_nothing_left();
  }
}

TEST_F(RunnerTest, Dropped_offline_work_is_quiet_wherever_it_stood) {
  for (const std::size_t after : {1u, 2u, 3u, 4u}) {
    heard = {};
    heard.after_event = [&] {
      if (heard.events.size() == after) work.reset();
    };
    begin("think Hm.\nsay a\nask May I?\nsay b");
    pass(1'000'000);
    EXPECT_EQ(heard.events.size(), after);
    EXPECT_FALSE(heard.is_over());
    expect_nothing_left();
  }
}

TEST_F(RunnerTest, Work_dropped_between_two_turns_is_quiet) {
  runner = make_native_runner(options, {client, loop, entropy, log, metrics});
  work = runner->dispatch(dispatch_of("tokens 5000"), heard);
  std::function<void()> drop_when_begun = [&] {
    if (!heard.events.empty()) return work.reset();
    loop.defer([&] { drop_when_begun(); });
  };
  loop.defer([&] { drop_when_begun(); });
  loop.settle();
  EXPECT_EQ(heard.events.size(), 256u) << "one slice";
  expect_nothing_left();
}

TEST_F(RunnerTest, Work_dropped_before_its_first_turn_never_begins) {
  use_provider();
  runner = make_native_runner(options, {client, loop, entropy, log, metrics});
  work = runner->dispatch(dispatch_of("Hi."), heard);
  work.reset();
  loop.settle();
  EXPECT_TRUE(client.requests.empty());
  EXPECT_TRUE(heard.events.empty());
}

TEST_F(RunnerTest, Work_that_is_held_back_asks_nothing_until_it_may) {
  runner = make_native_runner(options, {client, loop, entropy, log, metrics});
  work = runner->dispatch(dispatch_of("say One."), heard);
  work->hold_back(true);
  pass(10'000);
  EXPECT_EQ(heard.text(), "");
  work->hold_back(false);
  pass(0);
  EXPECT_EQ(heard.text(), "One.");
  EXPECT_TRUE(heard.usage);
}

TEST_F(RunnerTest, Work_outlives_its_dispatcher) {
  begin("say One.\nsleep 5\nsay Two.");
  runner.reset();
  pass(5);
  EXPECT_EQ(heard.text(), "One.\nTwo.");
}

}  // namespace runner_test
}  // namespace sluice::runner
