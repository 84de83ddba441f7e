// Work that stands still because this server may have lost its run: nothing begins, nothing is lost, no time counts.
#include "egress/fake_egress.h"
#include "runner/gate_fixture.h"
#include "runs/runs.h"

namespace sluice::runner {
namespace suspension_test {

using model::EventKind;
using model::Slug;
using net::FakeAnswer;
using sandbox::FakeResult;

class Suspension : public GateStory {
 protected:
  void suspend(bool suspended) {
    work->suspend(suspended);
    loop.settle();
  }
};

TEST_F(Suspension, A_command_at_work_stands_still_and_goes_on) {
  script = [](auto&, auto&) { return FakeResult{.hangs = true}; };
  begin("$ build\nsay Done.");
  ASSERT_EQ(commands.size(), 1U);
  suspend(true);
  EXPECT_TRUE(box().frozen);
  EXPECT_TRUE(way_out.proxy().held);
  pass(60'000);
  EXPECT_FALSE(heard.is_over());
  suspend(false);
  EXPECT_FALSE(box().frozen);
  EXPECT_FALSE(way_out.proxy().held);
  box().end(box().commands.size() - 1, {});
  loop.settle();
  EXPECT_EQ(heard.text(), "Done.");
  EXPECT_TRUE(heard.usage);
  expect_nothing_left();
}

TEST_F(Suspension, No_command_begins_before_it_resumes) {
  runner =
      make_native_runner(options, {client, loop, entropy, log, metrics, sandbox.get(), &watcher, &workers, egress});
  work = runner->dispatch(dispatch_of("$ one\n$ two\nsay Done."), heard);
  suspend(true);
  pass(30'000);
  EXPECT_TRUE(commands.empty()) << "its box was opened meanwhile, and is frozen";
  EXPECT_FALSE(heard.is_over());
  suspend(false);
  EXPECT_EQ(commands.size(), 2U);
  EXPECT_EQ(heard.text(), "Done.");
}

TEST_F(Suspension, The_time_that_it_stands_still_does_not_count_against_it) {
  agent.limits.max_runtime_seconds = 20;
  script = [](auto&, auto&) { return FakeResult{.hangs = true}; };
  begin("$ build");
  pass(15'000);
  suspend(true);
  pass(50'000);
  suspend(false);
  pass(4'900);
  EXPECT_FALSE(heard.is_over());
  pass(100);
  expect_problem(Slug::runtime_exceeded);
}

TEST_F(Suspension, No_request_to_a_model_begins_before_it_resumes) {
  use_provider();
  client.answer(FakeAnswer::whole(503, "busy"));
  client.answer(answer_of(said("At last.") + stopped(1, 1)));
  begin("Hi.");
  ASSERT_EQ(client.requests.size(), 1U);
  suspend(true);
  pass(60'000);
  EXPECT_EQ(client.requests.size(), 1U);
  suspend(false);
  pass(options.retry_first_ms * 2);
  EXPECT_EQ(client.requests.size(), 2U);
  EXPECT_EQ(heard.text(), "At last.");
  expect_nothing_left();
}

TEST_F(Suspension, A_run_that_is_stopped_meanwhile_never_acts_again) {
  script = [](auto&, auto&) { return FakeResult{.hangs = true}; };
  begin("$ one\n$ two");
  suspend(true);
  auto& frozen = box();
  bool gone = false;
  sandbox->hold_kills = true;
  work->stop([&] { gone = true; });
  loop.settle();
  EXPECT_TRUE(frozen.killed && frozen.frozen);
  EXPECT_FALSE(gone);
  sandbox->release_kills();
  loop.settle();
  EXPECT_TRUE(gone);
  EXPECT_EQ(commands.size(), 1U);
  expect_nothing_left();
}

TEST_F(Suspension, A_box_that_is_kept_for_the_conversation_runs_on_only_once_the_run_resumed) {
  keeps_box = true;
  script = [](auto&, const auto& command) { return FakeResult{.hangs = command.background, .takes_ms = 10}; };
  begin("call bash {\"command\":\"serve\",\"background\":true}\n$ make\nsay Done.");
  suspend(true);
  pass(1'000);
  EXPECT_TRUE(box().frozen);
  EXPECT_FALSE(heard.usage);
  suspend(false);
  pass(1'000);
  EXPECT_TRUE(heard.usage);
  EXPECT_FALSE(box().frozen);
}

// ── the clock and the way to others by themselves ──

TEST(RunClock, Stands_still_and_goes_on_as_if_nothing_had_been) {
  world::FakeLoop loop;
  RunClock clock(loop);
  std::string called;
  const auto a = clock.after({100}, [&] { called += "a"; });
  auto b = clock.after({150}, [&] { called += "b"; });
  loop.advance({90});
  const auto before_us = clock.monotonic_us();
  clock.stand_still(true);
  const auto c = clock.after({20}, [&] { called += "c"; });
  b.cancel();
  loop.advance({1'000});
  EXPECT_EQ(called, "");
  EXPECT_EQ(clock.monotonic_us(), before_us);
  EXPECT_EQ(loop.timer_count(), 0U);
  clock.stand_still(false);
  loop.advance({9});
  EXPECT_EQ(called, "");
  loop.advance({1});
  EXPECT_EQ(called, "a");
  loop.advance({100});
  EXPECT_EQ(called, "ac");
  EXPECT_EQ(clock.monotonic_us(), before_us + 110'000);
}

struct Deaf final : net::CallListener {
  void on_head(int, const net::Headers&) override {}
  void on_body(std::string_view) override {}
  void on_end(net::CallEnd) override { ended = true; }
  bool ended = false;
};

TEST(RunClient, Begins_what_was_asked_meanwhile_in_order_unless_it_was_dropped) {
  world::FakeLoop loop;
  net::FakeClient net(loop);
  RunClient client(net);
  Deaf silent;
  for (int i = 0; i < 3; ++i) net.answer(FakeAnswer::whole(200, "ok"));
  const auto early = client.call({.url = "http://early/"}, silent);
  client.hold(true);
  const auto first = client.call({.url = "http://first/"}, silent);
  auto dropped = client.call({.url = "http://dropped/"}, silent);
  const auto last = client.call({.url = "http://last/"}, silent);
  dropped.reset();
  loop.settle();
  EXPECT_EQ(net.requests.size(), 1U);
  EXPECT_TRUE(silent.ended) << "what had begun is heard to its end";
  client.hold(false);
  loop.settle();
  ASSERT_EQ(net.requests.size(), 3U);
  EXPECT_EQ(net.requests[1].url, "http://first/");
  EXPECT_EQ(net.requests[2].url, "http://last/");
}

}  // namespace suspension_test
}  // namespace sluice::runner
