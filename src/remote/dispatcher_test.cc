// S-8, S-9, S-10: a dispatch that a runner elsewhere carries.
#include <algorithm>

#include "base/digest.h"
#include "base/limits.h"
#include "remote/remote_fixture.h"

namespace sluice::remote {
namespace dispatcher_test {

using model::EventKind;
using model::Slug;
using net::FakeAnswer;

// Takes nothing and has nothing; wants files or not.
struct NoSupplies final : dispatch::Supplies {
  explicit NoSupplies(bool wanted) : wants(wanted) {}
  void skill_bundle(const dispatch::SkillUse&, Callback<void(Result<std::string>)>) override {}
  bool wants_assets() const override { return wants; }
  void file(const dispatch::FileUse&, Callback<void(Result<std::string>)>) override {}
  void take_assets(std::vector<dispatch::Asset>, std::string,
                   Callback<void(Result<std::vector<dispatch::KeptAsset>>)>) override {}
  bool wants;
};

TEST_F(RemoteTest, Posts_the_dispatch_with_tokens_that_the_store_knows_S_3) {
  client_.answer(FakeAnswer::whole(200, std::string(result_line)));
  begin();
  ASSERT_EQ(client_.requests.size(), 1u);
  const auto& request = client_.requests[0];
  EXPECT_EQ(request.method + " " + request.url, "POST http://one/stream?profile=extended");
  EXPECT_EQ(request.headers.find("Authorization"), "Bearer rk");
  EXPECT_EQ(request.idle_ms_max, options_.silence_ms_max);
  EXPECT_EQ(sent(0, "prompt"), "Hi");
  EXPECT_EQ(sent(0, "otp_upload"), "");
  const std::string base = "http://server/api/agents/";
  ASSERT_TRUE(sent(0, "agent_url").starts_with(base));
  const auto execution = *model::ExecutionId::parse(sent(0, "agent_url").substr(base.size()));
  std::optional<model::RunId> run;
  store::redeem(store_.database(), execution, model::TokenPurpose::run, sha256(sent(0, "otp_run")), loop_.now(),
                [&](Result<store::Redeemed> redeemed) { run = redeemed.value().execution.run_id; });
  loop_.settle();
  EXPECT_EQ(run, dispatch_.run);
}

TEST_F(RemoteTest, No_runner_gets_a_token_before_the_journal_says_that_one_may_be_at_work_S_3) {
  journal_answers_ = false;
  client_.answer(FakeAnswer::whole(200, std::string(result_line)));
  begin();
  loop_.advance(Millis{1'000});
  ASSERT_EQ(received_.marks.size(), 1u);
  EXPECT_EQ(read_mark(received_.marks[0])->runner, "http://one");
  EXPECT_EQ(client_.requests.size(), 0u);
  work_->written(R"({"runner":"http://one","execution":"exe_of_another_dispatch","line":0})");
  loop_.settle();
  EXPECT_EQ(client_.requests.size(), 0u);
  work_->written(received_.marks[0]);
  loop_.settle();
  EXPECT_EQ(method_and_url(0), "POST http://one/stream?profile=extended");
  EXPECT_TRUE(received_.usage);
}

TEST_F(RemoteTest, A_run_that_is_stopped_before_its_runner_has_its_tokens_is_never_begun_there_S_10) {
  journal_answers_ = false;
  begin();
  bool gone = false;
  work_->stop([&] { gone = true; });
  work_->written(received_.marks[0]);
  loop_.settle();
  EXPECT_TRUE(gone);
  EXPECT_EQ(client_.requests.size(), 0u);
}

TEST_F(RemoteTest, The_upload_token_goes_along_when_files_are_wanted) {
  dispatch_.supplies = std::make_shared<NoSupplies>(true);
  begin();
  EXPECT_TRUE(sent(0, "otp_upload").starts_with("otpu_"));
  dispatch_.supplies = std::make_shared<NoSupplies>(false);
  received_ = {};
  dispatcher_.reset();
  begin();
  EXPECT_EQ(sent(client_.requests.size() - 1, "otp_upload"), "");
}

TEST_F(RemoteTest, Lines_become_events_stamped_here_S_9) {
  client_.answer(FakeAnswer()
                     .head(200)
                     .piece("{\"type\":\"log\",\"level\":\"info\",\"message\":\"m\",\"ts\":1}\n"
                            "{\"type\":\"log\",\"level\":\"debug\",\"message\":\"Still at work\",\"ts\":1}\n"
                            "{\"type\":\"delta\",\"text\":\"Hel\",\"ts\":1}\n{\"type\":\"del")
                     .piece("ta\",\"text\":\"lo.\"}\n")
                     .piece(std::string(result_line))
                     .finish());
  begin();
  EXPECT_EQ(received_.received.substr(received_.received.find('\n') + 1),
            "log {\"level\":\"info\",\"text\":\"m\"}\ntext Hel\ntext lo.\n");
  EXPECT_EQ(received_.received.find("\"phase\":\"mint\"") != std::string::npos, true);
  EXPECT_EQ(received_.last_at, loop_.now());
  EXPECT_EQ(received_.usage, (model::Usage{3, 4}));
  EXPECT_EQ(client_.calls_in_flight(), 0u);
}

TEST_F(RemoteTest, A_runner_that_knows_only_four_types_tells_its_text_at_the_end) {
  client_.answer(FakeAnswer::whole(200, "{\"type\":\"result\",\"message\":\"Hello.\"}\n"));
  begin();
  EXPECT_EQ(received_.text, "Hello.");
  EXPECT_EQ(received_.usage, model::Usage{});
}

TEST_F(RemoteTest, Runners_are_taken_in_turn) {
  for (int i = 0; i < 3; ++i) {
    client_.answer(FakeAnswer::whole(200, std::string(result_line)));
    received_ = {};
    begin();
  }
  EXPECT_EQ(client_.requests[0].url, "http://one/stream?profile=extended");
  EXPECT_EQ(client_.requests[1].url, "http://two/stream?profile=extended");
  EXPECT_EQ(client_.requests[2].url, "http://one/stream?profile=extended");
}

TEST_F(RemoteTest, A_runner_that_does_not_answer_is_passed_over_with_tokens_of_its_own_S_8) {
  for (auto& refusal : {FakeAnswer::connection_refused(), FakeAnswer::whole(503, "{}"), FakeAnswer::whole(401, "{}")}) {
    client_.requests.clear();
    client_.answer(refusal);
    client_.answer(FakeAnswer::whole(200, std::string(result_line)));
    received_ = {};
    dispatcher_.reset();
    begin();
    ASSERT_EQ(client_.requests.size(), 2u);
    EXPECT_EQ(client_.requests[1].url, "http://two/stream?profile=extended");
    EXPECT_NE(sent(0, "otp_run"), sent(1, "otp_run"));
    EXPECT_TRUE(received_.usage);
  }
}

TEST_F(RemoteTest, A_dispatch_that_names_its_runner_goes_there_and_nowhere_else_S_8) {
  dispatch_.extras.sandbox_url = "http://three/box/";
  begin();
  ASSERT_EQ(client_.requests.size(), 1u);
  EXPECT_EQ(client_.requests[0].headers.find("Authorization"), "Bearer rk");
  loop_.advance(Millis{options_.wait_ms_max + 1'000});
  for (const auto& request : client_.requests) {
    if (request.method == "POST") EXPECT_EQ(request.url, "http://three/box/stream?profile=extended");
  }
  EXPECT_EQ(failed_with(), Slug::runner_unavailable);
  EXPECT_NE(received_.problem->detail.find("http://three/box"), std::string::npos);
}

TEST_F(RemoteTest, I_17_a_runner_that_only_the_star_allows_is_asked_at_public_addresses_only) {
  options_.named_urls = {"*", "http://three"};
  const auto is_public_only = [&](const std::string& named) {
    client_.requests.clear();
    received_ = {};
    dispatcher_.reset();
    dispatch_.extras.sandbox_url = named;
    client_.answer(FakeAnswer::whole(200, std::string(result_line)));
    begin();
    SLUICE_CHECK(client_.requests.size() == 1);
    return client_.requests[0].public_addresses_only;
  };
  EXPECT_TRUE(is_public_only("http://four"));
  EXPECT_FALSE(is_public_only("http://three/box/")) << "a rule names it";
  EXPECT_FALSE(is_public_only("http://two")) << "the operator's own";
  EXPECT_FALSE(is_public_only("")) << "the operator's own";
}

TEST_F(RemoteTest, I_17_a_runner_that_may_not_be_asked_fails_the_run_at_once_and_says_why) {
  options_.named_urls = {"*"};
  dispatch_.extras.sandbox_url = "http://three";
  client_.answer(FakeAnswer().fail(net::CallFailure::refused, "three leads to 127.0.0.1, a loopback address."));
  begin();
  EXPECT_EQ(failed_with(), Slug::runner_unavailable);
  EXPECT_EQ(received_.problem->detail,
            "The runner at http://three cannot be asked: three leads to 127.0.0.1, a loopback address.");
  EXPECT_EQ(client_.requests.size(), 1u);
}

TEST_F(RemoteTest, Without_any_runner_only_those_that_name_one_are_carried_S_8) {
  options_.runner_urls.clear();
  begin();
  EXPECT_EQ(failed_with(), Slug::runner_unavailable);
  received_ = {};
  dispatch_.extras.sandbox_url = "http://three";
  client_.answer(FakeAnswer::whole(200, std::string(result_line)));
  begin();
  EXPECT_EQ(received_.text, "Hello.");
}

TEST_F(RemoteTest, At_home_is_carried_what_names_no_runner_S_8) {
  struct Home final : dispatch::Dispatcher {
    std::unique_ptr<dispatch::Work> dispatch(dispatch::Dispatch, dispatch::DispatchListener&) override {
      ++dispatch_count;
      return nullptr;
    }
    bool can_resume(const model::Agent&, std::string_view) const override { return true; }
    bool reads_history(const model::Agent&) const override { return false; }
    void release(model::ConversationId) override { ++release_count; }
    void forget_parked(model::RunId, model::ConversationId) override {}
    void list_parked(Callback<void(std::vector<dispatch::ParkedRun>)> done) override { done({{}}); }
    bool keeps_boxes() const override { return true; }
    int warm_available() const override { return 2; }
    int dispatch_count = 0;
    int release_count = 0;
  };
  Home home;
  dispatcher_ = make_router(
      home, make_remote_dispatcher({store_, client_, loop_, ids_, entropy_, log_, metrics_}, std::move(options_)));
  begin();
  EXPECT_EQ(home.dispatch_count, 1);
  EXPECT_TRUE(client_.requests.empty());
  dispatch_.extras.sandbox_url = "http://three";
  begin();
  EXPECT_EQ(home.dispatch_count, 1);
  EXPECT_EQ(client_.requests.size(), 1u);
  dispatcher_->release({});
  EXPECT_EQ(home.release_count, 1);
  EXPECT_EQ(dispatcher_->warm_available(), 2);
  std::size_t parked_count = 0;
  dispatcher_->list_parked([&](const std::vector<dispatch::ParkedRun>& kept) { parked_count = kept.size(); });
  EXPECT_EQ(parked_count, 1u);
}

TEST_F(RemoteTest, When_no_runner_takes_it_the_run_fails_and_the_log_says_why) {
  client_.answer(FakeAnswer::whole(422, "{}"));
  client_.answer(FakeAnswer::whole(401, "{}"));
  begin();
  EXPECT_EQ(failed_with(), Slug::runner_unavailable) << "at once: waiting would not help";
  EXPECT_EQ(client_.requests.size(), 2u);
  ASSERT_EQ(log_.lines.size(), 2u);
  EXPECT_NE(log_.lines[1].find("http://two why=status 401"), std::string::npos) << log_.lines[1];
}

TEST_F(RemoteTest, When_no_runner_is_there_it_is_waited_for_and_then_the_run_fails) {
  begin();
  loop_.advance(Millis{options_.wait_ms_max - 1'000});
  EXPECT_FALSE(received_.problem);
  EXPECT_NE(received_.received.find("waiting for one"), std::string::npos);
  EXPECT_EQ(received_.received.find("waiting for one"), received_.received.rfind("waiting for one"));
  loop_.advance(Millis{2'000});
  EXPECT_EQ(failed_with(), Slug::runner_unavailable);
}

TEST_F(RemoteTest, A_runner_that_breaks_off_or_goes_silent_is_lost) {
  const std::string step = "{\"type\":\"step\",\"id\":\"s\",\"name\":\"bash\",\"status\":\"running\"}\n";
  for (auto& answer :
       {FakeAnswer().head(200).piece(step).fail(net::CallFailure::cut, "reset"),
        FakeAnswer().head(200).piece(step).finish(), FakeAnswer().head(200).piece(step),
        FakeAnswer::whole(200, step + "{\"type\":\"telepathy\"}\n"), FakeAnswer::whole(200, step + "<html>\n")}) {
    client_.answer(answer);
    received_ = {};
    dispatcher_.reset();
    begin();
    loop_.advance(Millis{options_.silence_ms_max});
    EXPECT_EQ(failed_with(), Slug::runner_lost);
  }
  work_.reset();
  EXPECT_EQ(client_.calls_in_flight(), 0u);
}

TEST_F(RemoteTest, An_error_line_is_the_problem_of_that_name_or_of_its_kind) {
  const auto slug = [](std::string code) { return problem_of({std::move(code), "why"}).slug; };
  EXPECT_EQ(slug("model_timeout"), Slug::model_timeout);
  EXPECT_EQ(slug("runtime_exceeded"), Slug::runtime_exceeded);
  EXPECT_EQ(slug("model_on_fire"), Slug::model_error);
  EXPECT_EQ(slug("agent_type_unsupported"), Slug::agent_misconfigured);
  EXPECT_EQ(slug("bootstrap_failed"), Slug::sandbox_failed);
  EXPECT_EQ(problem_of({"bootstrap_failed", "why"}).detail, "bootstrap_failed: why");
  client_.answer(FakeAnswer::whole(200, "{\"type\":\"error\",\"code\":\"model_timeout\",\"message\":\"60 s\"}\n"));
  begin();
  EXPECT_EQ(failed_with(), Slug::model_timeout);
  EXPECT_EQ(received_.problem->detail, "60 s");
}

TEST_F(RemoteTest, Text_without_end_is_refused) {
  const std::string line = "{\"type\":\"delta\",\"text\":\"" + std::string(1024 * 1024, 'x') + "\"}\n";
  FakeAnswer answer;
  answer.head(200);
  for (int i = 0; i < 9; ++i) answer.piece(line);
  client_.answer(answer);
  begin();
  EXPECT_EQ(failed_with(), Slug::answer_too_large);
}

TEST_F(RemoteTest, Stopping_closes_the_connection_and_then_says_so_S_10) {
  client_.answer(FakeAnswer().head(200).piece("{\"type\":\"delta\",\"text\":\"a\"}\n"));
  begin();
  EXPECT_EQ(client_.calls_in_flight(), 1u);
  bool gone = false;
  work_->stop([&] { gone = true; });
  EXPECT_EQ(client_.calls_in_flight(), 0u);
  EXPECT_FALSE(gone);
  loop_.settle();
  EXPECT_TRUE(gone);
  EXPECT_FALSE(received_.usage || received_.problem);
}

TEST_F(RemoteTest, May_be_dropped_at_any_event) {
  client_.answer(FakeAnswer::whole(200, "{\"type\":\"delta\",\"text\":\"a\"}\n" + std::string(result_line)));
  received_.after_event = [&] {
    if (received_.text == "a") work_.reset();
  };
  begin();
  EXPECT_EQ(received_.text, "a");
  EXPECT_FALSE(received_.usage || received_.problem);
  received_ = {};
  received_.after_event = [&] { work_.reset(); };
  begin();
  EXPECT_EQ(client_.requests.size(), 1u);
}

// Runners are asked now and then how many free slots they have.
bool is_dispatch(const net::ClientRequest& request) { return request.method == "POST"; }

TEST_F(RemoteTest, Tokens_that_cannot_be_kept_are_not_used) {
  for (int n = 0; n < 1'000; ++n) disk_.fail_write(n, store::Fault::full);
  begin();
  loop_.advance({options_.wait_ms_max - 1'000});
  EXPECT_FALSE(received_.problem) << "there may be room soon";
  loop_.advance({2'000});
  EXPECT_EQ(failed_with(), Slug::unavailable);
  EXPECT_TRUE(std::ranges::none_of(client_.requests, is_dispatch));
}

TEST_F(RemoteTest, Tokens_that_could_not_be_kept_at_once_are_made_again) {
  disk_.fail_write(0, store::Fault::full);
  disk_.fail_write(1, store::Fault::after_write);
  client_.answer(FakeAnswer::whole(200, std::string(result_line)));
  begin();
  loop_.advance({500});
  EXPECT_TRUE(store_.needs_reopening());
  store_.reopen([](const Result<Unit>& opened) { ASSERT_TRUE(opened); });
  EXPECT_TRUE(client_.requests.empty());
  loop_.advance({500});
  ASSERT_EQ(client_.requests.size(), 1u);
  EXPECT_TRUE(received_.usage);
}

TEST_F(RemoteTest, A_run_that_is_stopped_while_its_tokens_cannot_be_kept_begins_nowhere) {
  disk_.fail_write(0, store::Fault::full);
  begin();
  bool gone = false;
  work_->stop([&] { gone = true; });
  loop_.advance({60'000});
  EXPECT_TRUE(gone);
  EXPECT_TRUE(std::ranges::none_of(client_.requests, is_dispatch));
  EXPECT_FALSE(received_.problem);
}

TEST_F(RemoteTest, A_program_goes_on_after_a_restart_only_when_nothing_was_told) {
  begin();
  model::Agent program;
  program.kit.agent_type = "codex";
  EXPECT_TRUE(dispatcher_->can_resume({}, "") && dispatcher_->can_resume(program, ""));
  EXPECT_TRUE(dispatcher_->can_resume({}, "a"));
  EXPECT_FALSE(dispatcher_->can_resume(program, "a"));
  EXPECT_TRUE(dispatcher_->reads_history({}));
}

}  // namespace dispatcher_test
}  // namespace sluice::remote
