// Tells the operator's hooks which files changed (H-4): a signed POST and a command. As well as it
// can: what no hook takes is dropped, and a run never waits for it.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/lifetime.h"
#include "base/result.h"
#include "model/model.h"
#include "net/net.h"
#include "runs/runs.h"
#include "sessions/options.h"
#include "workspace/workspace.h"
#include "world/world.h"

namespace sluice::sessions {

class FileNotifier final : private net::CallListener {
 public:
  // Blocks; called on a thread of the workers.
  using Execute = std::function<Result<Unit>(const std::vector<std::string>& argv, const std::string& input)>;
  struct Needs {
    net::Client& client;
    world::Loop& loop;
    world::Workers& workers;
    world::Log& log;
  };

  FileNotifier(FileHooks hooks, Needs needs, Execute execute);

  void notify(const model::RunId& run, const std::vector<workspace::FileNews>& news, Timestamp at);

 private:
  static constexpr std::size_t waiting_max = 256;  // of each hook; a hook that hangs must not cost more
  static constexpr int attempts_max = 4;
  static constexpr int64_t retry_first_ms = 500;
  static constexpr int64_t post_ms_max = 10'000;

  void on_head(int status, const net::Headers&) override { status_ = status; }
  void on_body(std::string_view) override {}
  void on_end(net::CallEnd end) override;

  void queue(std::deque<std::string>& waiting, std::string text);
  void post();
  void go_on_posting();
  void run_command();
  void complain(std::string_view hook, const std::string& why);

  const FileHooks hooks_;
  const Needs needs_;
  const Execute execute_;
  std::deque<std::string> posts_;  // the first is being sent
  std::deque<std::string> inputs_;
  bool is_running_ = false;
  int attempt_ = 1;
  int status_ = 0;
  Lifetime lifetime_;
  world::Timer retry_;
  std::unique_ptr<net::Call> call_;
};

}  // namespace sluice::sessions
