#include <utility>

#include "base/json.h"
#include "runs/runs.h"
#include "tools/script_run.h"

namespace sluice::tools {
namespace {

constexpr std::size_t value_bytes_max = 16 * 1024;  // of arguments and answers, as they are reported
constexpr std::size_t line_bytes_max = 8 * 1024;    // of the console, and of an error's message
constexpr std::size_t name_bytes_max = 128;         // of an error
constexpr std::size_t stack_bytes_max = 4 * 1024;

std::string shortened(std::string_view text, std::size_t bytes_max) {
  if (text.size() <= bytes_max) return std::string(text);
  return std::string(runs::utf8_prefix(text, bytes_max)) + "…";
}

std::string json_text(std::string_view text) {
  std::string out;
  json::append_string(out, text);
  return out;
}

// JSON stays what it is; of what is too long the beginning of its text is reported.
std::string bounded_json(std::string_view json) {
  return json.size() <= value_bytes_max ? std::string(json) : json_text(shortened(json, value_bytes_max));
}

void write_error(json::Writer& writer, const ScriptError& error) {
  writer.key("error").begin_object().key("name").string(shortened(error.name, name_bytes_max));
  writer.key("message").string(shortened(error.message, line_bytes_max));
  if (!error.stack.empty()) writer.key("stack").string(shortened(error.stack, stack_bytes_max));
  writer.end_object();
}

}  // namespace

ScriptReport::ScriptReport(const Context& context, runs::SharedSecrets secrets, HostCallListener& listener)
    : options_(context.options.scripts),
      logs_bytes_max_(context.limits.tool_result_chars_max / 3),
      loop_(context.loop),
      output_(context, std::move(secrets), listener),
      began_us_(context.loop.monotonic_us()) {}

int64_t ScriptReport::ms_since(int64_t began_us) const { return (loop_.monotonic_us() - began_us) / 1000; }

bool ScriptReport::started(std::size_t code_bytes, bool is_python) {
  std::string value;
  json::Writer writer(value);
  writer.begin_object().key("timestamp").integer(loop_.now().ms);
  writer.key("codeLength").integer(static_cast<int64_t>(code_bytes));
  writer.key("language").string(is_python ? "python" : "javascript").end_object();
  return output_.custom("code_mode:execution_started", value);
}

bool ScriptReport::console(std::string_view level, std::string_view message) {
  if (is_cut_) return true;
  std::string text = shortened(message, line_bytes_max);
  console_bytes_ += text.size();
  if (++line_count_ > options_.console_lines_max || console_bytes_ > options_.console_bytes_max) {
    is_cut_ = true;
    level = "warn";
    text = "What it prints is not reported any more: that is more than " + std::to_string(options_.console_lines_max) +
           " lines or " + std::to_string(options_.console_bytes_max) + " bytes.";
  }
  if (logs_.size() < logs_bytes_max_) {
    const bool is_plain = level == "log" || level == "info";
    logs_ += (logs_.empty() ? "" : ",") + json_text(is_plain ? text : std::string(level) + ": " + text);
    if (logs_.size() >= logs_bytes_max_) logs_ += R"(,"… more is not shown …")";
  }
  std::string value;
  json::Writer writer(value);
  writer.begin_object().key("level").string(level).key("message").string(text);
  writer.key("timestamp").integer(loop_.now().ms).end_object();
  if (!output_.custom("code_mode:console", value)) return false;
  return output_.output(text + "\n");
}

bool ScriptReport::called(std::string_view function, std::string_view args) {
  std::string value;
  json::Writer writer(value);
  writer.begin_object().key("function").string(function).key("args").raw(bounded_json(args));
  writer.key("timestamp").integer(loop_.now().ms).end_object();
  return output_.custom("code_mode:external_call", value);
}

bool ScriptReport::answered(std::string_view function, std::string_view text, int64_t began_us) {
  std::string value;
  json::Writer writer(value);
  const bool is_json = bool(json::Document::parse(text));
  writer.begin_object().key("function").string(function).key("result");
  writer.raw(is_json ? bounded_json(text) : json_text(shortened(text, value_bytes_max)));
  writer.key("duration").integer(ms_since(began_us)).end_object();
  return output_.custom("code_mode:external_result", value);
}

bool ScriptReport::refused(std::string_view function, std::string_view words, int64_t began_us) {
  std::string value;
  json::Writer writer(value);
  writer.begin_object().key("function").string(function).key("error").string(shortened(words, value_bytes_max));
  writer.key("duration").integer(ms_since(began_us)).end_object();
  return output_.custom("code_mode:external_error", value);
}

bool ScriptReport::finished(const ScriptError* error) {
  std::string value;
  json::Writer writer(value);
  writer.begin_object().key("timestamp").integer(loop_.now().ms).key("durationMs").integer(ms_since(began_us_));
  writer.key("phase").string("execute").key("success").boolean(error == nullptr).key("logCount").integer(line_count_);
  if (error != nullptr) write_error(writer, *error);
  writer.end_object();
  return output_.custom("code_mode:execution_finished", value);
}

void ScriptReport::succeed(std::string_view result) {
  std::string text;
  json::Writer writer(text);
  writer.begin_object().key("success").boolean(true).key("result").raw(result);
  writer.key("logs").begin_array().raw(logs_).end_array().end_object();
  if (finished(nullptr)) output_.answer({.text = std::move(text)});
}

void ScriptReport::fail(const ScriptError& error) {
  if (finished(&error)) refuse(error);
}

void ScriptReport::refuse(const ScriptError& error) {
  std::string text;
  json::Writer writer(text);
  writer.begin_object().key("success").boolean(false);
  write_error(writer, error);
  writer.key("logs").begin_array().raw(logs_).end_array().end_object();
  output_.answer({.text = std::move(text), .failed = true});
}

}  // namespace sluice::tools
