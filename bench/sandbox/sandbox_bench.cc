// How long a box takes to say its first word, beside the same command without a box, in bubblewrap
// and under OCI runtimes. All ways take turns in one run, so that whatever else the machine does
// meets all of them. Prints a table; `--rounds N` (default 100).
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "bench/sandbox/oci_peer.h"
#include "bench/sandbox/spawned.h"
#include "sandbox/sandbox.h"
#include "world/world.h"

namespace sluice::bench {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const std::string& what) {
  std::fprintf(stderr, "sandbox_bench: %s\n", what.c_str());
  std::exit(1);
}

struct Samples {
  std::vector<double> ms;
  double at(double part) const {
    if (ms.empty()) return 0;
    std::vector<double> sorted = ms;
    std::ranges::sort(sorted);
    return sorted[std::min(sorted.size() - 1, static_cast<size_t>(static_cast<double>(sorted.size()) * part))];
  }
  double median() const { return at(0.5); }
  double p95() const { return at(0.95); }
};

// ── without a box of ours ──

double first_byte_of(const std::vector<std::string>& words) {
  const auto start = Clock::now();
  const double took = first_byte(spawn(words), start);
  if (took < 0) fail(words[0] + " said nothing");
  return took;
}

double whole_life(const std::vector<std::string>& words) {
  const auto start = Clock::now();
  const Spawned child = spawn(words);
  char byte = 0;
  while (read(child.out, &byte, 1) > 0) continue;
  wait_for(child);
  return ms_since(start);
}

// What a box has, as far as bubblewrap can: no control groups, no system call filter.
std::vector<std::string> in_bubblewrap(const std::vector<std::string>& words) {
  std::vector<std::string> all = {
      "bwrap",   "--unshare-all", "--unshare-user",    "--uid",     "1000",    "--gid",      "1000",    "--cap-drop",
      "ALL",     "--new-session", "--die-with-parent", "--ro-bind", "/usr",    "/usr",       "--proc",  "/proc",
      "--dev",   "/dev",          "--tmpfs",           "/tmp",      "--tmpfs", "/workspace", "--tmpfs", "/home/agent",
      "--chdir", "/workspace"};
  for (const char* name : {"/bin", "/lib", "/lib64"}) {
    if (fs::is_symlink(name)) all.insert(all.end(), {"--symlink", fs::read_symlink(name).string(), name});
  }
  all.insert(all.end(), {"--remount-ro", "/"});
  all.insert(all.end(), words.begin(), words.end());
  return all;
}

// ── in boxes of ours ──

class Boxes final : public sandbox::ProcessListener {
 public:
  Boxes(const std::string& driver, int warm_target) {
    std::string pattern = fs::temp_directory_path() / "sluice-bench-XXXXXX";
    directory_ = mkdtemp(pattern.data());
    auto reactor = world::make_reactor();
    if (!reactor) fail(reactor.error().what);
    reactor_ = std::move(reactor).take();
    sandbox::SandboxOptions options;
    options.driver = driver;
    options.state_dir = directory_;
    options.warm_target = warm_target;
    auto opened = sandbox::open_sandbox(std::move(options), *reactor_, *log_, metrics_);
    if (!opened) {
      missing_ = opened.error().what;
      return;
    }
    sandbox_ = std::move(opened).take();
  }
  ~Boxes() override {
    if (sandbox_) {
      sandbox_->close([this] { reactor_->stop(); });
      reactor_->run();
      sandbox_.reset();
    }
    std::error_code left;
    fs::remove_all(directory_, left);
  }
  Boxes(const Boxes&) = delete;
  Boxes& operator=(const Boxes&) = delete;

  const std::string& missing() const { return missing_; }

  std::unique_ptr<sandbox::Box> open() {
    std::unique_ptr<sandbox::Box> got;
    sandbox_->open({.name = "bench"}, [&](Result<std::unique_ptr<sandbox::Box>> box) {
      if (!box) fail(box.error().what);
      got = std::move(box).take();
      reactor_->stop();
    });
    reactor_->run();
    return got;
  }

  void kill(sandbox::Box& box) {
    box.kill([this](const Result<Unit>&) { reactor_->stop(); });
    reactor_->run();
  }

  // Request to first byte, from nothing.
  double first_byte(bool& was_warm) {
    const auto start = Clock::now();
    const auto box = open();
    was_warm = box->was_warm();
    heard_ = false;
    const auto process = box->start({.argv = {"sh", "-c", "echo hi"}}, *this);
    while (!heard_) reactor_->run();
    const double took = ms_since(start);
    while (!ended_) reactor_->run();
    ended_ = false;
    kill(*box);
    return took;
  }

  // One command from request to end, in a box that is there.
  double round_trip(sandbox::Box& box) {
    const auto start = Clock::now();
    const auto process = box.start({.argv = {"true"}}, *this);
    while (!ended_) reactor_->run();
    ended_ = false;
    return ms_since(start);
  }

  void rest(int64_t ms) {
    const auto timer = reactor_->after(Millis{ms}, [this] { reactor_->stop(); });
    reactor_->run();
  }

  Samples all_at_once(int count);

  void on_output(sandbox::Stream, std::string_view) override {
    heard_ = true;
    reactor_->stop();
  }
  void on_exit(sandbox::Exit) override {
    ended_ = true;
    reactor_->stop();
  }

 private:
  fs::path directory_;
  std::string missing_;
  std::unique_ptr<world::Reactor> reactor_;
  std::unique_ptr<world::Log> log_ = world::make_stderr_log(world::LogFormat::human, world::LogLevel::error);
  world::Metrics metrics_;
  std::unique_ptr<sandbox::Sandbox> sandbox_;
  bool heard_ = false;
  bool ended_ = false;
};

// One of many starts that were asked for in the same moment.
struct OneStart final : sandbox::ProcessListener {
  std::unique_ptr<sandbox::Box> box;
  std::unique_ptr<sandbox::Process> process;
  std::function<void()> when_heard;
  double took_ms = 0;
  Clock::time_point began;
  void on_output(sandbox::Stream, std::string_view) override {
    took_ms = ms_since(began);
    when_heard();
  }
  void on_exit(sandbox::Exit) override {}
};

Samples Boxes::all_at_once(int count) {
  std::vector<std::unique_ptr<OneStart>> starts;
  int heard = 0;
  for (int i = 0; i < count; ++i) {
    starts.push_back(std::make_unique<OneStart>());
    OneStart& one = *starts.back();
    one.began = Clock::now();
    one.when_heard = [&] {
      if (++heard == count) reactor_->stop();
    };
    sandbox_->open({.name = "bench"}, [&one](Result<std::unique_ptr<sandbox::Box>> box) {
      if (!box) fail(box.error().what);
      one.box = std::move(box).take();
      one.process = one.box->start({.argv = {"sh", "-c", "echo hi"}}, one);
    });
  }
  while (heard < count) reactor_->run();
  Samples samples;
  for (const auto& one : starts) samples.ms.push_back(one->took_ms);
  return samples;
}

Samples plain_all_at_once(int count) {
  const auto start = Clock::now();
  std::vector<Spawned> children;
  Samples samples;
  for (int i = 0; i < count; ++i) children.push_back(spawn({"sh", "-c", "echo hi"}));
  for (const Spawned& child : children) {
    char byte = 0;
    if (read(child.out, &byte, 1) != 1) fail("sh said nothing");
    samples.ms.push_back(ms_since(start));
    wait_for(child);
  }
  return samples;
}

// ── the table ──

struct Way {
  std::string name;
  std::function<std::optional<double>()> sample;
  Samples samples;
};

void print_starts(const std::vector<Way>& ways, double plain) {
  std::printf(
      "| request to first byte of `sh -c 'echo hi'` | n | median ms | p95 ms | × plain |\n|---|---|---|---|---|\n");
  for (const Way& way : ways) {
    std::printf("| %s | %zu | %.2f | %.2f | %.2f |\n", way.name.c_str(), way.samples.ms.size(), way.samples.median(),
                way.samples.p95(), way.samples.median() / plain);
  }
}

void print_target(const char* what, double value, const char* unit, double most) {
  std::printf("| %s | %.2f %s | %.2f %s | %s |\n", what, value, unit, most, unit, value <= most ? "met" : "**missed**");
}

const Samples& of(const std::vector<Way>& ways, std::string_view name) {
  for (const Way& way : ways) {
    if (way.name == name) return way.samples;
  }
  fail("no way is called " + std::string(name));
}

void measure_starts(std::vector<Way>& ways, int rounds) {
  for (int round = 0; round < rounds; ++round) {
    for (size_t i = 0; i < ways.size(); ++i) {
      Way& way = ways[(i + static_cast<size_t>(round)) % ways.size()];  // who goes first changes
      if (const auto took = way.sample(); took && round > 2) way.samples.ms.push_back(*took);
    }
  }
}

struct RoundTrips {
  Samples plain;
  Samples boxed;
};

RoundTrips measure_round_trips(Boxes& boxes, int rounds) {
  RoundTrips trips;
  const auto box = boxes.open();
  for (int round = 0; round < rounds; ++round) {
    trips.plain.ms.push_back(whole_life({"true"}));
    trips.boxed.ms.push_back(boxes.round_trip(*box));
  }
  boxes.kill(*box);
  return trips;
}

int run(int rounds) {
  Boxes cold("namespaces", 0);
  Boxes warm("namespaces", 4);
  Boxes oci("oci", 0);
  if (!cold.missing().empty()) fail(cold.missing());
  bool was_warm = false;
  std::vector<Way> ways;
  ways.push_back({"plain posix_spawn", [] { return first_byte_of({"sh", "-c", "echo hi"}); }, {}});
  ways.push_back({"Sluice, warm",
                  [&]() -> std::optional<double> {
                    warm.rest(40);  // as between two runs: the pool fills up again
                    const double took = warm.first_byte(was_warm);
                    return was_warm ? std::optional(took) : std::nullopt;
                  },
                  {}});
  ways.push_back({"Sluice, cold", [&] { return cold.first_byte(was_warm); }, {}});
  const bool has_bubblewrap = std::system("command -v bwrap >/dev/null") == 0;
  if (has_bubblewrap)
    ways.push_back({"bubblewrap", [] { return first_byte_of(in_bubblewrap({"sh", "-c", "echo hi"})); }, {}});
  if (oci.missing().empty()) ways.push_back({"Sluice, oci driver", [&] { return oci.first_byte(was_warm); }, {}});
  OciPeer crun("crun");
  OciPeer runc("runc");
  for (OciPeer* peer : {&crun, &runc}) {
    if (peer->missing().empty()) ways.push_back({peer->name(), [peer] { return peer->first_byte(); }, {}});
  }
  measure_starts(ways, rounds);

  const double plain = of(ways, "plain posix_spawn").median();
  print_starts(ways, plain);
  if (!has_bubblewrap) std::printf("\nNo bubblewrap on this machine.\n");
  if (!oci.missing().empty()) std::printf("\nNo OCI runtime: %s\n", oci.missing().c_str());
  for (const OciPeer* peer : {&crun, &runc}) {
    if (!peer->missing().empty())
      std::printf("\nNot measured, %s: %s\n", peer->name().c_str(), peer->missing().c_str());
  }

  constexpr int many = 100;
  const Samples plain_many = plain_all_at_once(many);
  const Samples boxes_many = cold.all_at_once(many);
  const RoundTrips trips = measure_round_trips(cold, rounds * 2);
  std::printf("\n| also | plain, median / p95 ms | Sluice, median / p95 ms |\n|---|---|---|\n");
  std::printf("| %d starts at once, first byte | %.1f / %.1f | %.1f / %.1f |\n", many, plain_many.median(),
              plain_many.p95(), boxes_many.median(), boxes_many.p95());
  std::printf("| one `true`, start to end | %.2f / %.2f | %.2f / %.2f |\n", trips.plain.median(), trips.plain.p95(),
              trips.boxed.median(), trips.boxed.p95());

  const double cores = std::max(1U, std::thread::hardware_concurrency());
  std::printf("\n| target | is | at most | |\n|---|---|---|---|\n");
  print_target("warm start over plain", of(ways, "Sluice, warm").median() / plain, "×", 1.5);
  if (has_bubblewrap)
    print_target("cold start", of(ways, "Sluice, cold").median(), "ms", of(ways, "bubblewrap").median());
  print_target("100 at once, p95 a start and core", boxes_many.p95() * cores / many, "ms",
               of(ways, "Sluice, cold").p95() * 3);
  print_target("round trip over fork and exec", trips.boxed.median() - trips.plain.median(), "ms", 1.0);
  return 0;
}

}  // namespace
}  // namespace sluice::bench

int main(int argc, char** argv) {
  int rounds = 100;
  for (int i = 1; i + 1 < argc; ++i) {
    if (std::strcmp(argv[i], "--rounds") == 0) rounds = std::max(5, std::atoi(argv[i + 1]));
  }
  return sluice::bench::run(rounds);
}
