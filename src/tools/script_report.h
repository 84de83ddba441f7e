// What is reported of a script while it runs, within bounds, and what the model learns of it at the end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "tools/host_call_output.h"
#include "tools/options.h"
#include "world/world.h"

namespace sluice::tools {

struct ScriptError {
  std::string name;
  std::string message;
  std::string stack;  // may be empty
};

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

}  // namespace sluice::tools
