// S-9, S-10: a caller that asked for it may lose its connection and come back without losing or repeating a line.
#include "station/station_fixture.h"

namespace sluice::station {
namespace reattach_test {

class ReattachTest : public StationTest {
 protected:
  static net::Headers keep(std::string reader = "a") {
    return {{"Sluice-Reattach", "60"}, {"Sluice-Dispatch", "exe_1"}, {"Sluice-Reader", std::move(reader)}};
  }
  std::shared_ptr<api::FakeExchange> begin() { return at_work("profile=extended", R"({"agent":{}})", keep()); }
  std::shared_ptr<api::FakeExchange> reattach(int64_t after, std::string reader = "a") {
    return ask("GET", "/stream/exe_1", "after=" + std::to_string(after), {{"Sluice-Reader", std::move(reader)}});
  }
  int acknowledge(int64_t line) {
    return ask("POST", "/stream/exe_1/ack", "", {}, R"({"line":)" + std::to_string(line) + "}")->status;
  }
  void finish() {
    agents_.listener->on_finished({});
    loop_.advance(Millis{0});
  }
  bool shows(std::string_view figure) { return metrics_.to_text().find(figure) != std::string::npos; }
};

TEST_F(ReattachTest, A_dispatch_has_the_name_that_its_caller_chose_or_one_of_its_own) {
  EXPECT_EQ(begin()->header("Sluice-Dispatch"), "exe_1");
  EXPECT_EQ(post(body(), "", keep())->status, 409);
  EXPECT_TRUE(at_work()->header("Sluice-Dispatch").starts_with("exe_"));
}

TEST_F(ReattachTest, What_the_headers_say_must_be_understood) {
  for (const auto* seconds : {"", "0", "-1", "3601", "1.5", "soon"}) {
    EXPECT_EQ(post(body(), "", {{"Sluice-Reattach", seconds}})->status, 422) << seconds;
  }
  EXPECT_EQ(post(body(), "", {{"Sluice-Dispatch", "a/b"}})->status, 422);
  EXPECT_EQ(post(body(), "", {{"Sluice-Reader", "a b"}})->status, 422);
  EXPECT_TRUE(client_.requests.empty());
}

TEST_F(ReattachTest, Who_comes_back_at_any_line_has_every_line_once_S_9) {
  const auto first = begin();
  agents_.say("one ");
  agents_.say("two ");
  loop_.settle();
  first->hang_up();
  agents_.say("three");
  loop_.settle();
  EXPECT_EQ(agents_.stopped, 0);
  const auto sent = lines(*first);
  for (std::size_t read = 0; read <= sent.size(); ++read) {
    const auto next = reattach(static_cast<int64_t>(read));
    EXPECT_EQ(next->status, 200);
    const auto more = lines(*next);
    ASSERT_EQ(more.size(), sent.size() + 1 - read);
    for (std::size_t i = read; i < sent.size(); ++i) EXPECT_EQ(more[i - read], sent[i]);
    EXPECT_EQ(member(more.back(), "text"), "\"three\"");
    next->hang_up();
  }
  const auto last = reattach(static_cast<int64_t>(sent.size()) + 1);
  EXPECT_EQ(last->body, "");
  finish();
  EXPECT_EQ(member(last_line(*last), "message"), "\"one two three\"");
  EXPECT_TRUE(last->finished);
}

TEST_F(ReattachTest, A_caller_that_does_not_return_in_time_has_its_box_killed_S_10) {
  const auto first = begin();
  first->hang_up();
  loop_.advance(Millis{59'999});
  EXPECT_EQ(agents_.stopped, 0);
  loop_.advance(Millis{1});
  EXPECT_EQ(agents_.stopped, 1);
  EXPECT_EQ(agents_.dropped, 1);
  EXPECT_EQ(reattach(0)->status, 404);
  EXPECT_TRUE(shows("outcome=\"caller did not return\"} 1"));
  EXPECT_EQ(client_.requests.size(), 2u) << "nothing was written back";
}

TEST_F(ReattachTest, The_time_counts_from_when_the_last_reader_left) {
  begin()->hang_up();
  loop_.advance(Millis{50'000});
  const auto second = reattach(0);
  loop_.advance(Millis{100'000});
  second->hang_up();
  loop_.advance(Millis{59'999});
  EXPECT_EQ(agents_.stopped, 0);
  loop_.advance(Millis{1});
  EXPECT_EQ(agents_.stopped, 1);
}

TEST_F(ReattachTest, Of_two_readers_the_later_one_wins_and_the_earlier_cannot_win_it_back) {
  const auto first = begin();
  const auto second = reattach(0, "b");
  EXPECT_TRUE(first->aborted);
  EXPECT_EQ(second->status, 200);
  first->hang_up();
  EXPECT_EQ(reattach(0, "a")->status, 409);
  EXPECT_EQ(ask("DELETE", "/stream/exe_1", "", {{"Sluice-Reader", "a"}})->status, 409);
  agents_.say("for b");
  loop_.advance(Millis{120'000});
  EXPECT_EQ(agents_.stopped, 0);
  EXPECT_NE(second->body.find("for b"), std::string::npos);
  EXPECT_EQ(first->body.find("for b"), std::string::npos);
  EXPECT_EQ(reattach(0, "b")->status, 200);
}

TEST_F(ReattachTest, What_is_acknowledged_is_let_go) {
  const auto first = begin();
  const auto sent = static_cast<int64_t>(lines(*first).size());
  EXPECT_EQ(acknowledge(sent + 1), 422) << "it was not sent yet";
  EXPECT_EQ(acknowledge(2), 204);
  EXPECT_EQ(reattach(1)->status, 404);
  EXPECT_EQ(reattach(2)->status, 200);
  EXPECT_EQ(acknowledge(1), 204) << "late, and no harm";
  EXPECT_EQ(ask("POST", "/stream/exe_1/ack", "", {}, "{}")->status, 422);
  EXPECT_EQ(ask("POST", "/stream/exe_2/ack", "", {}, R"({"line":1})")->status, 404);
  EXPECT_EQ(ask("GET", "/stream/exe_1", "after=x")->status, 422);
}

TEST_F(ReattachTest, A_careful_caller_has_acknowledged_what_is_done_before_it_is_done) {
  auto careful = keep();
  careful.add("Sluice-Careful", "1");
  const auto first = at_work("profile=extended", R"({"agent":{}})", std::move(careful));
  EXPECT_EQ(first->header("Sluice-Careful"), "1");
  agents_.step(R"({"id":"s","name":"bash","status":"running"})");
  bool seen = false;
  agents_.dispatched.at(0).witness->see([&] { seen = true; });
  loop_.settle();
  const auto sent = static_cast<int64_t>(lines(*first).size());
  EXPECT_EQ(member(last_line(*first), "type"), "\"step\"") << "sent before it is waited for";
  EXPECT_EQ(acknowledge(sent - 1), 204);
  EXPECT_FALSE(seen);
  first->hang_up();
  EXPECT_EQ(reattach(sent)->header("Sluice-Careful"), "1");
  EXPECT_FALSE(seen);
  EXPECT_EQ(acknowledge(sent), 204);
  EXPECT_TRUE(seen);
  seen = false;
  agents_.dispatched.at(0).witness->see([&] { seen = true; });
  loop_.settle();
  EXPECT_TRUE(seen) << "nothing was sent since";
}

TEST_F(ReattachTest, Who_does_not_ask_for_it_is_not_waited_for) {
  EXPECT_EQ(begin()->header("Sluice-Careful"), "");
  EXPECT_EQ(agents_.dispatched.at(0).witness, nullptr);
  at_work("", R"({"agent":{}})", {{"Sluice-Careful", "1"}});
  EXPECT_EQ(agents_.dispatched.at(1).witness, nullptr) << "who cannot come back cannot have it done elsewhere";
}

TEST_F(ReattachTest, One_that_ended_is_kept_until_its_last_line_is_acknowledged) {
  const auto first = begin();
  first->hang_up();
  finish();
  EXPECT_TRUE(shows("sluice_dispatches_live 0")) << "it needs no slot";
  const auto second = reattach(0);
  EXPECT_TRUE(second->finished);
  EXPECT_EQ(member(last_line(*second), "type"), "\"result\"");
  const auto sent = static_cast<int64_t>(lines(*second).size());
  EXPECT_EQ(acknowledge(sent - 1), 204);
  EXPECT_EQ(reattach(sent - 1)->body, last_line(*second) + "\n");
  EXPECT_EQ(acknowledge(sent), 204);
  EXPECT_EQ(reattach(sent)->status, 404);
}

TEST_F(ReattachTest, Or_for_the_time_that_was_asked_for) {
  begin();
  finish();
  loop_.advance(Millis{59'999});
  EXPECT_EQ(reattach(0)->status, 200);
  loop_.advance(Millis{60'000});
  EXPECT_EQ(reattach(0)->status, 404);
  EXPECT_EQ(loop_.timer_count(), 0u);
}

TEST_F(ReattachTest, Killing_is_answered_when_nothing_is_left) {
  const auto first = begin();
  agents_.stopping_ms = 50;
  const auto kill = ask("DELETE", "/stream/exe_1", "", {{"Sluice-Reader", "a"}});
  EXPECT_EQ(kill->status, 0);
  EXPECT_EQ(agents_.stopped, 1);
  loop_.advance(Millis{50});
  EXPECT_EQ(kill->status, 204);
  EXPECT_TRUE(first->aborted);
  EXPECT_EQ(ask("DELETE", "/stream/exe_1")->status, 404);
  EXPECT_TRUE(shows("outcome=\"killed\"} 1"));
}

TEST_F(ReattachTest, Killing_what_is_ending_or_has_ended_waits_for_no_acknowledgement) {
  begin();
  agents_.stopping_ms = 50;
  agents_.listener->on_finished({});
  loop_.settle();
  const auto ending = ask("DELETE", "/stream/exe_1");
  EXPECT_EQ(ending->status, 0);
  loop_.advance(Millis{50});
  EXPECT_EQ(ending->status, 204);
  EXPECT_EQ(reattach(0)->status, 404);

  agents_.stopping_ms = 0;
  begin();
  finish();
  EXPECT_EQ(ask("DELETE", "/stream/exe_1")->status, 204);
  EXPECT_EQ(reattach(0)->status, 404);
}

TEST_F(ReattachTest, When_the_spool_is_full_the_agent_waits_until_lines_are_safe) {
  options_.spool_bytes_max = 10'000;
  const auto first = begin();
  agents_.say(std::string(9'000, 'x'));
  loop_.settle();
  EXPECT_FALSE(agents_.held);
  agents_.say(std::string(1'000, 'y'));
  loop_.settle();
  EXPECT_TRUE(agents_.held);
  EXPECT_FALSE(first->aborted);
  EXPECT_EQ(acknowledge(static_cast<int64_t>(lines(*first).size())), 204);
  EXPECT_FALSE(agents_.held);
}

TEST_F(ReattachTest, Without_the_header_nothing_is_kept_and_nobody_can_reattach_S_10) {
  options_.spool_bytes_max = 10'000;
  const auto first = at_work("profile=extended", R"({"agent":{}})", {{"Sluice-Dispatch", "exe_1"}});
  agents_.say(std::string(20'000, 'x'));
  loop_.settle();
  EXPECT_FALSE(agents_.held);
  for (int64_t after = 0; after <= 5; ++after) EXPECT_EQ(reattach(after)->status, 404);
  first->hang_up();
  loop_.advance(Millis{0});
  EXPECT_EQ(agents_.stopped, 1);
}

TEST_F(ReattachTest, A_workspace_that_is_about_to_start_is_asked_again) {
  client_.answer(net::FakeAnswer::connection_refused());
  client_.answer(net::FakeAnswer::whole(503, "{}"));
  client_.answer(net::FakeAnswer().head(200).piece("{").fail(net::CallFailure::cut, "reset"));
  client_.answer(net::FakeAnswer::whole(200, "{}"));
  client_.answer(net::FakeAnswer::whole(200, R"({"agent":{}})"));
  post(body(), "", keep());
  loop_.advance(Millis{2'000});
  EXPECT_EQ(agents_.dispatched.size(), 1u);
  const auto other = post(body(), "", {{"Sluice-Reattach", "2"}});
  loop_.advance(Millis{3'000});
  EXPECT_EQ(member(last_line(*other), "code"), "\"bootstrap_failed\"");
}

// It is no fault, and nothing was begun: the gateway starts again.
TEST_F(ReattachTest, A_token_that_a_broken_answer_used_up_is_told_from_one_that_was_never_good) {
  client_.answer(net::FakeAnswer().fail(net::CallFailure::cut, "reset"));
  client_.answer(net::FakeAnswer::whole(401, R"({"detail":"This token is used."})"));
  const auto exchange = post(body(), "", keep());
  loop_.advance(Millis{1'000});
  EXPECT_EQ(member(last_line(*exchange), "code"), "\"unavailable\"");
  EXPECT_NE(last_line(*exchange).find("broke off"), std::string::npos) << last_line(*exchange);

  client_.answer(net::FakeAnswer::connection_refused());
  client_.answer(net::FakeAnswer::whole(401, R"({"detail":"This token is used."})"));
  const auto other = post(body(), "", {{"Sluice-Reattach", "60"}});
  loop_.advance(Millis{1'000});
  EXPECT_EQ(member(last_line(*other), "code"), "\"token_invalid\"");
}

TEST_F(ReattachTest, Draining_waits_until_lines_are_safe_and_lets_callers_reattach) {
  begin()->hang_up();
  bool drained = false;
  station().drain(Millis{30'000}, [&] { drained = true; });
  finish();
  EXPECT_FALSE(drained);
  const auto back = reattach(0);
  EXPECT_EQ(member(last_line(*back), "type"), "\"result\"");
  acknowledge(static_cast<int64_t>(lines(*back).size()));
  EXPECT_TRUE(drained);
}

TEST_F(ReattachTest, At_the_deadline_of_a_drain_nobody_is_waited_for) {
  begin()->hang_up();
  bool drained = false;
  station().drain(Millis{30'000}, [&] { drained = true; });
  loop_.advance(Millis{30'000});
  EXPECT_EQ(agents_.stopped, 1);
  EXPECT_TRUE(drained);
}

TEST_F(ReattachTest, Health_says_how_much_more_it_can_take) {
  options_.concurrent_max = 3;
  options_.runner_key_sha256 = sha256("key");
  EXPECT_EQ(ask("GET", "/healthz")->body, R"({"status":"ok","slots":3,"free":3})");
  at_work("", R"({"agent":{}})", {{"Authorization", "Bearer key"}});
  EXPECT_EQ(ask("GET", "/sandbox/healthz")->body, R"({"status":"ok","slots":3,"free":2})");
  EXPECT_EQ(ask("POST", "/drain")->status, 401);
  EXPECT_EQ(ask("GET", "/drain")->status, 405);
  const auto drained = ask("POST", "/drain", "", {{"Authorization", "Bearer key"}});
  EXPECT_EQ(drained->status, 202);
  EXPECT_EQ(drained->body, R"({"status":"draining","slots":3,"free":0})");
  EXPECT_EQ(post(body(), "", {{"Authorization", "Bearer key"}})->status, 503);
  EXPECT_EQ(ask("GET", "/stream/exe_1")->status, 401);
  EXPECT_EQ(ask("PUT", "/stream/exe_1")->header("Allow"), "GET, DELETE");
}

TEST_F(ReattachTest, Other_paths_are_not_paths_of_a_station) {
  for (const auto* path : {"/", "/streams", "/stream/", "/stream/a/b", "/stream/a/ack/b", "/stream/a%2fb"}) {
    EXPECT_FALSE(is_station_path(path, Mount::root)) << path;
    EXPECT_FALSE(is_station_path("/sandbox" + std::string(path), Mount::below_sandbox)) << path;
    EXPECT_EQ(ask("GET", path)->status, 404) << path;
  }
  for (const auto* path : {"/stream", "/stream/exe_1", "/stream/exe_1/ack", "/drain", "/healthz"}) {
    EXPECT_TRUE(is_station_path(path, Mount::root)) << path;
    EXPECT_FALSE(is_station_path(path, Mount::below_sandbox)) << path;
    EXPECT_FALSE(is_station_path("/sandbox" + std::string(path), Mount::root)) << path;
    EXPECT_TRUE(is_station_path("/sandbox" + std::string(path), Mount::below_sandbox)) << path;
  }
  EXPECT_EQ(body_bytes_max_of("POST", "/sandbox/stream"), 0u) << "as usual";
  EXPECT_EQ(body_bytes_max_of("GET", "/sandbox/healthz"), limits::open_body_bytes_max) << "no key is asked for";
}

}  // namespace reattach_test
}  // namespace sluice::station
