// How much slower `git clone` of 10,000 files is under watch, and whether all of them are told.
// Clones with and without a watch take turns, so that whatever else the machine does meets both.
// Prints a table; `--rounds N` (default 20).
#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "base/fd.h"
#include "workspace/workspace.h"
#include "world/world.h"

extern char** environ;

namespace sluice::bench {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr int file_count = 10'000;
constexpr int directory_count = 400;

[[noreturn]] void fail(const std::string& what) {
  std::fprintf(stderr, "watcher_bench: %s\n", what.c_str());
  std::exit(1);
}

double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

double cpu_ms(const rusage& used) {
  const auto ms = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_usec) / 1e3;
  };
  return ms(used.ru_utime) + ms(used.ru_stime);
}

double own_cpu_ms() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  return cpu_ms(used);
}

void make_repository(const fs::path& at) {
  std::mt19937 chance(1);
  for (int i = 0; i < file_count; ++i) {
    const int directory = i % directory_count;
    const fs::path file = at / ("module" + std::to_string(directory % 20)) / ("part" + std::to_string(directory)) /
                          ("file" + std::to_string(i) + ".txt");
    fs::create_directories(file.parent_path());
    std::string text;
    for (unsigned lines = 5 + chance() % 60; lines > 0; --lines) text += std::to_string(chance()) + " is a number\n";
    std::ofstream(file) << text;
  }
  // Packed, as real ones are; and not by git itself in the background, while it is being cloned.
  const std::string command = "cd '" + at.string() +
                              "' && git init -q . && git config gc.auto 0 && git add -A && git -c user.name=bench "
                              "-c user.email=bench@localhost commit -q -m files && git gc -q";
  if (std::system(command.c_str()) != 0) fail("cannot make a repository");
}

struct Told {
  std::set<std::string> created;
  int overflows = 0;
};

struct Clone {
  double ms = 0;
  double git_cpu_ms = 0;
  double watcher_cpu_ms = 0;
  int missed = 0;
  int overflows = 0;
};

class Bench {
 public:
  explicit Bench(const fs::path& place) : home_(place / ("watcher-bench-" + std::to_string(getpid()))) {
    make_repository(home_ / "source");
  }
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;
  ~Bench() { (void)workspace::remove_tree(home_); }

  Clone clone(bool watched) {
    const fs::path work = home_ / "work";
    fs::create_directory(work);
    const OwnedFd fd(open(work.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    Told told;
    std::unique_ptr<workspace::Watching> watching;
    if (watched) {
      watching = watcher_
                     ->watch(fd.get(), {},
                             [&](std::vector<workspace::FileNews> news) {
                               for (auto& one : news) {
                                 told.overflows += one.kind == workspace::FileNews::Kind::overflow ? 1 : 0;
                                 if (one.kind == workspace::FileNews::Kind::created)
                                   told.created.insert(std::move(one.path));
                               }
                             })
                     .take();
    }
    Clone out;
    const double cpu_before = own_cpu_ms();
    const auto began = Clock::now();
    out.git_cpu_ms = run_git(work / "clone");
    out.ms = ms_since(began);
    if (watching) watching->settle();
    out.watcher_cpu_ms = own_cpu_ms() - cpu_before;
    out.overflows = told.overflows;
    if (watched) out.missed = count_missed(work, told);
    watching.reset();
    if (!workspace::remove_tree(work)) fail("cannot clean up");
    return out;
  }

 private:
  // What it cost the processor.
  double run_git(const fs::path& into) {
    const std::string from = home_ / "source", to = into;
    std::vector<std::string> words = {"git", "clone", "-q", "--no-hardlinks", from, to};
    std::vector<char*> argv;
    for (auto& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    pid_t pid = 0;
    if (posix_spawnp(&pid, "git", nullptr, nullptr, argv.data(), environ) != 0) fail("git does not start");
    const OwnedFd ended(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
    const auto watch = reactor_->watch(ended.get(), {.read = true}, [&](world::Ready) { reactor_->stop(); });
    reactor_->run();
    int status = 0;
    rusage used{};
    if (wait4(pid, &status, 0, &used) != pid || status != 0) fail("git clone failed");
    return cpu_ms(used);
  }

  static int count_missed(const fs::path& work, const Told& told) {
    int missed = 0;
    for (auto at = fs::recursive_directory_iterator(work); at != fs::recursive_directory_iterator(); ++at) {
      if (at->path().filename() == ".git") at.disable_recursion_pending();
      if (at->is_regular_file() && !told.created.contains(at->path().lexically_relative(work))) ++missed;
    }
    return missed;
  }

  const fs::path home_;
  std::unique_ptr<world::Reactor> reactor_ = world::make_reactor().take();
  world::Metrics metrics_;
  std::unique_ptr<workspace::Watcher> watcher_ = workspace::make_watcher(*reactor_, metrics_).take();
};

void measure(const char* what, const fs::path& place, int rounds) {
  Bench bench(place);
  std::vector<double> plain, watched, plain_cpu, watched_cpu, cpu;
  int missed = 0, overflows = 0;
  bench.clone(false);  // warms the caches
  for (int round = 0; round < rounds; ++round) {
    const bool watched_first = round % 2 == 1;
    const Clone first = bench.clone(watched_first), second = bench.clone(!watched_first);
    const Clone& with = watched_first ? first : second;
    const Clone& without = watched_first ? second : first;
    plain.push_back(without.ms);
    watched.push_back(with.ms);
    plain_cpu.push_back(without.git_cpu_ms);
    watched_cpu.push_back(with.git_cpu_ms);
    cpu.push_back(with.watcher_cpu_ms);
    missed += with.missed;
    overflows += with.overflows;
  }
  const auto more = [](double with, double without) { return (with / without - 1) * 100; };
  std::printf("| %s | %.0f | %.0f | %+.1f %% | %+.1f %% | %.0f | %d | %d |\n", what, median(plain), median(watched),
              more(median(watched), median(plain)), more(median(watched_cpu), median(plain_cpu)), median(cpu), missed,
              overflows);
}

}  // namespace
}  // namespace sluice::bench

int main(int argc, char** argv) {
  int rounds = 20;
  for (int i = 1; i + 1 < argc; ++i) {
    if (std::string(argv[i]) == "--rounds") rounds = std::max(1, std::atoi(argv[i + 1]));
  }
  std::printf("git clone of 10,000 files in 400 directories; medians of %d pairs\n\n", rounds);
  std::printf(
      "| where | alone, ms | watched, ms | slower by | git's CPU | watcher's CPU, ms | files not told | overflows |\n");
  std::printf("| --- | --- | --- | --- | --- | --- | --- | --- |\n");
  sluice::bench::measure("disk", std::filesystem::temp_directory_path(), rounds);
  if (std::filesystem::exists("/dev/shm")) sluice::bench::measure("memory (tmpfs)", "/dev/shm", rounds);
  return 0;
}
