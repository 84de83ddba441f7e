#include "sandbox/box_story_fixture.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <fstream>

namespace sluice::sandbox {
namespace {

namespace fs = std::filesystem;

// Not with a stream, which throws when a process goes while its file is read.
std::string slurp(const fs::path& path) {
  std::string text;
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return text;
  char piece[4096];
  for (ssize_t n = 0; (n = read(fd, piece, sizeof piece)) > 0;) text.append(piece, static_cast<size_t>(n));
  ::close(fd);
  return text;
}

std::vector<int> all_processes() {
  std::vector<int> all;
  std::error_code gone;
  for (const auto& entry : fs::directory_iterator("/proc", gone)) {
    const std::string name = entry.path().filename();
    if (std::ranges::all_of(name, [](char c) { return c >= '0' && c <= '9'; })) all.push_back(std::stoi(name));
  }
  return all;
}

// The last word of a line of /proc/PID/status; readable for anybody's process.
std::string status_of(int pid, std::string_view name) {
  const std::string status = slurp("/proc/" + std::to_string(pid) + "/status");
  const auto at = status.find("\n" + std::string(name) + ":");
  if (at == std::string::npos) return {};
  const auto end = status.find('\n', at + 1);
  const auto from = status.find_last_of("\t ", end) + 1;
  return status.substr(from, end - from);
}

}  // namespace

void Heard::on_output(Stream stream, std::string_view piece) {
  EXPECT_FALSE(exit) << "output after the exit";
  bytes += piece.size();
  piece_bytes_most = std::max(piece_bytes_most, piece.size());
  std::string& kept = stream == Stream::out ? out : err;
  if (kept.size() + piece.size() <= keep_bytes_max) kept += piece;
  story_.nudge();
}

void Heard::on_exit(Exit how) {
  exit = std::move(how);
  ++exits;
  story_.nudge();
}

BoxStory::BoxStory(SandboxOptions options, std::unique_ptr<world::Reactor> reactor) : reactor_(std::move(reactor)) {
  std::signal(SIGPIPE, SIG_IGN);  // as the server does: a command may close its input
  // As the server does, too: the shell of a user may permit 1,024 descriptors, too few for a thousand sandboxes.
  rlimit descriptors{};
  getrlimit(RLIMIT_NOFILE, &descriptors);
  descriptors.rlim_cur = descriptors.rlim_max;
  setrlimit(RLIMIT_NOFILE, &descriptors);
  std::string pattern = fs::temp_directory_path() / "sluice-box-XXXXXX";
  state_dir_ = mkdtemp(pattern.data());
  if (!reactor_) reactor_ = world::make_reactor().take();
  if (options.state_dir.empty()) options.state_dir = state_dir_;
  auto opened = open_sandbox(std::move(options), *reactor_, log_, metrics_);
  if (!opened) ADD_FAILURE() << opened.error().what;
  SLUICE_CHECK(opened);
  sandbox_ = std::move(opened).take();
}

BoxStory::~BoxStory() {
  if (sandbox_) close();
  sandbox_.reset();
  std::error_code left;
  fs::remove_all(state_dir_, left);
  EXPECT_FALSE(left) << "state directory: " << left.message();
}

bool BoxStory::can(std::string_view ability) const {
  return std::ranges::any_of(sandbox_->abilities(), [&](const Ability& a) { return a.name == ability && a.there; });
}

Result<std::unique_ptr<Box>> BoxStory::try_open(BoxRequest request) {
  if (request.name.empty()) request.name = "story";
  std::optional<Result<std::unique_ptr<Box>>> answer;
  sandbox_->open(std::move(request), [&](Result<std::unique_ptr<Box>> box) {
    answer = std::move(box);
    nudge();
  });
  EXPECT_FALSE(answer) << "answered from inside the call";
  until([&] { return answer.has_value(); }, "open()");
  if (!answer) return Error{ErrorKind::unavailable, "open() did not answer"};
  return *std::move(answer);
}

std::unique_ptr<Box> BoxStory::open(BoxRequest request) {
  auto box = try_open(std::move(request));
  if (!box) ADD_FAILURE() << box.error().what;
  SLUICE_CHECK(box);
  return std::move(box).take();
}

Ran BoxStory::run(Box& box, Command command) {
  const std::string what = command.argv.empty() ? "" : command.argv.back();
  Heard heard(*this);
  const auto process = box.start(std::move(command), heard);
  until([&] { return heard.exit.has_value(); }, what);
  return {std::move(heard.out), std::move(heard.err), heard.exit.value_or(Exit{ExitCause::box_lost})};
}

void BoxStory::kill(Box& box) {
  bool done = false;
  box.kill([&](const Result<Unit>& proof) {
    EXPECT_TRUE(proof);
    done = true;
    nudge();
  });
  until([&] { return done; }, "kill()");
}

void BoxStory::close() {
  bool done = false;
  sandbox_->close([&] {
    done = true;
    nudge();
  });
  until([&] { return done; }, "close()");
}

void BoxStory::until(const std::function<bool()>& is_true, std::string_view what, std::chrono::milliseconds limit) {
  const auto end = std::chrono::steady_clock::now() + limit;
  while (!is_true()) {
    if (std::chrono::steady_clock::now() > end) {
      ADD_FAILURE() << "waited in vain for: " << what;
      return;
    }
    // Looks again every so often for what makes no event here: a process that is gone.
    const auto look = reactor_->after(Millis{20}, [this] { nudge(); });
    reactor_->run();
  }
}

std::string BoxStory::directory(std::string_view name, const std::vector<std::pair<std::string, std::string>>& files) {
  const fs::path top = state_dir_ / name;
  fs::create_directories(top);
  fs::permissions(top, fs::perms(0755));
  for (const auto& [path, text] : files) {
    fs::create_directories((top / path).parent_path());
    std::ofstream(top / path, std::ios::binary) << text;
  }
  if (geteuid() != 0) return top;
  const auto give = [](const fs::path& path) {
    const uint32_t user = SandboxOptions{}.host_uid;
    EXPECT_EQ(lchown(path.c_str(), user, user), 0) << path;
  };
  give(top);
  for (const auto& entry : fs::recursive_directory_iterator(top)) give(entry.path());
  return top;
}

std::vector<std::string> drivers_here() {
  std::vector<std::string> all = {"namespaces"};
  for (const std::string runtime : {"crun", "runc"}) {
    const auto abilities = probe_abilities({.driver = "oci", .oci_runtime = runtime});
    if (!abilities.empty() && abilities[0].there) all.push_back("oci_" + runtime);
  }
  return all;
}

std::string marker() {
  static int count = 0;
  return std::to_string(70'000'000 + getpid()) + "." + std::to_string(10'001 + 10 * count++);
}

std::vector<int> processes_with(std::string_view marker) {
  std::vector<int> found;
  for (const int pid : all_processes()) {
    if (pid != getpid() && slurp("/proc/" + std::to_string(pid) + "/cmdline").find(marker) != std::string::npos) {
      found.push_back(pid);
    }
  }
  return found;
}

int init_of(int pid) {
  while (pid > 1 && status_of(pid, "NSpid") != "1") pid = std::atoi(status_of(pid, "PPid").c_str());
  return pid <= 1 ? 0 : pid;
}

}  // namespace sluice::sandbox
