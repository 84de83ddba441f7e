// A script of run_script at work in the sandbox, and its report.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/lifetime.h"
#include "runs/runs.h"
#include "sandbox/sandbox.h"
#include "tools/host_call_output.h"
#include "tools/options.h"
#include "tools/script_tool.h"
#include "tools/toolbox.h"
#include "world/world.h"

namespace sluice::tools {

struct ScriptError {
  std::string name;
  std::string message;
  std::string stack;  // may be empty
};

// What is reported of a script while it runs, within bounds, and what the model learns of it at the end.
//
// False, from every function: the listener dropped it. Texts are valid UTF-8.
class ScriptReport {
 public:
  // `context` must outlive it.
  ScriptReport(const Context& context, runs::SharedSecrets secrets, HostCallListener& listener);

  bool started(std::size_t code_bytes, bool is_python);
  bool console(std::string_view level, std::string_view message);
  bool printed(std::string text) { return output_.output(std::move(text)); }
  bool custom(std::string_view name, std::string_view value) { return output_.custom(name, value); }
  // `args`: JSON. `began_us`: monotonic.
  bool called(std::string_view function, std::string_view args);
  bool answered(std::string_view function, std::string_view text, int64_t began_us);
  bool refused(std::string_view function, std::string_view words, int64_t began_us);

  // The last. `result`: JSON.
  void succeed(std::string_view result);
  void fail(const ScriptError& error);
  // Instead of them all: it was never started.
  void refuse(const ScriptError& error);

 private:
  bool finished(const ScriptError* error);
  int64_t ms_since(int64_t began_us) const;

  const ScriptOptions& options_;
  const std::size_t logs_bytes_max_;
  world::Loop& loop_;
  HostCallOutput output_;
  const int64_t began_us_;
  int64_t line_count_ = 0;
  std::size_t console_bytes_ = 0;
  bool is_cut_ = false;
  std::string logs_;  // elements of a JSON array
};

// A script of run_script at work in the sandbox.
class ScriptRun final : public HostCall, private sandbox::ProcessListener {
 public:
  struct Needs {
    const Context& context;
    const dispatch::Dispatch& dispatch;
    sessions::SandboxSession& session;
    Toolbox& toolbox;
  };
  // All must outlive it.
  ScriptRun(Needs needs, models::ToolCall call, HostCallListener& listener);
  ~ScriptRun() override;

 private:
  // A call of a tool that the script waits for.
  class External;
  struct Wanted {
    int64_t id = 0;
    std::string tool;
    std::string args;  // JSON
  };

  void begin();
  void start();
  void on_output(sandbox::Stream stream, std::string_view bytes) override;
  void on_exit(sandbox::Exit exit) override;

  // False when the listener dropped this, or when it is over.
  bool take(const std::string& line);
  bool want(json::Value call);
  bool turn_down(const Wanted& wanted);
  bool refuse(const Wanted& wanted, std::string_view words);
  bool call_next();
  bool call_now(Wanted wanted);
  // Why the call is not made; empty: it is.
  std::string refusal_of(const Wanted& wanted) const;
  void take_answer(int64_t id, runs::ToolAnswer answer);
  // False when the script had to be stopped for it.
  bool send_answer(int64_t id, std::string_view text, bool failed);

  ScriptError error_of(const sandbox::Exit& exit) const;
  bool leave_calls();
  void end();
  void break_off(std::string words);

  const Needs needs_;
  const ScriptOptions& options_;
  const models::ToolCall call_;
  ScriptReport report_;
  Script script_;
  runs::TextLines lines_;
  runs::Utf8Stream printed_;
  runs::Excerpt last_words_;
  std::map<int64_t, std::unique_ptr<External>> calls_;
  std::deque<Wanted> queue_;
  int64_t call_count_ = 0;
  std::optional<std::string> result_;  // JSON
  std::optional<ScriptError> error_;
  Lifetime lifetime_;
  std::unique_ptr<sandbox::Process> process_;
};

// `context`, `dispatch`, `session` and `toolbox` must outlive it. Calls of the toolbox obey the agent's policy as the
// model's own do; one that would have to be asked for, and a tool of the client, are refused. No callback comes from
// inside.
[[nodiscard]] std::unique_ptr<HostCall> run_script(const Context& context, const dispatch::Dispatch& dispatch,
                                                   sessions::SandboxSession& session, Toolbox& toolbox,
                                                   const models::ToolCall& call, HostCallListener& listener);

}  // namespace sluice::tools
