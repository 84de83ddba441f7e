// A runner that is lost in the middle of an answer: another one continues it, if the agent can.
#include "base/digest.h"
#include "remote/remote_fixture.h"

namespace sluice::remote {
namespace resume_test {

using model::Slug;
using net::FakeAnswer;

const std::string words = "{\"type\":\"reasoning\",\"text\":\"Hm.\"}\n{\"type\":\"delta\",\"text\":\"Hel\"}\n";
const std::string rest = "{\"type\":\"delta\",\"text\":\"lo.\"}\n{\"type\":\"result\",\"message\":\"lo.\"}\n";
const std::string step = "{\"type\":\"step\",\"id\":\"s\",\"name\":\"bash\",\"status\":\"running\"}\n";

// Runners know no dispatch to re-attach to: the process that had it is gone.
class GoingOnTest : public RemoteTest {
 protected:
  // What the next runners make of a dispatch, in order; those of ours name it, and promise to be careful.
  enum class Maker : uint8_t { ours, ours_before, somebody };
  void script(std::string lines, Maker maker = Maker::ours) { scripts_.push_back({std::move(lines), maker, 200}); }
  void refuse(int status) { scripts_.push_back({"{}", Maker::somebody, status}); }

  // Marks name the dispatch before it is posted, so the answer can.
  void play() {
    received_.after_event = [this] {
      if (received_.marks.size() == marks_seen_) return;
      marks_seen_ = received_.marks.size();
      const auto execution = read_mark(received_.marks.back())->execution;
      if (execution == name_ || scripts_.empty()) return;
      name_ = execution;
      const auto [lines, maker, status] = scripts_.front();
      scripts_.erase(scripts_.begin());
      const bool keeps = maker != Maker::somebody;
      auto headers = keeps ? net::Headers{{"Sluice-Dispatch", name_}} : net::Headers{};
      if (maker == Maker::ours) headers.add("Sluice-Careful", "1");
      client_.answer(FakeAnswer().head(status, std::move(headers)).piece(lines).finish());
      if (status != 200 || lines.find("\"result\"") != std::string::npos) return;
      const bool says_farewell = lines.find("\"error\"") != std::string::npos;
      if (keeps && !says_farewell) client_.answer(FakeAnswer::whole(404, "{}"));
      if (maker == Maker::ours) client_.answer(FakeAnswer::whole(404, "{}"));  // that it be killed
    };
    begin();
    loop_.advance(Millis{500});
  }
  std::vector<std::string> posts() {
    std::vector<std::string> urls;
    for (std::size_t i = 0; i < client_.requests.size(); ++i) {
      if (client_.requests[i].body.find("otp_run") == std::string::npos) continue;
      urls.push_back(client_.requests[i].url);
      last_post_ = i;
    }
    return urls;
  }
  // What its runner would get as sent before, in the dispatch that was posted last.
  std::string sent_before() {
    posts();
    std::string found = "nothing";
    store::redeem(store_.database(), *model::ExecutionId::parse(name_), model::TokenPurpose::run,
                  sha256(sent(last_post_, "otp_run")), loop_.now(), [&](Result<store::Redeemed> redeemed) {
                    const auto document = json::Document::parse(redeemed.value().execution.config_json);
                    if (const auto its = document.value().root().find("told")) found = its->to_text();
                  });
    loop_.settle();
    return found;
  }
  std::string detail() const { return received_.problem ? received_.problem->detail : ""; }

  struct Script {
    std::string lines;
    Maker maker;
    int status;
  };
  std::vector<Script> scripts_;
  std::size_t marks_seen_ = 0;
  std::size_t last_post_ = 0;
  std::string name_;
};

TEST_F(GoingOnTest, Another_runner_goes_on_after_the_last_word) {
  script(words);
  script(rest);
  play();
  EXPECT_TRUE(received_.usage) << detail();
  EXPECT_EQ(received_.text, "Hello.");
  EXPECT_EQ(posts(),
            (std::vector<std::string>{"http://one/stream?profile=extended", "http://two/stream?profile=resumed"}));
  EXPECT_EQ(sent_before(), R"({"text":"Hel","reasoning":"Hm."})");
  EXPECT_NE(received_.received.find("http://one was lost"), std::string::npos) << received_.received;
}

TEST_F(GoingOnTest, Also_after_thoughts_alone) {
  script("{\"type\":\"reasoning\",\"text\":\"Hm.\"}\n");
  script(rest);
  play();
  EXPECT_EQ(received_.text, "lo.");
  EXPECT_EQ(sent_before(), R"({"text":"","reasoning":"Hm."})");
}

TEST_F(GoingOnTest, When_nothing_was_told_it_is_begun_anew_by_any_runner) {
  script("{\"type\":\"log\",\"level\":\"info\",\"message\":\"m\"}\n");
  script(rest, Maker::somebody);
  play();
  EXPECT_EQ(received_.text, "lo.");
  EXPECT_EQ(posts().back(), "http://two/stream?profile=extended");
  EXPECT_EQ(sent_before(), "nothing");
}

TEST_F(GoingOnTest, Tokens_that_are_refused_again_and_again_are_the_problem_in_the_end) {
  for (int i = 0; i < 9; ++i) {
    script("{\"type\":\"error\",\"code\":\"token_invalid\",\"message\":\"m\"}\n", Maker::somebody);
  }
  play();
  EXPECT_EQ(failed_with(), Slug::token_invalid);
  EXPECT_EQ(posts().size(), 4u);
}

TEST_F(GoingOnTest, All_that_was_told_goes_along_also_from_the_life_before) {
  dispatch_.resumed = true;
  dispatch_.told_text = "Oh! ";
  script(words);
  script(rest);
  play();
  EXPECT_EQ(posts().front(), "http://one/stream?profile=resumed");
  EXPECT_EQ(received_.text, "Hello.");
  EXPECT_EQ(sent_before(), R"({"text":"Oh! Hel","reasoning":"Hm."})");
}

TEST_F(GoingOnTest, What_is_heard_on_from_a_mark_and_then_lost_goes_on_likewise) {
  dispatch_.resumed = true;
  dispatch_.told_text = "Hel";
  dispatch_.mark = to_json({.runner = "http://one", .execution = "exe", .line = 2, .careful = true});
  client_.answer(FakeAnswer::whole(404, "{}"));
  client_.answer(FakeAnswer::whole(404, "{}"));  // that it be killed
  script(rest);
  play();
  EXPECT_EQ(received_.text, "lo.") << detail();
  EXPECT_EQ(sent_before(), R"({"text":"Hel","reasoning":""})");
}

// So a server that is restarted before the other one spoke may hand it on once more.
TEST_F(GoingOnTest, Whoever_gets_the_rest_is_known_to_be_careful_before_it_spoke) {
  script(words);
  refuse(503);
  script(rest);
  play();
  EXPECT_EQ(received_.text, "Hello.") << detail();
  EXPECT_FALSE(read_mark(received_.marks.front())->careful) << "which the first has still to say";
  std::size_t of_others = 0;
  const auto first = read_mark(received_.marks.front())->execution;
  for (const auto& text : received_.marks) {
    const auto mark = read_mark(text);
    if (mark->execution == first) continue;
    ++of_others;
    EXPECT_TRUE(mark->careful) << text;
  }
  EXPECT_GE(of_others, 2u);
}

TEST_F(GoingOnTest, Words_that_came_with_the_farewell_have_a_mark_behind_them) {
  script(words + "{\"type\":\"error\",\"code\":\"unavailable\",\"message\":\"It had to go.\"}\n");
  script(rest);
  play();
  EXPECT_EQ(received_.text, "Hello.") << detail();
  const auto first = read_mark(received_.marks.front())->execution;
  const auto last = std::ranges::find_if(received_.marks.rbegin(), received_.marks.rend(),
                                         [&](const std::string& mark) { return read_mark(mark)->execution == first; });
  EXPECT_EQ(read_mark(*last)->line, 2) << "before the farewell, which may be read again";
}

TEST_F(GoingOnTest, What_a_setup_script_does_is_done_in_every_box) {
  script("{\"type\":\"file\",\"event\":\"create\",\"path\":\"a\"}\n" + words);
  script(rest);
  play();
  EXPECT_EQ(received_.text, "Hello.") << detail();
}

TEST_F(GoingOnTest, Unless_its_runner_is_not_careful_and_may_have_told_it_before_the_step) {
  script("{\"type\":\"file\",\"event\":\"create\",\"path\":\"a\"}\n", Maker::somebody);
  play();
  EXPECT_EQ(failed_with(), Slug::runner_lost);
}

TEST_F(GoingOnTest, What_was_done_is_not_done_again) {
  script(words + step);
  play();
  EXPECT_EQ(failed_with(), Slug::runner_lost);
  EXPECT_EQ(posts().size(), 1u);
  EXPECT_NE(detail().find("What it had done in its sandbox is gone."), std::string::npos) << detail();
}

TEST_F(GoingOnTest, Where_more_may_have_been_done_than_was_told_nobody_goes_on) {
  for (const auto maker : {Maker::ours_before, Maker::somebody}) {
    received_ = {};
    name_.clear();
    marks_seen_ = 0;
    client_.requests.clear();
    dispatcher_.reset();
    script(words, maker);
    play();
    EXPECT_EQ(failed_with(), Slug::runner_lost);
    EXPECT_EQ(posts().size(), 1u);
    EXPECT_NE(detail().find("It may have done more than it reported."), std::string::npos) << detail();
  }
}

TEST_F(GoingOnTest, A_program_that_is_about_to_start_is_not_started_again) {
  dispatch_.agent.kit.agent_type = "codex";
  script("{\"type\":\"log\",\"level\":\"info\",\"message\":\"m\",\"phase\":\"launch\",\"durationMs\":0}\n");
  play();
  EXPECT_EQ(failed_with(), Slug::runner_lost);
  EXPECT_EQ(posts().size(), 1u);
}

TEST_F(GoingOnTest, A_program_cannot_continue_a_partial_answer) {
  dispatch_.agent.kit.agent_type = "codex";
  script(words);
  play();
  EXPECT_EQ(failed_with(), Slug::runner_lost);
  EXPECT_EQ(posts().size(), 1u);
  EXPECT_NE(detail().find("program cannot continue it"), std::string::npos) << detail();
  received_ = {};
  dispatch_.resumed = true;
  dispatch_.told_text = "Hel";
  begin();
  EXPECT_EQ(failed_with(), Slug::run_interrupted);
}

TEST_F(GoingOnTest, More_than_fits_into_a_configuration_is_not_gone_on_with) {
  script("{\"type\":\"delta\",\"text\":\"" + std::string(1024 * 1024 + 1, 'x') + "\"}\n");
  play();
  EXPECT_EQ(failed_with(), Slug::runner_lost);
  EXPECT_NE(detail().find("too long"), std::string::npos) << detail();
}

TEST_F(GoingOnTest, It_is_not_tried_for_ever) {
  for (int i = 0; i < 9; ++i) script(words);
  play();
  loop_.advance(Millis{60'000});
  EXPECT_EQ(failed_with(), Slug::runner_lost);
  EXPECT_EQ(posts().size(), 4u);
  EXPECT_NE(detail().find("So were those that had it before."), std::string::npos) << detail();
  EXPECT_EQ(read_mark(received_.marks.back())->losses, 3);
}

TEST_F(GoingOnTest, Losses_before_a_restart_count) {
  dispatch_.mark = to_json({.runner = "http://one", .execution = "exe", .losses = 3});
  client_.answer(FakeAnswer::whole(404, "{}"));
  begin();
  loop_.advance(Millis{500});
  EXPECT_EQ(failed_with(), Slug::runner_lost);
}

TEST_F(GoingOnTest, A_runner_that_does_not_know_how_is_passed_over_and_none_of_its_lines_is_heard) {
  options_.runner_urls = {"http://one", "http://two", "http://three", "http://four"};
  script(words);
  refuse(422);                            // one of before: it knows no such profile
  script(words + rest, Maker::somebody);  // it does not look at the query
  script(rest);
  play();
  EXPECT_EQ(received_.text, "Hello.") << detail();
  EXPECT_EQ(posts().size(), 4u);
}

TEST_F(GoingOnTest, When_nobody_knows_how_the_problem_is_the_loss) {
  script(words);
  refuse(422);
  refuse(422);
  play();
  EXPECT_EQ(failed_with(), Slug::runner_lost);
  EXPECT_NE(detail().find("http://one was lost"), std::string::npos) << detail();
  EXPECT_NE(detail().find("No other runner took"), std::string::npos) << detail();
}

TEST_F(GoingOnTest, One_that_refuses_the_key_is_at_work_until_it_gives_up_by_itself) {
  dispatch_.mark = to_json({.runner = "http://one", .execution = "exe", .line = 2, .careful = true});
  for (int i = 0; i < 100; ++i) client_.answer(FakeAnswer::whole(401, "{}"));
  begin();
  loop_.advance(Millis{options_.reattach_ms - 3'000});
  EXPECT_TRUE(posts().empty());
  loop_.advance(Millis{6'000});
  EXPECT_FALSE(posts().empty());
}

TEST_F(GoingOnTest, One_that_another_server_hears_is_left_to_it_although_nothing_was_told) {
  dispatch_.mark = to_json({.runner = "http://one", .execution = "exe"});
  client_.answer(FakeAnswer::whole(409, "{}"));
  begin();
  loop_.advance(Millis{500});
  EXPECT_EQ(failed_with(), Slug::runner_lost);
  EXPECT_TRUE(posts().empty());
}

}  // namespace resume_test
}  // namespace sluice::remote
