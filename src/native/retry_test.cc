// When a model is asked again, and what its failures mean.
#include "runner/runner_fixture.h"

namespace sluice::native {
namespace retry_test {

using namespace runner;

using model::EventKind;
using model::Slug;
using net::CallFailure;
using net::FakeAnswer;

constexpr const char* overloaded = R"({"type":"error","error":{"type":"overloaded_error","message":"Too busy"}})";

class Retry : public RunnerTest {
 protected:
  Retry() { use_provider(); }

  void answer_well() { client.answer(answer_of(said("At last.") + stopped(1, 1))); }
  std::string failures(std::string_view failure_class) const {
    return R"(sluice_model_call_failures_total{provider="anthropic",class=")" + std::string(failure_class) + "\"}";
  }
};

TEST_F(Retry, Happens_after_what_may_pass) {
  struct Case {
    FakeAnswer answer;
    const char* failure_class;
  };
  for (auto& [answer, failure_class] :
       {Case{FakeAnswer::whole(429, overloaded), "rate_limited"}, Case{FakeAnswer::whole(503, "busy"), "overloaded"},
        Case{FakeAnswer::whole(529, overloaded), "overloaded"}, Case{FakeAnswer::whole(500, "oops"), "server_error"},
        Case{answer_of(""), "cut"}, Case{answer_of(said("never sent")).cut_after(20), "cut"},
        Case{FakeAnswer().fail(CallFailure::cut, "reset"), "cut"},
        Case{FakeAnswer::connection_refused(), "unreachable"}}) {
    heard = {};
    const int64_t before = figure(failures(failure_class));
    client.answer(answer);
    answer_well();
    begin("Hi.");
    EXPECT_TRUE(heard.text().empty());
    EXPECT_FALSE(heard.is_over());
    pass(options.retry_first_ms - 1);
    EXPECT_FALSE(heard.is_over());
    pass(options.retry_first_ms / 4 + 1);
    EXPECT_EQ(heard.text(), "At last.") << failure_class;
    EXPECT_TRUE(heard.usage);
    EXPECT_EQ(figure(failures(failure_class)), before + 1) << failure_class;
    expect_nothing_left();
  }
}

TEST_F(Retry, Waits_twice_as_long_each_time_and_says_so) {
  options.retry_count_max = 3;
  for (int i = 0; i < 4; ++i) client.answer(FakeAnswer::whole(503, overloaded));
  begin("Hi.");
  int64_t wait_ms = options.retry_first_ms;
  for (std::size_t asked = 1; asked <= 3; ++asked, wait_ms *= 2) {
    EXPECT_EQ(client.requests.size(), asked);
    const auto logged = json::Document::parse(heard.bodies(EventKind::log).back());
    ASSERT_TRUE(logged);
    const auto log = logged.value().root();
    EXPECT_EQ(log.find("level")->string(), "warn");
    EXPECT_EQ(log.find("attempt")->integer(), asked);
    EXPECT_NE(log.find("text")->string()->find("Too busy"), std::string_view::npos);
    const int64_t told_ms = log.find("retry_in_ms")->integer().value_or(0);
    EXPECT_GE(told_ms, wait_ms);
    EXPECT_LE(told_ms, wait_ms + wait_ms / 4);
    pass(told_ms - 1);
    EXPECT_EQ(client.requests.size(), asked);
    pass(1);
  }
  expect_problem(Slug::model_error, "Gave up after 4 attempts");
  EXPECT_EQ(client.requests.size(), 4u);
}

TEST_F(Retry, Is_logged_without_the_words_of_the_provider_which_are_for_debugging) {
  options.retry_count_max = 1;
  client.answer(FakeAnswer::whole(503, overloaded));
  client.answer(FakeAnswer::whole(503, overloaded));
  begin("Hi.");
  pass(1'000);
  expect_problem(Slug::model_error, "Gave up after 2 attempts");
  ASSERT_EQ(log.lines.size(), 4u);
  const std::string failed = "warn model call failed run=" + model::RunId{}.text() + " provider=anthropic ";
  EXPECT_TRUE(log.lines[0].starts_with(failed + "class=overloaded attempt=1 retry_in_ms=5")) << log.lines[0];
  EXPECT_EQ(log.lines[2], failed + "class=overloaded attempt=2");
  for (const int words : {1, 3}) {
    EXPECT_TRUE(log.lines[static_cast<std::size_t>(words)].starts_with("debug ")) << log.lines[0];
    EXPECT_NE(log.lines[static_cast<std::size_t>(words)].find("Too busy"), std::string::npos);
  }
}

TEST_F(Retry, A_deadline_is_logged_too) {
  client.answer(FakeAnswer().head(200, {{"Content-Type", "Text/Event-Stream;charset=utf-8"}}));
  begin("Hi.");
  pass(options.model_idle_ms_max);
  expect_problem(Slug::model_timeout);
  ASSERT_FALSE(log.lines.empty());
  EXPECT_NE(log.lines[0].find("class=timed_out attempt=1"), std::string::npos) << log.lines[0];
}

TEST_F(Retry, Comes_when_the_provider_asked_for_it) {
  client.answer(FakeAnswer::whole(429, overloaded, {{"Retry-After", "7"}}));
  answer_well();
  begin("Hi.");
  pass(6'999);
  EXPECT_EQ(client.requests.size(), 1u);
  pass(1);
  EXPECT_EQ(heard.text(), "At last.");
}

TEST_F(Retry, Is_given_up_when_the_provider_asks_for_too_long) {
  client.answer(FakeAnswer::whole(429, overloaded, {{"Retry-After", "61"}}));
  begin("Hi.");
  expect_problem(Slug::model_error, "Too busy. It asks to be left alone for 61 s");
  EXPECT_EQ(heard.problem->retry_after_seconds, 61);
}

TEST_F(Retry, Does_not_follow_what_will_not_pass) {
  struct Case {
    FakeAnswer answer;
    Slug slug;
    const char* words;
  };
  for (auto& [answer, slug, words] :
       {Case{
            FakeAnswer::whole(400, R"({"type":"error","error":{"type":"invalid_request_error","message":"too long"}})"),
            Slug::model_error, "too long"},
        Case{FakeAnswer::whole(401, R"({"type":"error","error":{"message":"bad key very-secret"}})"),
             Slug::agent_misconfigured, "ANTHROPIC_API_KEY"},
        Case{FakeAnswer::whole(403, "no"), Slug::agent_misconfigured, "\"anthropic\""},
        Case{FakeAnswer::whole(200, "<html>", {{"Content-Type", "text/html; charset=utf-8"}}), Slug::model_error,
             "\"text/html; charset=utf-8\" where text/event-stream was expected; look at base_url"},
        Case{FakeAnswer::whole(200, "{}", {{"Content-Type", "application/json"}}), Slug::model_error, "base_url"},
        Case{answer_of("data: {not json\n\n"), Slug::model_error, ""},
        Case{FakeAnswer().fail(CallFailure::refused, "URL malformed"), Slug::agent_misconfigured, "URL malformed"}}) {
    heard = {};
    client.requests.clear();
    client.answer(answer);
    begin("Hi.");
    expect_problem(slug, words);
    EXPECT_EQ(client.requests.size(), 1u);
  }
}

TEST_F(Retry, A_provider_that_wants_a_key_while_none_is_configured_is_said_to_have_none) {
  options.providers["local"] = {.dialect = "openai-chat", .base_url = "http://models.local/v1", .api_key = ""};
  agent.model = {.provider = "local", .name = "m"};
  client.answer(FakeAnswer::whole(401, "no"));
  begin("Hi.");
  expect_problem(Slug::agent_misconfigured, "providers.local.api_key_env");
}

TEST_F(Retry, a_refused_key_is_named_by_the_variable_or_the_setting_that_has_it) {
  agent.model = {.provider = "local", .name = "m"};
  for (const std::string source : {"GPU_KEY", "providers.local.api_key"}) {
    work.reset();
    runner.reset();
    heard = {};
    options.providers["local"] = {
        .dialect = "openai-chat", .base_url = "http://models.local/v1", .api_key = "very-secret", .key_source = source};
    client.answer(FakeAnswer::whole(401, "no"));
    begin("Hi.");
    expect_problem(Slug::agent_misconfigured, "does not accept the server's key (" + source + ")");
    EXPECT_EQ(heard.problem->detail.find("OPENAI_API_KEY"), std::string::npos);
  }
}

TEST_F(Retry, Does_not_follow_a_deadline) {
  for (const bool has_text : {false, true}) {
    heard = {};
    FakeAnswer silent;
    silent.head(200);
    if (has_text) silent.piece(said("One moment"));
    client.answer(silent);
    begin("Hi.");
    pass(options.model_idle_ms_max - 1);
    EXPECT_FALSE(heard.is_over());
    pass(1);
    expect_problem(Slug::model_timeout);
  }
  EXPECT_EQ(client.requests.size(), 2u);
  EXPECT_EQ(figure(failures("timed_out")), 2);
}

TEST_F(Retry, Does_not_follow_a_cut_after_something_was_sent) {
  for (const std::string& partial : {said("Half"), thought("Half")}) {
    heard = {};
    client.answer(answer_of(partial));
    begin("Hi.");
    expect_problem(Slug::model_stream_cut, "After 4 bytes");
  }
  EXPECT_EQ(client.requests.size(), 2u);
}

TEST_F(Retry, Does_not_follow_an_error_in_mid_answer) {
  client.answer(answer_of(said("Half") + sse(overloaded)));
  begin("Hi.");
  expect_problem(Slug::model_stream_cut, "Too busy");
  EXPECT_EQ(heard.text(), "Half");
}

TEST_F(Retry, Counts_anew_in_the_next_round_and_repeats_only_that) {
  options.retry_count_max = 1;
  client.answer(FakeAnswer::whole(503, overloaded));
  client.answer(answer_of(said("One. ") + called("x") + stopped(1, 1)));
  client.answer(FakeAnswer::whole(503, overloaded));
  client.answer(answer_of(said("Two.") + stopped(1, 1)));
  begin("Hi.");
  pass(2'000);
  EXPECT_EQ(heard.text(), "One. Two.");
  EXPECT_TRUE(heard.usage);
}

TEST_F(Retry, Ends_when_the_work_is_dropped_in_between) {
  client.answer(FakeAnswer::whole(503, overloaded));
  heard.after_event = [this] { work.reset(); };
  begin("Hi.");
  expect_nothing_left();
  pass(100'000);
  EXPECT_EQ(client.requests.size(), 1u);
}

TEST_F(RunnerTest, The_offline_model_fails_like_a_provider) {
  struct Case {
    const char* prompt;
    Slug slug;
  };
  for (const auto& [prompt, slug] :
       {Case{"say a\ncut", Slug::model_stream_cut}, Case{"fail 400 no", Slug::model_error},
        Case{"fail 401 no", Slug::agent_misconfigured}, Case{"fail 503 busy", Slug::model_error},
        Case{"cut", Slug::model_error}, Case{"hang", Slug::model_timeout}, Case{"say a\nhang", Slug::model_timeout},
        Case{"sleep 120000\nsay late", Slug::model_timeout}}) {
    heard = {};
    begin(prompt);
    pass(options.model_idle_ms_max);
    expect_problem(slug);
  }
}

TEST_F(RunnerTest, The_offline_model_is_silent_only_since_its_last_word) {
  begin("sleep 70000\nsay a\nsleep 70000\nsay b");
  pass(140'000);
  EXPECT_EQ(heard.text(), "a\nb");
  EXPECT_TRUE(heard.usage);
}

TEST_F(RunnerTest, The_offline_model_keeps_within_the_total_deadline) {
  options.model_total_ms_max = 1'000;
  begin("tokens 100 10");
  pass(999);
  EXPECT_FALSE(heard.is_over());
  pass(1);
  expect_problem(Slug::model_timeout);
}

}  // namespace retry_test
}  // namespace sluice::native
