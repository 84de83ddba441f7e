// S-9, S-10: lines through broken connections and restarts; runners that are lost, full, draining or back again.
#include <algorithm>

#include "remote/remote_fixture.h"

namespace sluice::remote {
namespace reattach_test {

using model::Slug;
using net::CallFailure;
using net::FakeAnswer;

const std::string whole_account =
    "{\"type\":\"delta\",\"text\":\"Hel\"}\n"
    "{\"type\":\"step\",\"id\":\"s\",\"name\":\"bash\",\"status\":\"running\"}\n"
    "{\"type\":\"log\",\"level\":\"debug\",\"message\":\"Still at work\"}\n"
    "{\"type\":\"step\",\"id\":\"s\",\"name\":\"bash\",\"status\":\"succeeded\"}\n"
    "{\"type\":\"delta\",\"text\":\"lo.\"}\n" +
    std::string(result_line);

class RemoteReattachTest : public RemoteTest {
 protected:
  RemoteReattachTest() { options_.runner_urls = {"http://one"}; }

  static std::string after(std::string_view account, int64_t line) {
    while (line-- > 0) account.remove_prefix(account.find('\n') + 1);
    return std::string(account);
  }
  static std::string up_to_step() {
    return whole_account.substr(0, whole_account.size() - after(whole_account, 2).size());
  }
  FakeAnswer stream() { return FakeAnswer().head(200, {{"Sluice-Dispatch", name_}}); }
  // Marks name the dispatch before it is posted, so the answer can.
  void begin_kept(std::function<FakeAnswer()> answer) {
    received_.after_event = [this, answer = std::move(answer)] {
      if (received_.marks.empty() || !name_.empty()) return;
      name_ = read_mark(received_.marks[0])->execution;
      client_.answer(answer());
    };
    begin();
  }
  std::size_t count_requests(std::string_view beginning) {
    std::size_t count = 0;
    for (std::size_t i = 0; i < client_.requests.size(); ++i) count += method_and_url(i).starts_with(beginning);
    return count;
  }

  std::vector<std::string> acknowledged() {
    std::vector<std::string> bodies;
    for (const auto& request : client_.requests) {
      if (request.url == "http://one/stream/" + name_ + "/ack") bodies.push_back(request.body);
    }
    return bodies;
  }

  std::string name_;
};

TEST_F(RemoteReattachTest, Cut_anywhere_no_line_is_lost_or_told_twice_S_9) {
  std::string uncut;
  for (std::size_t at = 0; at <= whole_account.size(); ++at) {
    SCOPED_TRACE(at);
    dispatcher_.reset();
    client_.requests.clear();
    received_ = {};
    name_.clear();
    begin_kept([&] { return stream().piece(whole_account).cut_after(at); });
    if (at < whole_account.size()) {
      ASSERT_FALSE(received_.usage);
      const auto complete = static_cast<int64_t>(std::ranges::count(whole_account.substr(0, at), '\n'));
      client_.answer(stream().piece(after(whole_account, complete)).finish());
      loop_.advance(Millis{100});
      EXPECT_EQ(method_and_url(1), "GET http://one/stream/" + name_ + "?after=" + std::to_string(complete));
      EXPECT_EQ(client_.requests[1].headers.find("Sluice-Reader"), client_.requests[0].headers.find("Sluice-Reader"));
    }
    EXPECT_TRUE(received_.usage);
    EXPECT_EQ(received_.text, "Hello.");
    received_.received.erase(0, received_.received.find('\n'));  // the tokens
    if (uncut.empty()) uncut = received_.received;
    EXPECT_EQ(received_.received, uncut);
  }
}

TEST_F(RemoteReattachTest, After_a_restart_it_is_heard_on_from_any_mark) {
  const auto line_count = std::ranges::count(whole_account, '\n');
  for (int64_t line = 0; line < line_count; ++line) {
    SCOPED_TRACE(line);
    name_.clear();
    received_ = {};
    dispatch_.mark.clear();
    dispatch_.told_text.clear();
    const auto received = whole_account.size() - after(whole_account, line).size();
    begin_kept([&] { return stream().piece(whole_account.substr(0, received)); });
    dispatch_.mark = received_.marks.back();
    ASSERT_EQ(read_mark(dispatch_.mark)->line, line);
    EXPECT_EQ(read_mark(dispatch_.mark)->begun, line > 1) << "by the step, not by words";
    dispatch_.told_text = received_.text;
    work_.reset();
    EXPECT_TRUE(dispatcher_->can_reattach(dispatch_.mark));
    const auto text = received_.text;
    received_ = {};
    client_.requests.clear();
    client_.answer(stream().piece(after(whole_account, line)).finish());
    begin();
    loop_.advance(Millis{0});
    EXPECT_EQ(method_and_url(0), "GET http://one/stream/" + name_ + "?after=" + std::to_string(line));
    EXPECT_EQ(text + received_.text, "Hello.");
    EXPECT_TRUE(received_.usage);
  }
}

TEST_F(RemoteReattachTest, What_is_no_mark_is_nothing_to_go_on_from) {
  begin();
  for (const auto* mark :
       {"", "{}", "[]", R"({"runner":"http://one","execution":"e"})",
        R"({"runner":"file:///x","execution":"e","line":1})", R"({"runner":"http://one","execution":"","line":1})",
        R"({"runner":"http://one","execution":"e","line":-1})"}) {
    EXPECT_FALSE(dispatcher_->can_reattach(mark)) << mark;
  }
  const Mark mark{.runner = "http://one", .execution = "e", .line = 7, .begun = true, .last = true, .steps = {"s"}};
  EXPECT_EQ(read_mark(to_json(mark)), mark);
}

TEST_F(RemoteReattachTest, A_cut_that_cannot_be_mended_loses_the_runner_when_patience_ends) {
  begin_kept([&] { return stream().piece(whole_account).cut_after(100); });
  loop_.advance(Millis{options_.reattach_ms - 3'000});
  EXPECT_FALSE(received_.problem);
  loop_.advance(Millis{6'000});
  EXPECT_EQ(failed_with(), Slug::runner_lost);
  EXPECT_NE(received_.problem->detail.find("http://one"), std::string::npos);
}

TEST_F(RemoteReattachTest, A_runner_that_forgot_what_it_had_begun_is_lost_at_once) {
  begin_kept([&] { return stream().piece(whole_account).cut_after(100); });
  client_.answer(FakeAnswer::whole(404, "{}"));
  loop_.advance(Millis{100});
  EXPECT_EQ(failed_with(), Slug::runner_lost);
}

TEST_F(RemoteReattachTest, What_had_not_begun_is_begun_anew_with_other_tokens) {
  begin_kept([&] { return stream().piece("{\"type\":\"log\",\"level\":\"info\",\"message\":\"m\"}\n").cut_after(99); });
  client_.answer(FakeAnswer::whole(404, "{}"));
  client_.answer(FakeAnswer::connection_refused());  // that it be killed
  client_.answer(FakeAnswer::whole(200, std::string(result_line)));
  loop_.advance(Millis{100});
  EXPECT_TRUE(received_.usage) << received_.received;
  EXPECT_EQ(count_requests("POST http://one/stream?"), 2u);
  EXPECT_NE(sent(0, "otp_run"), sent(client_.requests.size() - 1, "otp_run"));
}

// It had to go; or its tokens were spent or had expired: by an answer that was lost, by a clock that was put.
TEST_F(RemoteReattachTest, What_its_runner_could_not_begin_is_begun_anew_with_other_tokens) {
  for (const std::string code : {"unavailable", "token_invalid"}) {
    SCOPED_TRACE(code);
    received_ = {};
    name_.clear();
    client_.requests.clear();
    begin_kept([&] {
      client_.answer(stream().piece(R"({"type":"error","code":")" + code + "\",\"message\":\"m\"}\n").finish());
      client_.answer(FakeAnswer::connection_refused());  // that it be killed
      return FakeAnswer::whole(200, std::string(result_line));
    });
    loop_.advance(Millis{100});
    EXPECT_TRUE(received_.usage) << received_.received;
    EXPECT_EQ(count_requests("POST http://one/stream?"), 2u);
    EXPECT_NE(sent(0, "otp_run"), sent(client_.requests.size() - 1, "otp_run"));
  }
}

TEST_F(RemoteReattachTest, Lines_are_acknowledged_when_they_are_on_disk_and_the_last_with_the_end) {
  begin_kept(
      [&] { return stream().piece(whole_account.substr(0, 30)).wait(5'000).piece(whole_account.substr(30)).finish(); });
  ASSERT_EQ(received_.marks.size(), 2u);
  work_->written(received_.marks[0]);
  work_->written(received_.marks[1]);
  client_.answer(FakeAnswer::whole(204, ""));
  loop_.advance(Millis{1'000});
  EXPECT_EQ(acknowledged(), std::vector<std::string>{"{\"line\":1}"}) << "not each";
  loop_.advance(Millis{4'000});
  ASSERT_TRUE(received_.usage);
  ASSERT_EQ(received_.marks.size(), 3u);
  EXPECT_EQ(read_mark(received_.marks[2])->line, 5) << "the last line is received by the run's end";
  work_->written(received_.marks[1]);  // late
  loop_.settle();
  EXPECT_EQ(acknowledged().size(), 1u);
  work_->written(received_.marks[2]);
  work_.reset();
  loop_.settle();
  EXPECT_EQ(acknowledged().back(), "{\"line\":6}");
}

TEST_F(RemoteReattachTest, That_something_begins_is_acknowledged_at_once_as_the_runner_waits_for_it) {
  begin_kept([&] { return stream().piece(up_to_step()).wait(60'000); });
  EXPECT_EQ(client_.requests[0].headers.find("Sluice-Careful"), "1");
  ASSERT_EQ(read_mark(received_.marks.back())->line, 2);
  work_->written(received_.marks.back());
  loop_.settle();
  ASSERT_EQ(acknowledged(), std::vector<std::string>{"{\"line\":2}"});
  // No runner accepted it.
  loop_.advance(Millis{1'000});
  EXPECT_EQ(acknowledged().size(), 2u);
  for (int i = 0; i < 20; ++i) client_.answer(FakeAnswer::whole(204, ""));  // also for other requests
  loop_.advance(Millis{1'000});
  EXPECT_EQ(acknowledged().size(), 3u);
  loop_.advance(Millis{10'000});
  EXPECT_EQ(acknowledged().size(), 3u);
}

TEST_F(RemoteReattachTest, So_it_is_after_a_setup_script_has_changed_files_for_which_nobody_waits) {
  const std::string file = "{\"type\":\"file\",\"event\":\"create\",\"path\":\"a\"}\n";
  begin_kept([&] { return stream().piece(file).piece(up_to_step()).wait(60'000); });
  for (const auto& mark : received_.marks) work_->written(mark);
  loop_.settle();
  EXPECT_EQ(acknowledged(), std::vector<std::string>{"{\"line\":3}"});
}

TEST_F(RemoteReattachTest, Whoever_comes_back_says_again_what_is_on_disk) {
  begin_kept([&] { return stream().piece(up_to_step()).wait(60'000); });
  dispatch_.mark = received_.marks.back();
  dispatch_.told_text = received_.text;
  work_.reset();
  received_ = {};
  client_.requests.clear();
  client_.answer(stream());
  begin();
  loop_.advance(Millis{0});
  EXPECT_EQ(acknowledged(), std::vector<std::string>{"{\"line\":2}"});
}

TEST_F(RemoteReattachTest, Dropping_it_leaves_the_runner_at_work_for_whoever_goes_on) {
  begin_kept([&] { return stream().piece(whole_account.substr(0, 30)); });
  work_.reset();
  loop_.advance(Millis{1'000});
  EXPECT_EQ(count_requests("DELETE"), 0u);
  EXPECT_EQ(client_.calls_in_flight(), 0u);
}

TEST_F(RemoteReattachTest, Stopping_kills_it_there_and_the_answer_is_the_proof_S_10) {
  for (const int status : {204, 404, 409}) {
    name_.clear();
    received_ = {};
    client_.requests.clear();
    begin_kept([&] { return stream().piece(whole_account.substr(0, 30)); });
    client_.answer(FakeAnswer().wait(500).head(status).finish());
    bool gone = false;
    work_->stop([&] { gone = true; });
    loop_.advance(Millis{499});
    EXPECT_FALSE(gone);
    EXPECT_EQ(method_and_url(1), "DELETE http://one/stream/" + name_);
    loop_.advance(Millis{1});
    EXPECT_TRUE(gone);
    EXPECT_FALSE(received_.usage || received_.problem);
  }
}

TEST_F(RemoteReattachTest, Stopping_is_tried_until_the_runner_must_have_done_it_by_itself) {
  begin_kept([&] { return stream().piece(whole_account.substr(0, 30)); });
  bool gone = false;
  work_->stop([&] { gone = true; });
  loop_.advance(Millis{options_.reattach_ms - 3'000});
  EXPECT_FALSE(gone);
  EXPECT_GT(count_requests("DELETE"), 5u);
  loop_.advance(Millis{6'000});
  EXPECT_TRUE(gone);
}

TEST_F(RemoteReattachTest, A_runner_that_does_not_answer_at_all_is_asked_to_kill_after_ten_seconds) {
  begin_kept([&] { return FakeAnswer().wait(600'000); });
  bool gone = false;
  work_->stop([&] { gone = true; });
  loop_.advance(Millis{9'999});
  EXPECT_EQ(count_requests("DELETE"), 0u);
  EXPECT_EQ(client_.calls_in_flight(), 1u);
  for (int i = 0; i < 2; ++i) client_.answer(FakeAnswer::whole(404, ""));  // its health is asked for at the same time
  loop_.advance(Millis{1});
  EXPECT_EQ(count_requests("DELETE"), 1u);
  EXPECT_TRUE(gone);
  EXPECT_EQ(client_.calls_in_flight(), 0u) << "the post is given up";
  loop_.advance(Millis{60'000});
  EXPECT_EQ(count_requests("DELETE"), 1u);
}

TEST_F(RemoteReattachTest, What_the_runner_may_not_have_begun_is_killed_when_it_has_answered) {
  begin_kept([&] { return FakeAnswer().wait(300).head(200, {{"Sluice-Dispatch", name_}}); });
  bool gone = false;
  work_->stop([&] { gone = true; });
  loop_.settle();
  EXPECT_EQ(count_requests("DELETE"), 0u);
  client_.answer(FakeAnswer::whole(204, ""));
  loop_.advance(Millis{300});
  EXPECT_EQ(count_requests("DELETE"), 1u);
  EXPECT_TRUE(gone);
}

TEST_F(RemoteReattachTest, One_that_another_server_hears_is_not_fought_over) {
  begin_kept([&] { return stream().piece(whole_account).cut_after(100); });
  client_.answer(FakeAnswer::whole(409, "{}"));
  loop_.advance(Millis{100});
  EXPECT_EQ(failed_with(), Slug::runner_lost);
  EXPECT_NE(received_.problem->detail.find("Another server"), std::string::npos);
}

}  // namespace reattach_test
}  // namespace sluice::remote
