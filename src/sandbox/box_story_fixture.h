// A real sandbox, with verbs in which the driver contract and the hostile tests are written.
//
//   BoxStory story({.driver = "namespaces"});
//   auto sandbox = story.open();
//   EXPECT_EQ(story.run(*sandbox, sh("echo hi")).out, "hi\n");
//
// Everything waits for an event, with a deadline, and says what it waited for.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sandbox/sandbox.h"
#include "world/fake_world.h"
#include "world/world.h"

namespace sluice::sandbox {

class BoxStory;

// Hears a command. Keeps what it says up to keep_bytes_max, counts all of it.
class Heard final : public ProcessListener {
 public:
  explicit Heard(BoxStory& story) : story_(story) {}
  void on_output(Stream stream, std::string_view piece) override;
  void on_exit(Exit how) override;

  std::string out;
  std::string err;
  size_t bytes = 0;
  size_t piece_bytes_most = 0;
  std::optional<Exit> exit;
  int exits = 0;
  size_t keep_bytes_max = 16 << 20;

 private:
  BoxStory& story_;
};

struct Ran {
  std::string out;
  std::string err;
  Exit exit;
};

inline Command sh(std::string script) { return {.argv = {"sh", "-c", std::move(script)}}; }

class BoxStory final {
 public:
  // Completes `options`: a state directory of its own; small limits where they were left as they are. `reactor`: a loop
  // of the test's own.
  explicit BoxStory(SandboxOptions options = {}, std::unique_ptr<world::Reactor> reactor = nullptr);
  ~BoxStory();
  BoxStory(const BoxStory&) = delete;
  BoxStory& operator=(const BoxStory&) = delete;

  Sandbox& sandbox() { return *sandbox_; }
  world::Reactor& reactor() { return *reactor_; }
  const world::Metrics& metrics() const { return metrics_; }
  const std::vector<std::string>& log_lines() const { return log_.lines; }
  const std::filesystem::path& state_dir() const { return state_dir_; }
  bool can(std::string_view ability) const;

  std::unique_ptr<Box> open(BoxRequest request = {});
  Result<std::unique_ptr<Box>> try_open(BoxRequest request);
  Ran run(Box& box, Command command);
  void kill(Box& box);
  void close();

  // Fails the test, naming `what`, if it has not come true in time.
  void until(const std::function<bool()>& is_true, std::string_view what,
             std::chrono::milliseconds limit = std::chrono::seconds(240));
  void nudge() { reactor_->stop(); }

  // A directory below state_dir with these files, of the sandbox's user: what a layer is made of.
  std::string directory(std::string_view name, const std::vector<std::pair<std::string, std::string>>& files);

 private:
  std::filesystem::path state_dir_;
  std::unique_ptr<world::Reactor> reactor_;
  world::FakeLog log_;
  world::Metrics metrics_;
  std::unique_ptr<Sandbox> sandbox_;
};

// What can run here: "namespaces" always, as tests are to fail where it cannot; "oci_crun", "oci_runc".
std::vector<std::string> drivers_here();

// A number of seconds for which no other process sleeps, neither in this program nor in another one that tests at the
// same time. All are of one length, so none is a part of another.
std::string marker();
// Host processes whose command line contains `marker`, this one apart.
std::vector<int> processes_with(std::string_view marker);
// The process 1 of the sandbox that host process `pid` lives in; 0: none.
int init_of(int pid);

}  // namespace sluice::sandbox
