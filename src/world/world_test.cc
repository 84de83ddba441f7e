#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <future>
#include <map>
#include <random>
#include <set>
#include <thread>

#include "base/json.h"
#include "world/fake_world.h"
#include "world/timer_queue.h"
#include "world/worker_job.h"
#include "world/world.h"

namespace sluice::world {
namespace world_test {

// A real loop that gives up after ten seconds, so that a test which waits for nothing fails.
class ReactorTest : public testing::Test {
 protected:
  void run_until_stopped() {
    const Timer limit = reactor->after({10'000}, [this] {
      timed_out = true;
      reactor->stop();
    });
    reactor->run();
    EXPECT_FALSE(timed_out);
  }

  std::unique_ptr<Reactor> reactor = make_reactor().take();
  bool timed_out = false;
};

struct Pair {
  Pair() { SLUICE_CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds) == 0); }
  ~Pair() {
    close(fds[0]);
    close(fds[1]);
  }
  void say() const { SLUICE_CHECK(write(fds[1], "x", 1) == 1); }
  int fds[2];
};

TEST_F(ReactorTest, Timers_fire_in_the_order_they_are_due_and_not_too_soon) {
  std::string order;
  const int64_t began_us = reactor->monotonic_us();
  const Timer late = reactor->after({20}, [&] {
    order += 'c';
    EXPECT_GE(reactor->monotonic_us() - began_us, 20'000);
    reactor->stop();
  });
  const Timer early = reactor->after({5}, [&] { order += 'a'; });
  const Timer same = reactor->after({5}, [&] { order += 'b'; });
  run_until_stopped();
  EXPECT_EQ(order, "abc");
}

TEST_F(ReactorTest, A_dropped_timer_never_fires) {
  bool fired = false;
  {
    const Timer dropped = reactor->after({0}, [&] { fired = true; });
  }
  const Timer end = reactor->after({5}, [&] { reactor->stop(); });
  run_until_stopped();
  EXPECT_FALSE(fired);
}

TEST_F(ReactorTest, A_timer_may_drop_itself_and_others_while_it_fires) {
  Timer self, other;
  bool other_fired = false;
  other = reactor->after({6}, [&] { other_fired = true; });
  self = reactor->after({5}, [&] {
    self.cancel();
    other.cancel();
    self = reactor->after({5}, [&] { reactor->stop(); });
  });
  run_until_stopped();
  EXPECT_FALSE(other_fired);
}

TEST_F(ReactorTest, Deferred_work_runs_after_all_that_was_ready) {
  Pair one, two;
  one.say();
  two.say();
  std::string order;
  const auto on_ready = [&](Ready) {
    order += 'r';
    reactor->defer([&] {
      order += 'd';
      if (order.size() == 4) reactor->stop();
    });
  };
  std::unique_ptr<Watch> first, second;
  first = reactor->watch(one.fds[0], {.read = true}, [&](Ready ready) { first->want({}), on_ready(ready); });
  second = reactor->watch(two.fds[0], {.read = true}, [&](Ready ready) { second->want({}), on_ready(ready); });
  run_until_stopped();
  EXPECT_EQ(order, "rrdd");
}

TEST_F(ReactorTest, Work_deferred_by_deferred_work_runs_too) {
  reactor->defer([&] { reactor->defer([&] { reactor->stop(); }); });
  run_until_stopped();
}

TEST_F(ReactorTest, A_stop_asked_for_before_the_loop_runs_is_not_lost) {
  reactor->stop();
  reactor->run();
  reactor->defer([&] { reactor->stop(); });
  run_until_stopped();
}

TEST_F(ReactorTest, A_watch_dropped_by_another_callback_of_the_same_batch_hears_nothing) {
  Pair one, two;
  one.say();
  two.say();
  int heard = 0;
  std::unique_ptr<Watch> first, second;
  const auto drop_both = [&](Ready) {
    ++heard;
    first.reset();
    second.reset();
    reactor->defer([&] { reactor->stop(); });
  };
  first = reactor->watch(one.fds[0], {.read = true}, drop_both);
  second = reactor->watch(two.fds[0], {.read = true}, drop_both);
  run_until_stopped();
  EXPECT_EQ(heard, 1);
}

TEST_F(ReactorTest, A_watch_made_in_a_batch_does_not_hear_the_events_of_the_one_it_replaces) {
  Pair one, two, quiet;
  one.say();
  two.say();
  bool wrongly_heard = false;
  std::unique_ptr<Watch> first, second, replacement;
  const auto replace = [&](std::unique_ptr<Watch>& other) {
    return [&](Ready) {
      first->want({});
      other.reset();
      replacement = reactor->watch(quiet.fds[0], {.read = true}, [&](Ready) { wrongly_heard = true; });
      reactor->defer([&] { reactor->stop(); });
    };
  };
  first = reactor->watch(one.fds[0], {.read = true}, replace(second));
  second = reactor->watch(two.fds[0], {.read = true}, [&](Ready) { second->want({}); });
  run_until_stopped();
  EXPECT_FALSE(wrongly_heard);
}

TEST_F(ReactorTest, A_watch_without_interest_still_hears_that_the_peer_hung_up) {
  Pair pair;
  bool hung_up = false;
  std::unique_ptr<Watch> watch = reactor->watch(pair.fds[0], {}, [&](Ready ready) {
    hung_up = ready.hung_up;
    watch.reset();
    reactor->stop();
  });
  shutdown(pair.fds[1], SHUT_RDWR);
  run_until_stopped();
  EXPECT_TRUE(hung_up);
}

TEST_F(ReactorTest, Posts_from_other_threads_arrive_once_each_and_in_order) {
  constexpr int thread_count = 4, post_count = 1000;
  std::vector<std::vector<int>> seen(thread_count);
  int left = thread_count * post_count;
  std::vector<std::thread> threads;
  for (int t = 0; t < thread_count; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < post_count; ++i) {
        reactor->post([&, t, i] {
          seen[static_cast<std::size_t>(t)].push_back(i);
          if (--left == 0) reactor->stop();
        });
      }
    });
  }
  run_until_stopped();
  for (auto& thread : threads) thread.join();
  for (const auto& numbers : seen) {
    EXPECT_EQ(numbers.size(), post_count);
    EXPECT_TRUE(std::is_sorted(numbers.begin(), numbers.end()));
  }
}

TEST_F(ReactorTest, What_never_ran_is_let_go_with_the_loop) {
  const auto witness = std::make_shared<int>();
  struct Nested {
    Timer timer;
    std::shared_ptr<int> held;
  };
  auto nested = std::make_unique<Nested>(Nested{reactor->after({1000}, [witness] {}), witness});
  reactor->defer([witness] {});
  reactor->post([witness, kept = std::move(nested)] {});
  reactor.reset();
  EXPECT_EQ(witness.use_count(), 1);
}

TEST(TimerQueue, Gives_the_same_order_as_a_sorted_map_whatever_is_cancelled) {
  std::mt19937 random(7);
  const LoopThread thread;
  TimerQueue queue(thread);
  std::map<std::pair<int64_t, int>, Timer> expected;
  std::vector<int> fired, wanted;
  for (int step = 0; step < 5000; ++step) {
    const int64_t due = static_cast<int64_t>(random() % 500);
    expected.emplace(std::pair(due, step), queue.add(due, [&fired, step] { fired.push_back(step); }));
    if (random() % 3 == 0) {
      expected.erase(std::next(expected.begin(), static_cast<int64_t>(random() % expected.size())));
    }
  }
  EXPECT_EQ(queue.size(), expected.size());
  for (const auto& [key, timer] : expected) wanted.push_back(key.second);
  while (auto then = queue.take_due(500)) then();
  EXPECT_EQ(fired, wanted);
  expected.clear();  // tickets of timers that fired find nothing
}

TEST(TimerQueue, A_cancelled_callback_may_own_other_timers) {
  const LoopThread thread;
  TimerQueue queue(thread);
  auto inner = std::make_unique<Timer>(queue.add(1, [] {}));
  Timer outer = queue.add(2, [kept = std::move(inner)] {});
  outer.cancel();
  EXPECT_EQ(queue.size(), 0u);
}

using LoopThreadDeathTest = ReactorTest;

TEST_F(LoopThreadDeathTest, A_timer_that_another_thread_sets_on_a_running_loop_stops_the_program) {
  reactor->post([this] {
    std::thread([this] {
      EXPECT_DEATH((void)reactor->after({1}, [] {}), "broken invariant");
      EXPECT_DEATH(reactor->defer([] {}), "broken invariant");
    }).join();
    reactor->stop();
  });
  run_until_stopped();
}

TEST_F(ReactorTest, A_loop_that_does_not_run_may_be_prepared_by_any_thread) {
  Timer timer;
  std::thread([&] { timer = reactor->after({1}, [this] { reactor->stop(); }); }).join();
  run_until_stopped();
}

TEST(Entropy, Does_not_repeat_itself_across_its_buffer) {
  const auto entropy = make_system_entropy();
  std::set<std::array<uint8_t, 10>> seen;
  for (int i = 0; i < 1000; ++i) {
    std::array<uint8_t, 10> id{};
    entropy->fill(id);
    seen.insert(id);
  }
  EXPECT_EQ(seen.size(), 1000u);
  std::vector<uint8_t> large(5000);
  entropy->fill(large);
  EXPECT_NE(std::count(large.begin(), large.end(), 0), 5000);
}

std::string logged(LogFormat format, LogLevel level, std::string_view event, std::initializer_list<LogField> fields) {
  testing::internal::CaptureStderr();
  make_stderr_log(format, LogLevel::info)->write(level, event, fields);
  return testing::internal::GetCapturedStderr();
}

TEST(Log, Writes_one_json_object_a_line_whatever_the_bytes) {
  const std::string line = logged(LogFormat::json, LogLevel::warn, "request \"served\"",
                                  {{"path", "/a\n\xff"}, {"status", int64_t{200}}, {"who", "é"}});
  EXPECT_EQ(std::count(line.begin(), line.end(), '\n'), 1);
  const auto parsed = json::Document::parse(line);
  ASSERT_TRUE(parsed) << line;
  const auto root = parsed.value().root();
  EXPECT_EQ(root.find("level")->string(), "warn");
  EXPECT_EQ(root.find("event")->string(), "request \"served\"");
  EXPECT_EQ(root.find("path")->string(), "/a\n?");
  EXPECT_EQ(root.find("status")->integer(), 200);
  EXPECT_EQ(root.find("who")->string(), "é");
  EXPECT_TRUE(from_rfc3339(*root.find("at")->string()));
}

TEST(Log, A_value_cannot_forge_a_line_for_people) {
  const std::string line = logged(LogFormat::human, LogLevel::info, "request served",
                                  {{"path", "/a"}, {"agent", "x\n2026 error disk on fire"}, {"n", int64_t{-1}}});
  EXPECT_EQ(line.substr(line.find(' ')), " info  request served path=/a agent=\"x\\n2026 error disk on fire\" n=-1\n");
}

TEST(Log, A_pipe_that_nobody_reads_loses_lines_and_stops_nobody) {
  int pipe_ends[2];
  ASSERT_EQ(pipe(pipe_ends), 0);
  ASSERT_GT(fcntl(pipe_ends[1], F_SETPIPE_SZ, 4 * 4096), 0);
  const int usual = dup(STDERR_FILENO);
  dup2(pipe_ends[1], STDERR_FILENO);
  const auto log = make_stderr_log(LogFormat::human, LogLevel::info);
  for (int i = 0; i < 6; ++i) log->write(LogLevel::info, std::string(3'000, 'x'), {});
  log->write(LogLevel::info, std::string(9'000, 'y'), {});
  std::string read_back(20'000, '\0');
  read_back.resize(static_cast<std::size_t>(read(pipe_ends[0], read_back.data(), read_back.size())));
  EXPECT_EQ(std::count(read_back.begin(), read_back.end(), '\n'), 4) << "whole lines, and only what had room";
  log->write(LogLevel::info, "there is room again", {});
  dup2(usual, STDERR_FILENO);
  std::string rest(8'192, '\0');
  rest.resize(static_cast<std::size_t>(read(pipe_ends[0], rest.data(), rest.size())));
  EXPECT_NE(rest.find("warn  log lines were dropped count=3\n"), std::string::npos) << rest;
  EXPECT_NE(rest.find("info  there is room again\n"), std::string::npos) << rest;
  for (const int fd : {pipe_ends[0], pipe_ends[1], usual}) close(fd);
}

TEST(Log, Is_silent_below_its_level) {
  EXPECT_EQ(logged(LogFormat::json, LogLevel::debug, "noise", {}), "");
  EXPECT_FALSE(make_stderr_log(LogFormat::human, LogLevel::warn)->wants(LogLevel::info));
}

TEST(Metrics, Tells_each_name_once_with_its_samples_together) {
  Metrics metrics;
  metrics.counter("sluice_b_total", "What b did.", R"(code="200")").add(2);
  metrics.gauge("sluice_a", "How many a.").set(-3);
  metrics.counter("sluice_b_total", "What b did.", R"(code="500")").add();
  metrics.counter("sluice_b_total", "What b did.", R"(code="200")").add();
  EXPECT_EQ(metrics.to_text(),
            "# HELP sluice_a How many a.\n# TYPE sluice_a gauge\nsluice_a -3\n"
            "# HELP sluice_b_total What b did.\n# TYPE sluice_b_total counter\n"
            "sluice_b_total{code=\"200\"} 3\nsluice_b_total{code=\"500\"} 1\n");
}

TEST(Metrics, A_histogram_is_cumulative_and_in_seconds) {
  Metrics metrics;
  auto& seen = metrics.histogram("sluice_wait_seconds", "Waiting.", R"(kind="x")");
  for (const int64_t us : {100, 101, 2'500, 1'000'000'000}) seen.observe_us(us);
  const std::string text = metrics.to_text();
  const auto has = [&](std::string_view line) { return text.find(std::string(line) + "\n") != std::string::npos; };
  EXPECT_TRUE(has(R"(sluice_wait_seconds_bucket{kind="x",le="0.0001"} 1)")) << text;
  EXPECT_TRUE(has(R"(sluice_wait_seconds_bucket{kind="x",le="0.00025"} 2)"));
  EXPECT_TRUE(has(R"(sluice_wait_seconds_bucket{kind="x",le="0.0025"} 3)"));
  EXPECT_TRUE(has(R"(sluice_wait_seconds_bucket{kind="x",le="600"} 3)"));
  EXPECT_TRUE(has(R"(sluice_wait_seconds_bucket{kind="x",le="+Inf"} 4)"));
  EXPECT_TRUE(has(R"(sluice_wait_seconds_sum{kind="x"} 1000.002701)"));
  EXPECT_TRUE(has(R"(sluice_wait_seconds_count{kind="x"} 4)"));
}

TEST(FakeLoop, Time_passes_only_when_told_and_timer_by_timer) {
  FakeLoop loop;
  std::vector<int64_t> fired_at;
  const Timestamp start = loop.now();
  Timer again;
  const Timer first = loop.after({10}, [&] {
    fired_at.push_back(loop.now().ms - start.ms);
    again = loop.after({5}, [&] { fired_at.push_back(loop.now().ms - start.ms); });
  });
  loop.settle();
  EXPECT_TRUE(fired_at.empty());
  EXPECT_EQ(loop.next_timer_ms(), 10);
  loop.advance({100});
  EXPECT_EQ(fired_at, (std::vector<int64_t>{10, 15}));
  EXPECT_EQ(loop.now().ms - start.ms, 100);
  EXPECT_EQ(loop.next_timer_ms(), -1);
}

TEST(FakeLoop, A_jump_of_the_wall_clock_moves_no_deadline) {
  FakeLoop loop;
  bool fired = false;
  const Timer timer = loop.after({10}, [&] { fired = true; });
  loop.jump_wall_clock({3'600'000});
  loop.advance({9});
  EXPECT_FALSE(fired);
  loop.advance({1});
  EXPECT_TRUE(fired);
}

TEST(FakeLoop, Settling_runs_posts_then_deferred_work_and_forgets_dropped_timers) {
  FakeLoop loop;
  std::string order;
  loop.defer([&] { order += 'd'; });
  loop.post([&] { order += 'p'; });
  {
    const Timer dropped = loop.after({0}, [&] { order += 't'; });
  }
  EXPECT_EQ(loop.timer_count(), 0u);
  loop.settle();
  EXPECT_EQ(order, "pd");
}

TEST(Workers, Work_is_done_elsewhere_and_answered_on_the_loops_thread) {
  auto reactor = make_reactor().take();
  const auto workers = make_workers(*reactor, 2);
  const auto here = std::this_thread::get_id();
  std::thread::id worked, answered;
  workers->run([&] { worked = std::this_thread::get_id(); },
               [&] {
                 answered = std::this_thread::get_id();
                 reactor->stop();
               });
  reactor->run();
  EXPECT_NE(worked, here);
  EXPECT_NE(worked, std::thread::id());
  EXPECT_EQ(answered, here);
}

TEST(Workers, What_is_under_way_is_waited_for_and_its_answer_is_dropped) {
  FakeLoop loop;
  bool answered = false;
  std::atomic<bool> done = false;
  std::promise<void> begun;
  {
    const auto workers = make_workers(loop, 1);
    workers->run(
        [&] {
          begun.set_value();
          done = true;
        },
        [&] { answered = true; });
    begun.get_future().wait();
  }
  EXPECT_TRUE(done);
  loop.settle();
  EXPECT_FALSE(answered);
}

TEST(WorkerJob, A_result_reaches_its_caller_or_is_discarded_when_the_caller_is_gone) {
  auto reactor = make_reactor().take();
  const auto workers = make_workers(*reactor, 1);
  auto caller = std::make_shared<int>(0);
  std::string done;
  std::promise<int> discarded;
  run_job<int>(*workers, [] { return 1; }, [&](int result) { done += std::to_string(result); });
  run_job<int>(
      *workers, caller, [] { return 2; },
      [&](int result) {
        done += std::to_string(result);
        caller.reset();
      });
  run_job<int>(
      *workers, caller, [] { return 3; }, [&](int) { done += "after its caller"; },
      [&](int result) {
        discarded.set_value(result);
        reactor->post([&] { reactor->stop(); });
      });
  reactor->run();
  EXPECT_EQ(done, "12");
  EXPECT_EQ(discarded.get_future().get(), 3);
}

TEST(FakeLog, Keeps_lines_that_can_be_read) {
  FakeLog log;
  log.write(LogLevel::warn, "request served", {{"status", int64_t{200}}, {"path", "/a"}});
  EXPECT_EQ(log.lines, std::vector<std::string>{"warn request served status=200 path=/a"});
}

TEST(FakeEntropy, Counts_up) {
  FakeEntropy entropy;
  std::array<uint8_t, 2> first{}, second{};
  entropy.fill(first);
  entropy.fill(second);
  EXPECT_EQ(first, (std::array<uint8_t, 2>{0, 1}));
  EXPECT_EQ(second, (std::array<uint8_t, 2>{0, 2}));
}

}  // namespace world_test
}  // namespace sluice::world
