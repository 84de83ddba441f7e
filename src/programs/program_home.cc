#include "programs/program_home.h"

#include <memory>
#include <utility>

#include "base/json.h"
#include "dispatch/dispatch.h"
#include "model/session_id.h"

namespace sluice::programs {
namespace {

constexpr std::size_t printed_chars_max = 2'000;
constexpr int64_t command_ms_max = 30'000;

std::string session_path() { return std::string(dispatch::program_state_dir) + "/session.json"; }

// Relative paths of the sandbox's shim are of the workspace.
std::string inside(const std::string& path) {
  constexpr std::string_view workspace = "/workspace/";
  return path.starts_with(workspace) ? path.substr(workspace.size()) : path;
}

struct Ended {
  sandbox::Exit exit;
  std::string printed;

  bool is_well() const { return exit.cause == sandbox::ExitCause::exited && exit.code == 0; }
  std::string why() const {
    const auto size = printed.find_last_not_of('\n') + 1;
    return size == 0 ? std::string(name_of(exit.cause)) : printed.substr(0, size);
  }
};

class CommandWait final : private sessions::CommandListener {
 public:
  CommandWait(sessions::SandboxSession& session, sandbox::Command command, Callback<void(Ended)> done)
      : done_(std::move(done)), run_(session.run(std::move(command), {.kept_chars_max = printed_chars_max}, *this)) {}

 private:
  void on_printed(sandbox::Stream, std::string) override {}
  void on_ended(sandbox::Exit exit, std::string printed) override {
    auto done = std::move(done_);  // the call drops this
    done({std::move(exit), std::move(printed)});
  }

  Callback<void(Ended)> done_;
  std::unique_ptr<sessions::CommandRun> run_;
};

Task<Ended> run_in(sessions::SandboxSession& session, std::vector<std::string> argv, std::string input = {}) {
  sandbox::Command command{.argv = std::move(argv), .input = std::move(input), .timeout_ms = command_ms_max};
  auto ended = co_await answer<Ended>(
      [&](auto done) { return std::make_unique<CommandWait>(session, std::move(command), std::move(done)); });
  if (ended.exit.cause == sandbox::ExitCause::box_lost) {
    co_await outside([&session, what = ended.exit.what] { session.lose(what); });
  }
  co_return ended;
}

}  // namespace

harness::LaunchFile session_file(std::string_view agent_type, std::string_view session_id) {
  harness::LaunchFile file{.path = session_path(), .text = {}};
  json::Writer writer(file.text);
  writer.begin_object().key("agent_type").string(agent_type).key("session_id").string(session_id).end_object();
  return file;
}

std::string session_of(std::string_view text, std::string_view agent_type) {
  const auto document = json::Document::parse(text);
  if (!document) return {};
  const auto root = document.value().root();
  const auto type = root.find("agent_type");
  const auto id = root.find("session_id");
  if (!type || type->string() != agent_type || !id || !id->string() || !model::is_session_id(*id->string())) return {};
  return std::string(*id->string());
}

Task<std::string> read_session(sessions::SandboxSession& session, std::string agent_type) {
  const auto ended = co_await run_in(session, {"@read", inside(session_path()), "1", "1"});
  co_return ended.is_well() ? session_of(ended.printed, agent_type) : "";
}

Task<Result<Unit>> write_home(sessions::SandboxSession& session, std::vector<std::string> removed,
                              std::vector<harness::LaunchFile> files) {
  if (!removed.empty()) {
    std::vector<std::string> argv = {"rm", "-rf", "--"};
    argv.insert(argv.end(), removed.begin(), removed.end());
    const auto ended = co_await run_in(session, std::move(argv));
    if (!ended.is_well()) {
      co_return Error{ErrorKind::unavailable, "What a run before left cannot be removed: " + ended.why()};
    }
  }
  for (auto& file : files) {
    const auto ended = co_await run_in(session, {"@write", inside(file.path)}, std::move(file.text));
    if (!ended.is_well()) co_return Error{ErrorKind::unavailable, file.path + " cannot be written: " + ended.why()};
  }
  co_return Unit{};
}

}  // namespace sluice::programs
