#include "programs/program_home.h"

#include <algorithm>
#include <utility>

#include "base/json.h"
#include "model/session_id.h"

namespace sluice::programs {
namespace {

constexpr std::size_t printed_chars_max = 2'000;
constexpr int64_t errand_ms_max = 30'000;

std::string session_path() { return std::string(dispatch::program_state_dir) + "/session.json"; }

// The shim's relative paths are of the workspace.
std::string inside(const std::string& path) {
  constexpr std::string_view workspace = "/workspace/";
  return path.starts_with(workspace) ? path.substr(workspace.size()) : path;
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

void ProgramHome::read_session(std::string agent_type, Callback<void(std::string)> then) {
  agent_type_ = std::move(agent_type);
  then_read_ = std::move(then);
  run_ = session_.run({.argv = {"@read", inside(session_path()), "1", "1"}, .timeout_ms = errand_ms_max},
                      {.kept_chars_max = printed_chars_max}, *this);
}

void ProgramHome::prepare(std::vector<std::string> removed, std::vector<harness::LaunchFile> files,
                          Callback<void(Result<Unit>)> then) {
  files_ = std::move(files);
  std::ranges::reverse(files_);
  then_written_ = std::move(then);
  is_removing_ = !removed.empty();
  if (!is_removing_) return write_next();
  std::vector<std::string> argv = {"rm", "-rf", "--"};
  argv.insert(argv.end(), removed.begin(), removed.end());
  run_ = session_.run({.argv = std::move(argv), .timeout_ms = errand_ms_max}, {.kept_chars_max = printed_chars_max},
                      *this);
}

void ProgramHome::write_next() {
  if (files_.empty()) return std::exchange(then_written_, nullptr)(Unit{});
  auto& file = files_.back();
  run_ =
      session_.run({.argv = {"@write", inside(file.path)}, .input = std::move(file.text), .timeout_ms = errand_ms_max},
                   {.kept_chars_max = printed_chars_max}, *this);
}

void ProgramHome::on_ended(sandbox::Exit exit, std::string printed) {
  run_.reset();
  const bool is_well = exit.cause == sandbox::ExitCause::exited && exit.code == 0;
  if (exit.cause == sandbox::ExitCause::box_lost) return session_.lose(exit.what);
  if (then_read_) return std::exchange(then_read_, nullptr)(is_well ? session_of(printed, agent_type_) : "");
  const bool was_removing = std::exchange(is_removing_, false);
  std::string what = "What a run before left";
  if (!was_removing) {
    what = std::move(files_.back().path);
    files_.pop_back();
  }
  if (is_well) return write_next();
  while (printed.ends_with('\n')) printed.pop_back();
  const auto why = printed.empty() ? std::string(name_of(exit.cause)) : printed;
  std::exchange(then_written_, nullptr)(
      Error{ErrorKind::unavailable, what + " cannot be " + (was_removing ? "removed: " : "written: ") + why});
}

}  // namespace sluice::programs
