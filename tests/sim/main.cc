// The deterministic simulation: docs/simulation.md.
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string_view>
#include <thread>

#include "tests/sim/scene.h"

namespace sluice::sim {
namespace {

constexpr int hang_seconds = 10;  // of this process's own time, for one seed, which takes milliseconds
constexpr std::size_t text_max = 4'096;
constexpr int jobs_max = 64;
constexpr int trace_lines = 60;
constexpr int servers_max = 3;

struct Plan {
  uint64_t first = 1;
  uint64_t count = 1'000;
  std::optional<uint64_t> only;
  bool is_long = false;
  bool until_found = false;  // a planted bug is wanted: finding it is what success is
  bool digests = false;      // tell each story's digest
  int jobs = 0;
  int servers = servers_max;  // at most, in one story
};

// What a worker and its parent share. A worker that dies leaves the seed it died of.
struct Desk {
  uint64_t seed;
  uint64_t done;
  bool found;
  char wrong[text_max];
  char counts[text_max];
};

SceneOptions options_for(uint64_t seed, const Plan& plan, bool told) {
  SceneOptions options;
  options.seed = seed;
  options.told = told;
  options.servers_max = plan.servers;
  if (plan.is_long) options.steps_max = 300;
  return options;
}

void hang_at_most(int seconds) {
  const itimerval span{{}, {seconds, 0}};
  setitimer(ITIMER_VIRTUAL, &span, nullptr);
}

void keep(char* place, const std::string& text) {
  const auto size = std::min(text.size(), text_max - 1);
  std::memcpy(place, text.data(), size);
  place[size] = 0;
}

void work(const Plan& plan, Desk* desks, int number, int jobs) {
  auto& desk = desks[number];
  std::map<std::string, int64_t> counts;
  const auto step = static_cast<uint64_t>(jobs);
  for (uint64_t i = static_cast<uint64_t>(number); i < plan.count; i += step) {
    for (int other = 0; other < jobs; ++other) {
      if (desks[other].found) return;
    }
    desk.seed = plan.first + i;
    hang_at_most(hang_seconds);
    Scene scene(options_for(desk.seed, plan, false));
    const auto& verdict = scene.play();
    if (plan.digests)
      std::printf("seed %llu digest %016llx\n", (unsigned long long)desk.seed, (unsigned long long)verdict.digest());
    if (!verdict.wrongs.empty()) {
      keep(desk.wrong, verdict.wrongs.front());
      desk.found = true;
      return;
    }
    for (const auto& [what, n] : verdict.counts) counts[what] += n;
    ++desk.done;
  }
  std::string text;
  for (const auto& [what, n] : counts) text += what + "=" + std::to_string(n) + "\n";
  keep(desk.counts, text);
}

int tell(const Plan& plan, uint64_t seed) {
  hang_at_most(hang_seconds);
  Scene scene(options_for(seed, plan, true));
  const auto& verdict = scene.play();
  std::printf("seed %llu: %s\n", (unsigned long long)seed,
              verdict.wrongs.empty() ? "nothing is wrong" : verdict.wrongs.front().c_str());
  return verdict.wrongs.empty() ? 0 : 1;
}

// The end of the story, by a process of its own: it may die of it once more.
void show_story(const Plan& plan, uint64_t seed) {
  std::fflush(stdout);
  int ends[2];
  if (pipe(ends) != 0) return;
  if (fork() == 0) {
    dup2(ends[1], 1);
    close(ends[0]);
    _exit(tell(plan, seed));
  }
  close(ends[1]);
  std::vector<std::string> lines(1);
  char piece[4096];
  for (ssize_t size = 0; (size = ::read(ends[0], piece, sizeof piece)) > 0;) {
    for (ssize_t i = 0; i < size; ++i) {
      if (piece[i] == '\n')
        lines.emplace_back();
      else
        lines.back() += piece[i];
    }
  }
  close(ends[0]);
  ::wait(nullptr);
  const auto from = lines.size() > trace_lines ? lines.size() - trace_lines : 0;
  for (auto i = from; i < lines.size(); ++i) std::printf("%s\n", lines[i].c_str());
}

struct Outcome {
  uint64_t done = 0;
  std::optional<uint64_t> seed;  // the one that failed
  std::string wrong;
  std::map<std::string, int64_t> counts;
};

void gather(Desk& desk, int status, Outcome& outcome) {
  outcome.done += desk.done;
  if (!desk.found && !WIFEXITED(status)) {
    desk.found = true;
    const bool hung = WTERMSIG(status) == SIGVTALRM;
    keep(desk.wrong, hung ? "it does not come to an end" : "the server fell over a broken invariant of its own");
  }
  if (desk.found && (!outcome.seed || desk.seed < *outcome.seed)) {
    outcome.seed = desk.seed;
    outcome.wrong = desk.wrong;
  }
  std::string_view text = desk.counts;
  while (!text.empty()) {
    const auto line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const auto equals = line.rfind('=');
    if (equals == std::string_view::npos) continue;
    int64_t n = 0;
    std::from_chars(line.data() + equals + 1, line.data() + line.size(), n);
    outcome.counts[std::string(line.substr(0, equals))] += n;
  }
}

Outcome run_all(const Plan& plan) {
  const int jobs =
      std::min<int>(jobs_max, plan.jobs > 0 ? plan.jobs : static_cast<int>(std::thread::hardware_concurrency()));
  auto* desks = static_cast<Desk*>(
      mmap(nullptr, sizeof(Desk) * jobs_max, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  std::vector<pid_t> workers;
  for (int number = 0; number < jobs; ++number) {
    const auto pid = fork();
    if (pid == 0) {
      work(plan, desks, number, jobs);
      std::fflush(stdout);
      _exit(0);
    }
    workers.push_back(pid);
  }
  Outcome outcome;
  for (int number = 0; number < jobs; ++number) {
    int status = 0;
    waitpid(workers[static_cast<std::size_t>(number)], &status, 0);
    gather(desks[number], status, outcome);
  }
  munmap(desks, sizeof(Desk) * jobs_max);
  return outcome;
}

int judge(const Plan& plan) {
  const auto outcome = run_all(plan);
  if (plan.until_found) {
    if (!outcome.seed) {
      std::printf("not found in %llu seeds\n", (unsigned long long)plan.count);
      return 1;
    }
    std::printf("found by seed %llu: %s\n", (unsigned long long)*outcome.seed, outcome.wrong.c_str());
    return 0;
  }
  if (outcome.seed) {
    show_story(plan, *outcome.seed);
    const auto servers = plan.servers == servers_max ? "" : " --servers " + std::to_string(plan.servers);
    std::printf("\nseed %llu is WRONG: %s\nrun it again with: ./dev sim --seed %llu%s%s\n",
                (unsigned long long)*outcome.seed, outcome.wrong.c_str(), (unsigned long long)*outcome.seed,
                servers.c_str(), plan.is_long ? " --long" : "");
    return 1;
  }
  for (const auto& [what, n] : outcome.counts) std::printf("%-32s %lld\n", what.c_str(), (long long)n);
  std::printf("%llu seeds, 0 violations\n", (unsigned long long)outcome.done);
  return 0;
}

bool number_after(std::string_view text, uint64_t& number) {
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  return failed == std::errc() && end == text.data() + text.size();
}

bool parse(int argc, char** argv, Plan& plan) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    uint64_t number = 0;
    if (word == "--long")
      plan.is_long = true;
    else if (word == "--until-found")
      plan.until_found = true;
    else if (word == "--digests")
      plan.digests = true;
    else if (i + 1 == argc || !number_after(argv[++i], number))
      return false;
    else if (word == "--seeds")
      plan.count = number;
    else if (word == "--seed")
      plan.only = number;
    else if (word == "--from")
      plan.first = number;
    else if (word == "--servers" && number > 0)
      plan.servers = static_cast<int>(number);
    else if (word == "--jobs")
      plan.jobs = static_cast<int>(number);
    else
      return false;
  }
  return true;
}

}  // namespace
}  // namespace sluice::sim

int main(int argc, char** argv) {
  sluice::sim::Plan plan;
  if (!sluice::sim::parse(argc, argv, plan)) {
    std::fprintf(stderr,
                 "usage: sim [--seeds N] [--from FIRST] [--long] [--servers N] [--jobs N] [--until-found] [--digests]\n"
                 "       sim --seed S [--long] [--servers N]\n");
    return 2;
  }
  return plan.only ? sluice::sim::tell(plan, *plan.only) : sluice::sim::judge(plan);
}
