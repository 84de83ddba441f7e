// Two sequences of the server, each as callbacks and as coroutines: do they do the same under every order, failure and
// cancellation, what do they cost while they run and while they wait?
//
//   waiting seeds [N] [FIRST]      both forms under N seeds; fails if they differ, leak or are called after their end
//   waiting threads [N]            N launches whose answers come from two other threads
//   waiting memory                 bytes for each sequence that waits
//   waiting run WHAT FORM TIMES    launch, session, park or stream; callbacks or tasks: to be timed, or counted by
//   valgrind
#include <malloc.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#include "bench/waiting/chance.h"
#include "bench/waiting/quick.h"

namespace {
std::atomic<int64_t> blocks{0}, bytes{0}, taken{0};
}  // namespace

#if !__has_feature(thread_sanitizer)  // it has its own
void* operator new(std::size_t size) {
  void* const at = std::malloc(size);
  if (at == nullptr) std::abort();
  blocks.fetch_add(1, std::memory_order_relaxed);
  taken.fetch_add(1, std::memory_order_relaxed);
  bytes.fetch_add(static_cast<int64_t>(malloc_usable_size(at)), std::memory_order_relaxed);
  return at;
}
void operator delete(void* at) noexcept {
  if (at == nullptr) return;
  blocks.fetch_sub(1, std::memory_order_relaxed);
  bytes.fetch_sub(static_cast<int64_t>(malloc_usable_size(at)), std::memory_order_relaxed);
  std::free(at);
}
void operator delete(void* at, std::size_t) noexcept { operator delete(at); }
#endif

namespace sluice::waiting {

Memory memory_now() { return {blocks.load(), bytes.load(), taken.load()}; }

namespace {

[[noreturn]] void fail(uint64_t seed, int whose, const char* why, const Story& callbacks, const Story& tasks) {
  std::fprintf(stderr, "seed %llu, number %d: %s\n", static_cast<unsigned long long>(seed), whose, why);
  for (const auto& line : callbacks.lines) std::fprintf(stderr, "  callbacks  %s\n", line.c_str());
  for (const auto& line : tasks.lines) std::fprintf(stderr, "  tasks      %s\n", line.c_str());
  std::exit(1);
}

struct Sum {
  int64_t stories = 0, cancelled = 0, dropped = 0, lines = 0;
  int64_t callback_calls_after_cancel = 0, callback_left_over = 0;
};

// What a run does once it is cancelled differs: steps go on until one looks at its state; a task stops.
void compare_launch(uint64_t seed, int whose, const Story& callbacks, const Story& tasks, Sum& sum) {
  if (tasks.calls_after_end != 0) fail(seed, whose, "a task goes on after its end", callbacks, tasks);
  if (callbacks.was_dropped && callbacks.calls_after_end != 0) fail(seed, whose, "called when gone", callbacks, tasks);
  auto seen = callbacks.lines;
  if (callbacks.was_cancelled) seen.resize(callbacks.lines_before_end);
  if (seen != tasks.lines) fail(seed, whose, "the forms differ", callbacks, tasks);
  sum.callback_calls_after_cancel += callbacks.calls_after_end;
}

void compare_session(uint64_t seed, int whose, const Story& callbacks, const Story& tasks) {
  if (callbacks.calls_after_end + tasks.calls_after_end != 0) fail(seed, whose, "called when gone", callbacks, tasks);
  if (callbacks.lines != tasks.lines) fail(seed, whose, "the forms differ", callbacks, tasks);
}

void play(uint64_t seed, Sum& sum) {
  std::size_t left = 0, none = 0;
  const auto callbacks = launch_stories(seed, false, left);
  const auto tasks = launch_stories(seed, true, none);
  sum.callback_left_over += static_cast<int64_t>(left);
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    compare_launch(seed, static_cast<int>(i), callbacks[i], tasks[i], sum);
    sum.cancelled += tasks[i].was_cancelled ? 1 : 0;
    sum.dropped += tasks[i].was_dropped ? 1 : 0;
    sum.lines += static_cast<int64_t>(tasks[i].lines.size());
  }
  const auto sessions = session_stories(seed, false);
  const auto task_sessions = session_stories(seed, true);
  for (std::size_t i = 0; i < sessions.size(); ++i) {
    compare_session(seed, static_cast<int>(i), sessions[i], task_sessions[i]);
    sum.dropped += sessions[i].was_dropped ? 1 : 0;
    sum.lines += static_cast<int64_t>(sessions[i].lines.size());
  }
  sum.stories += static_cast<int64_t>(tasks.size() + sessions.size());
}

int seeds(int count, uint64_t first) {
  Sum sum;
  for (int i = 0; i < count; ++i) {
    const auto before = memory_now();
    play(first + static_cast<uint64_t>(i), sum);
    if (memory_now().blocks != before.blocks) {
      std::fprintf(stderr, "seed %d leaks\n", i);
      return 1;
    }
  }
  std::printf("%d seeds: %lld sequences in both forms, %lld calls, %lld cancelled, %lld dropped; equal, no leak\n",
              count, static_cast<long long>(sum.stories), static_cast<long long>(sum.lines),
              static_cast<long long>(sum.cancelled), static_cast<long long>(sum.dropped));
  std::printf("callbacks: %lld calls after a run was cancelled, %lld timers kept for runs that had gone\n",
              static_cast<long long>(sum.callback_calls_after_cancel), static_cast<long long>(sum.callback_left_over));
  return 0;
}

// ── memory ──────────────────────────────────────────────────────────────────────────────────────

constexpr int waiting_count = 1'000;

template <typename Make>
double bytes_each(Make make) {
  make();  // what is made once is there
  const auto before = memory_now();
  for (int i = 0; i < waiting_count; ++i) make();
  return static_cast<double>(memory_now().bytes - before.bytes) / waiting_count;
}

void memory_of_launches(bool with_tasks) {
  for (int held = 1; held <= 5; ++held) {
    QuickLaunches launches(with_tasks);
    launches.turns.held = held;
    int number = 0;
    const auto each = bytes_each([&] { launches.launch(++number); });
    const auto before = memory_now();
    launches.forget_runs();
    const auto freed = static_cast<double>(before.bytes - memory_now().bytes) / (waiting_count + 1);
    std::printf("launch, waits for answer %d  %-9s  %6.0f bytes, %6.0f kept when the run has gone\n", held,
                with_tasks ? "tasks" : "callbacks", each, each - freed);
  }
}

void memory_of_sessions(bool with_tasks) {
  for (int held = 1; held <= 7; ++held) {
    QuickSessions sessions(with_tasks);
    sessions.turns.held = held;
    std::printf("session, waits for answer %d %-9s  %6.0f bytes\n", held, with_tasks ? "tasks" : "callbacks",
                bytes_each([&] { sessions.open(); }));
  }
}

void memory_of_waits(bool with_tasks) {
  world::FakeLoop loop;
  std::vector<std::unique_ptr<Parked>> parked;
  parked.reserve(waiting_count + 1);
  const auto each_parked = bytes_each([&] { parked.push_back(park(loop, with_tasks, [](const std::string&) {})); });
  std::vector<EventSource> sources(waiting_count + 1);
  std::vector<std::unique_ptr<Stream>> streams;
  streams.reserve(waiting_count + 1);
  std::size_t sent = 0;
  const auto each_stream = bytes_each([&] { streams.push_back(stream(sources[streams.size()], with_tasks, sent)); });
  const auto* form = with_tasks ? "tasks" : "callbacks";
  std::printf("parked run                  %-9s  %6.0f bytes\n", form, each_parked);
  std::printf("open stream                 %-9s  %6.0f bytes\n", form, each_stream);
}

int memory() {
  for (const bool with_tasks : {false, true}) {
    memory_of_launches(with_tasks);
    memory_of_sessions(with_tasks);
    memory_of_waits(with_tasks);
  }
  return 0;
}

// ── time ────────────────────────────────────────────────────────────────────────────────────────

void run_times(std::string_view what, bool with_tasks, int times) {
  if (what == "launch") {
    QuickLaunches launches(with_tasks);
    for (int i = 0; i < times; ++i) launches.launch(i);
    SLUICE_CHECK(launches.dispatched == times);
  } else if (what == "session") {
    QuickSessions sessions(with_tasks);
    for (int i = 0; i < times; ++i) sessions.open();
    SLUICE_CHECK(sessions.ready == times);
  } else if (what == "park") {
    world::FakeLoop loop;
    int over = 0;
    for (int i = 0; i < times; ++i) {
      park(loop, with_tasks, [&over](const std::string&) { ++over; })->decide(true);
    }
    SLUICE_CHECK(over == times);
  } else {
    EventSource source;
    std::size_t sent = 0;
    const auto reader = stream(source, with_tasks, sent);
    for (int i = 0; i < times; ++i) source.news("an event");
    SLUICE_CHECK(sent == static_cast<std::size_t>(times) * 8);
  }
}

int run(std::string_view what, bool with_tasks, int times) {
  const auto before = memory_now();
  const auto start = std::chrono::steady_clock::now();
  run_times(what, with_tasks, times);
  const std::chrono::duration<double, std::nano> span = std::chrono::steady_clock::now() - start;
  std::printf("%s, %s: %.0f ns and %.1f allocations each\n", std::string(what).c_str(),
              with_tasks ? "tasks" : "callbacks", span.count() / times,
              static_cast<double>(memory_now().taken - before.taken) / times);
  return 0;
}

}  // namespace

int threads(int count);

}  // namespace sluice::waiting

int main(int argc, char** argv) {
  using namespace sluice::waiting;
  const std::string what = argc > 1 ? argv[1] : "";
  const int number = argc > 2 ? std::atoi(argv[2]) : 10'000;
  if (what == "seeds") return seeds(number, argc > 3 ? static_cast<uint64_t>(std::atoll(argv[3])) : 1);
  if (what == "threads") return threads(number);
  if (what == "memory") return memory();
  if (what == "run" && argc == 5) return run(argv[2], std::strcmp(argv[3], "tasks") == 0, std::atoi(argv[4]));
  std::fprintf(stderr, "waiting seeds [N] [FIRST] | threads [N] | memory | run WHAT FORM TIMES\n");
  return 2;
}
