#include "base/task.h"

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sluice {
namespace task_test {

using Ask = Callback<void(int)>;

// What a test can ask: it keeps each question until the test answers it, and hands out handles that count themselves.
struct Oracle {
  struct Handle {
    explicit Handle(int& count) : handles(&count) { ++count; }
    Handle(Handle&& other) noexcept : handles(std::exchange(other.handles, nullptr)) {}
    Handle& operator=(Handle&&) = delete;
    ~Handle() {
      if (handles != nullptr) --*handles;
    }
    int* handles;
  };

  Handle ask(Ask done) {
    questions.push_back(std::move(done));
    return Handle(handles);
  }
  void answer(int value) {
    auto done = std::move(questions.front());
    questions.pop_front();
    done(value);
  }

  std::deque<Ask> questions;
  int handles = 0;
};

auto ask(Oracle& oracle) {
  return answer<int>([&oracle](auto done) { return oracle.ask(std::move(done)); });
}

auto ask_only(Oracle& oracle) {
  return answer<int>([&oracle](auto done) { oracle.questions.push_back(std::move(done)); });
}

auto ask_at_once(int value) {
  return answer<int>([value](auto done) { done(value); });
}

// Says when the frame that it stands in is destroyed.
struct Local {
  explicit Local(std::vector<std::string>& story) : events(story) {}
  Local(const Local&) = delete;
  ~Local() { events.emplace_back("frame destroyed"); }
  std::vector<std::string>& events;
};

Task<int> sum_of_two(Oracle& oracle, std::vector<std::string>& events) {
  const Local local(events);
  const int first = co_await ask(oracle);
  events.push_back("got " + std::to_string(first));
  const int second = co_await ask(oracle);
  co_return first + second;
}

struct Sums {
  Oracle oracle;
  std::vector<std::string> events;
  std::optional<int> sum;
  Sequence sequence;

  void start() {
    sequence.start(sum_of_two(oracle, events), [this](int value) { sum = value; });
  }
};

Task<int> without_a_wait() { co_return 7; }

TEST(Sequence, a_task_without_a_wait_ends_before_start_returns) {
  Sequence sequence;
  std::optional<int> ended;
  sequence.start(without_a_wait(), [&](int value) { ended = value; });
  EXPECT_EQ(ended, 7);
  sequence.drop();
}

TEST(Sequence, a_task_resumes_at_each_answer_and_gives_its_value_at_its_end) {
  Sums sums;
  sums.start();
  EXPECT_EQ(sums.oracle.questions.size(), 1U);
  sums.oracle.answer(1);
  EXPECT_EQ(sums.events, std::vector<std::string>{"got 1"});
  EXPECT_EQ(sums.sum, std::nullopt);
  sums.oracle.answer(2);
  EXPECT_EQ(sums.sum, 3);
  EXPECT_EQ(sums.events.back(), "frame destroyed");
}

TEST(Sequence, a_handle_is_kept_while_its_answer_is_awaited_and_dropped_afterwards) {
  Sums sums;
  sums.start();
  EXPECT_EQ(sums.oracle.handles, 1);
  sums.oracle.answer(1);
  EXPECT_EQ(sums.oracle.handles, 1);  // the second question's
  sums.oracle.answer(2);
  EXPECT_EQ(sums.oracle.handles, 0);
}

TEST(Sequence, dropping_it_destroys_its_frames_and_handles_and_ignores_the_answer_that_comes_later) {
  Sums sums;
  sums.start();
  sums.sequence.drop();
  EXPECT_EQ(sums.oracle.handles, 0);
  EXPECT_EQ(sums.events, std::vector<std::string>{"frame destroyed"});
  sums.oracle.answer(1);
  EXPECT_EQ(sums.events.size(), 1U);
  EXPECT_EQ(sums.sum, std::nullopt);
}

TEST(Sequence, destroying_its_owner_cancels_it_and_a_late_answer_finds_nothing) {
  Oracle oracle;
  std::vector<std::string> events;
  {
    Sequence sequence;
    sequence.start(sum_of_two(oracle, events), [&](int) { events.emplace_back("done"); });
  }
  EXPECT_EQ(oracle.handles, 0);
  oracle.answer(1);
  EXPECT_EQ(events, std::vector<std::string>{"frame destroyed"});
}

TEST(Sequence, a_task_that_was_never_started_destroys_what_it_captured) {
  Oracle oracle;
  std::vector<std::string> events;
  {
    const auto task = sum_of_two(oracle, events);
  }
  EXPECT_EQ(oracle.questions.size(), 0U);
  EXPECT_EQ(events.size(), 0U);
}

TEST(Sequence, starting_it_again_cancels_what_it_ran) {
  Sums sums;
  sums.start();
  sums.start();
  EXPECT_EQ(sums.oracle.handles, 1);
  sums.oracle.answer(100);  // the question of the cancelled one
  sums.oracle.answer(1);
  sums.oracle.answer(2);
  EXPECT_EQ(sums.sum, 3);
}

Task<int> sum_of_many(int count) {
  int sum = 0;
  for (int i = 0; i < count; ++i) sum += co_await ask_at_once(1);
  co_return sum;
}

TEST(Sequence, an_answer_that_comes_during_the_question_resumes_without_growing_the_stack) {
  Sequence sequence;
  std::optional<int> sum;
  sequence.start(sum_of_many(200'000), [&](int value) { sum = value; });
  EXPECT_EQ(sum, 200'000);
}

TEST(Sequence, the_first_answer_counts_and_further_ones_are_ignored) {
  Oracle oracle;
  std::vector<std::string> events;
  std::optional<int> sum;
  Sequence sequence;
  sequence.start(sum_of_two(oracle, events), [&](int value) { sum = value; });
  auto done = std::move(oracle.questions.front());
  oracle.questions.pop_front();
  done(1);
  done(50);  // the task waits for its second question now
  EXPECT_EQ(sum, std::nullopt);
  oracle.answer(2);
  EXPECT_EQ(sum, 3);
  done(60);
}

Task<int> answered_twice_at_once() {
  co_return co_await answer<int>([](auto done) {
    done(1);
    done(2);
  });
}

TEST(Sequence, the_first_of_two_answers_during_the_question_counts) {
  Sequence sequence;
  std::optional<int> value;
  sequence.start(answered_twice_at_once(), [&](int given) { value = given; });
  EXPECT_EQ(value, 1);
}

TEST(Sequence, a_question_that_is_dropped_without_an_answer_waits_until_the_sequence_is_dropped) {
  Sums sums;
  sums.start();
  sums.oracle.questions.clear();
  EXPECT_EQ(sums.oracle.handles, 1);
  sums.sequence.drop();
  EXPECT_EQ(sums.oracle.handles, 0);
  EXPECT_EQ(sums.sum, std::nullopt);
}

TEST(Sequence, two_sequences_get_their_own_answers_in_any_order) {
  Oracle oracle;
  std::vector<std::string> events;
  std::vector<int> sums;
  Sequence first, second;
  first.start(sum_of_two(oracle, events), [&](int sum) { sums.push_back(sum); });
  second.start(sum_of_two(oracle, events), [&](int sum) { sums.push_back(sum); });
  std::swap(oracle.questions[0], oracle.questions[1]);
  oracle.answer(10);  // second
  oracle.answer(1);   // first
  std::swap(oracle.questions[0], oracle.questions[1]);
  oracle.answer(2);  // first
  oracle.answer(20);
  EXPECT_EQ(sums, (std::vector<int>{3, 30}));
}

// ── nested tasks ──

Task<std::unique_ptr<int>> boxed_sum(Oracle& oracle, std::vector<std::string>& events) {
  const Local local(events);
  co_return std::make_unique<int>(co_await sum_of_two(oracle, events));
}

Task<> nested(Oracle& oracle, std::vector<std::string>& events) {
  const Local local(events);
  auto sum = co_await boxed_sum(oracle, events);
  co_await ask(oracle);
  events.push_back("sum " + std::to_string(*sum));
}

TEST(Task, a_nested_task_gives_its_value_even_if_it_cannot_be_copied) {
  Oracle oracle;
  std::vector<std::string> events;
  Sequence sequence;
  sequence.start(nested(oracle, events), [&](Unit) { events.emplace_back("done"); });
  for (const int value : {1, 2, 0}) oracle.answer(value);
  EXPECT_EQ(events, (std::vector<std::string>{"got 1", "frame destroyed", "frame destroyed", "sum 3", "frame destroyed",
                                              "done"}));
}

TEST(Task, dropping_the_sequence_destroys_the_frames_of_all_nested_tasks) {
  Oracle oracle;
  std::vector<std::string> events;
  Sequence sequence;
  sequence.start(nested(oracle, events));
  oracle.answer(1);
  sequence.drop();
  EXPECT_EQ(oracle.handles, 0);
  EXPECT_EQ(events, (std::vector<std::string>{"got 1", "frame destroyed", "frame destroyed", "frame destroyed"}));
}

Task<int> depth(int levels) {
  if (levels == 0) co_return co_await ask_at_once(0);
  co_return 1 + co_await depth(levels - 1);
}

TEST(Task, tasks_nest_to_any_depth) {
  Sequence sequence;
  int found = 0;
  sequence.start(depth(50), [&](int levels) { found = levels; });
  EXPECT_EQ(found, 50);
}

Task<Result<int>> half(int number) {
  if (number % 2 != 0) co_return Error{ErrorKind::invalid, "odd"};
  co_return number / 2;
}

Task<Result<int>> quarter(int number) {
  auto once = co_await half(number);
  if (!once) co_return once.error();
  co_return co_await half(once.value());
}

TEST(Task, a_result_or_an_error_is_passed_up) {
  Sequence sequence;
  std::vector<std::string> ends;
  for (const int number : {8, 6, 5}) {
    sequence.start(quarter(number),
                   [&](Result<int> end) { ends.push_back(end ? std::to_string(end.value()) : end.error().what); });
  }
  EXPECT_EQ(ends, (std::vector<std::string>{"2", "odd", "odd"}));
}

Task<std::unique_ptr<int>> move_only_answer() {
  co_return co_await answer<std::unique_ptr<int>>([](auto done) { done(std::make_unique<int>(5)); });
}

TEST(Task, an_answer_may_be_a_value_that_cannot_be_copied) {
  Sequence sequence;
  int value = 0;
  sequence.start(move_only_answer(), [&](std::unique_ptr<int> given) { value = *given; });
  EXPECT_EQ(value, 5);
}

Task<> answer_without_a_value(Callback<void()>& kept) {
  co_await answer<Unit>([&](auto done) { kept = std::move(done); });
}

TEST(Task, an_answer_may_have_no_value) {
  Sequence sequence;
  Callback<void()> kept;
  bool is_over = false;
  sequence.start(answer_without_a_value(kept), [&](Unit) { is_over = true; });
  EXPECT_FALSE(is_over);
  kept();
  EXPECT_TRUE(is_over);
}

// ── the end calls back ──

TEST(Sequence, its_end_may_start_it_again_or_destroy_it) {
  Oracle oracle;
  std::vector<std::string> events;
  auto sequence = std::make_unique<Sequence>();
  sequence->start(sum_of_two(oracle, events), [&](int) {
    sequence->start(sum_of_two(oracle, events), [&](int sum) {
      sequence.reset();
      events.push_back("sum " + std::to_string(sum));
    });
  });
  for (const int value : {1, 2, 3, 4}) oracle.answer(value);
  EXPECT_EQ(sequence, nullptr);
  EXPECT_EQ(events.back(), "sum 7");
}

// ── outside() ──

Task<int> report(Oracle& oracle, std::vector<std::string>& events, Callback<void()> listener) {
  const Local local(events);
  co_await outside(std::move(listener));
  events.emplace_back("reported");
  co_return co_await ask(oracle);
}

TEST(Outside, the_sequence_continues_after_a_call_that_leaves_it) {
  Oracle oracle;
  std::vector<std::string> events;
  Sequence sequence;
  sequence.start(report(oracle, events, [&] { events.emplace_back("called"); }));
  EXPECT_EQ(events, (std::vector<std::string>{"called", "reported"}));
  EXPECT_EQ(oracle.handles, 1);
}

TEST(Outside, a_call_may_drop_the_sequence) {
  Oracle oracle;
  std::vector<std::string> events;
  Sequence sequence;
  sequence.start(report(oracle, events, [&] { sequence.drop(); }), [&](int) { events.emplace_back("done"); });
  EXPECT_EQ(events, std::vector<std::string>{"frame destroyed"});
  EXPECT_EQ(oracle.questions.size(), 0U);
}

Task<> report_after_an_answer(Oracle& oracle, Callback<void()> listener) {
  co_await ask(oracle);
  co_await outside(std::move(listener));
  co_await ask(oracle);
}

TEST(Outside, a_call_may_destroy_the_owner_of_the_sequence) {
  Oracle oracle;
  auto owner = std::make_unique<Sequence>();
  owner->start(report_after_an_answer(oracle, [&] { owner.reset(); }));
  oracle.answer(1);
  EXPECT_EQ(oracle.questions.size(), 0U);
  EXPECT_EQ(oracle.handles, 0);
}

TEST(Outside, a_call_may_replace_the_sequence_by_another) {
  Oracle oracle;
  std::vector<std::string> events;
  Sequence sequence;
  std::optional<int> sum;
  sequence.start(
      report(oracle, events, [&] { sequence.start(sum_of_two(oracle, events), [&](int value) { sum = value; }); }));
  EXPECT_EQ(events, std::vector<std::string>{"frame destroyed"});
  oracle.answer(1);
  oracle.answer(2);
  EXPECT_EQ(sum, 3);
}

Task<> drop_inside(Sequence& sequence) {
  sequence.drop();
  co_return;
}

Task<> drop_inside_question(Sequence& sequence) {
  co_await answer<Unit>([&](auto) { sequence.drop(); });
}

TEST(Sequence, dropping_it_from_inside_a_step_stops_the_program) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto run = [](Task<> (*task)(Sequence&)) {
    // The task finds the sequence only after start() has taken it, thus after one wait.
    Sequence sequence;
    Callback<void()> go;
    const auto wait_and_run = [](Sequence& own, Callback<void()>& kept, Task<> (*then)(Sequence&)) -> Task<> {
      co_await answer<Unit>([&](auto done) { kept = std::move(done); });
      co_await then(own);
    };
    sequence.start(wait_and_run(sequence, go, task));
    go();
  };
  EXPECT_DEATH(run(drop_inside), "broken invariant");
  EXPECT_DEATH(run(drop_inside_question), "broken invariant");
}

// ── timers ──

// A loop with timers, reduced: the Timer that after() returns takes its callback back when it is dropped.
struct Clock {
  struct Timer {
    explicit Timer(Clock& owner, int number) : clock(&owner), id(number) {}
    Timer(Timer&& other) noexcept : clock(std::exchange(other.clock, nullptr)), id(other.id) {}
    Timer& operator=(Timer&&) = delete;
    ~Timer() {
      if (clock != nullptr) std::erase_if(clock->waiting, [this](const auto& entry) { return entry.first == id; });
    }
    Clock* clock;
    int id;
  };

  Timer after(int /*span*/, Callback<void()> then) {
    waiting.emplace_back(++last, std::move(then));
    return Timer(*this, last);
  }
  void fire() {
    auto then = std::move(waiting.front().second);
    waiting.erase(waiting.begin());
    then();
  }

  std::vector<std::pair<int, Callback<void()>>> waiting;
  int last = 0;
};

Task<int> twice(Clock& clock) {
  co_await pause(clock, 10);
  co_await pause(clock, 20);
  co_return 2;
}

TEST(Pause, a_task_continues_when_the_timer_fires) {
  Clock clock;
  Sequence sequence;
  std::optional<int> value;
  sequence.start(twice(clock), [&](int given) { value = given; });
  clock.fire();
  EXPECT_EQ(value, std::nullopt);
  clock.fire();
  EXPECT_EQ(value, 2);
  EXPECT_TRUE(clock.waiting.empty());
}

TEST(Pause, dropping_the_sequence_drops_its_timer) {
  Clock clock;
  Sequence sequence;
  sequence.start(twice(clock));
  EXPECT_EQ(clock.waiting.size(), 1U);
  sequence.drop();
  EXPECT_TRUE(clock.waiting.empty());
}

Task<> note_both(Oracle& oracle, std::vector<std::string>& events) {
  const Local local(events);
  events.push_back("got " + std::to_string(co_await ask_only(oracle)));
  events.push_back("got " + std::to_string(co_await ask_at_once(2)));
}

TEST(Unowned, a_task_without_an_owner_is_kept_by_the_answer_that_it_waits_for) {
  Oracle oracle;
  std::vector<std::string> events;
  start_unowned(note_both(oracle, events));
  EXPECT_TRUE(events.empty());
  oracle.answer(1);
  EXPECT_EQ(events, (std::vector<std::string>{"got 1", "got 2", "frame destroyed"}));
}

TEST(Unowned, a_question_that_is_dropped_without_an_answer_destroys_the_frames) {
  Oracle oracle;
  std::vector<std::string> events;
  start_unowned(note_both(oracle, events));
  oracle.questions.clear();
  EXPECT_EQ(events, std::vector<std::string>{"frame destroyed"});
}

}  // namespace task_test
}  // namespace sluice
