#include "tools/script_run.h"

#include <utility>

#include "base/limits.h"
#include "gates/gates.h"
#include "sessions/sessions.h"
#include "tools/tool_policy.h"

namespace sluice::tools {
namespace {

constexpr std::size_t line_bytes_max = limits::provider_line_bytes_max;  // a result without end
constexpr std::size_t calls_at_once_max = 8;
constexpr std::size_t unread_bytes_max = 64 * 1024 * 1024;  // of answers: a script that only ever calls
constexpr std::size_t tool_name_bytes_max = 128;
constexpr std::size_t last_words_chars_max = 2'000;
constexpr int not_found_code = 127;  // of the shell that starts it

std::string text_of(const std::optional<json::Value>& value) {
  return value ? std::string(value->string().value_or("")) : "";
}

std::string level_of(std::string level) {
  return level == "info" || level == "warn" || level == "error" ? level : "log";
}

}  // namespace

class ScriptRun::External final : public HostCallListener {
 public:
  External(ScriptRun& run, Wanted wanted)
      : run_(run), wanted_(std::move(wanted)), began_us_(run.needs_.context.loop.monotonic_us()) {}

  void begin() {
    const models::ToolCall call{
        .id = run_.call_.id + "." + std::to_string(wanted_.id), .name = wanted_.tool, .arguments = wanted_.args};
    call_ = run_.needs_.toolbox.call(call, call.id, *this);
  }
  int64_t began_us() const { return began_us_; }
  const std::string& tool() const { return wanted_.tool; }

 private:
  void on_host_custom(std::string_view name, std::string_view value) override { run_.report_.custom(name, value); }
  void on_host_output(std::string_view text) override { run_.report_.printed(std::string(text)); }
  void on_host_answer(runs::ToolAnswer answer) override { run_.take_answer(wanted_.id, std::move(answer)); }
  bool takes_whole_answer() const override { return true; }

  ScriptRun& run_;
  const Wanted wanted_;
  const int64_t began_us_;
  std::unique_ptr<HostCall> call_;
};

ScriptRun::ScriptRun(Needs needs, models::ToolCall call, HostCallListener& listener)
    : needs_(needs),
      options_(needs.context.options.scripts),
      call_(std::move(call)),
      report_(needs.context, needs.dispatch.secrets, listener),
      last_words_(last_words_chars_max) {
  needs_.context.loop.defer(lifetime_.guard([this] { begin(); }));
}

ScriptRun::~ScriptRun() = default;

void ScriptRun::begin() {
  auto script = script_of(call_.arguments, options_);
  if (!script) return report_.refuse({.name = "ValidationError", .message = script.error().what});
  script_ = std::move(script).take();
  if (!report_.started(script_.code.size(), script_.is_python)) return;
  needs_.session.open(lifetime_.guard([this] { start(); }));
}

void ScriptRun::start() {
  std::map<std::string, std::string> functions;
  for (const auto& tool : needs_.toolbox.tools()) {
    if (tool.name == script_tool_name || needs_.toolbox.is_of_client(tool.name)) continue;
    functions.try_emplace(function_of(tool.name), tool.name);
  }
  process_ = needs_.session.start(command_of(script_, functions, options_), *this);
}

// ── what it says ────────────────────────────────────────────────────────────────────────────────

void ScriptRun::on_output(sandbox::Stream stream, std::string_view bytes) {
  if (stream == sandbox::Stream::err) {
    auto text = printed_.feed(bytes);
    last_words_.append(text);
    report_.printed(std::move(text));
    return;
  }
  for (const auto& line : lines_.feed(bytes)) {
    if (!take(line)) return;
  }
  if (lines_.held_bytes() <= line_bytes_max) return;
  break_off("The script was stopped: it returned, printed or sent more than " + std::to_string(line_bytes_max) +
            " bytes at once.");
}

bool ScriptRun::take(const std::string& line) {
  if (result_ || error_) return true;  // that was its last message
  const auto document = json::Document::parse(line);
  if (!document) {
    break_off("The script was stopped: what it says cannot be read (" + document.error().what + ").");
    return false;
  }
  const auto root = document.value().root();
  if (const auto console = root.find("console")) {
    return report_.console(level_of(text_of(console->find("level"))), text_of(console->find("message")));
  }
  if (const auto call = root.find("call")) return want(*call);
  if (const auto result = root.find("result")) result_ = result->to_text();
  if (const auto error = root.find("error")) {
    error_ = {text_of(error->find("name")), text_of(error->find("message")), text_of(error->find("stack"))};
    if (error_->name == "MemoryError" && error_->message.empty()) {
      error_->message = "It used more than " + std::to_string(options_.memory_mib_max) + " MiB of memory.";
    }
  }
  return true;
}

// ── what it calls ───────────────────────────────────────────────────────────────────────────────

bool ScriptRun::want(json::Value call) {
  const auto id = call.find("id");
  const auto args = call.find("args");
  Wanted wanted{.id = id ? id->integer().value_or(0) : 0,
                .tool = std::string(runs::utf8_prefix(text_of(call.find("name")), tool_name_bytes_max)),
                .args = args ? args->to_text() : "null"};
  if (++call_count_ > options_.calls_max) return turn_down(wanted);
  queue_.push_back(std::move(wanted));
  return call_next();
}

// Only the first past the limit is reported: there may be no end of them.
bool ScriptRun::turn_down(const Wanted& wanted) {
  const auto words = "A script may call tools " + std::to_string(options_.calls_max) + " times, and no more.";
  if (!send_answer(wanted.id, words, true)) return false;
  if (call_count_ > options_.calls_max + 1) return true;
  return refuse(wanted, words);
}

bool ScriptRun::refuse(const Wanted& wanted, std::string_view words) {
  const auto function = function_of(wanted.tool);
  if (!report_.called(function, wanted.args)) return false;
  return report_.refused(function, words, needs_.context.loop.monotonic_us());
}

bool ScriptRun::call_next() {
  while (!queue_.empty() && calls_.size() < calls_at_once_max) {
    auto wanted = std::move(queue_.front());
    queue_.pop_front();
    if (!call_now(std::move(wanted))) return false;
  }
  return true;
}

bool ScriptRun::call_now(Wanted wanted) {
  if (const auto words = refusal_of(wanted); !words.empty()) {
    return send_answer(wanted.id, words, true) && refuse(wanted, words);
  }
  if (!report_.called(function_of(wanted.tool), wanted.args)) return false;
  const auto id = wanted.id;
  const auto [made, is_made] = calls_.try_emplace(id, std::make_unique<External>(*this, std::move(wanted)));
  // In the map before it begins: its answer finds it there. An id that the script uses twice has one call.
  if (is_made) made->second->begin();
  return true;
}

std::string ScriptRun::refusal_of(const Wanted& wanted) const {
  if (!needs_.toolbox.has(wanted.tool) || wanted.tool == script_tool_name) {
    return "A script can call no tool named " + wanted.tool + ".";
  }
  if (needs_.toolbox.is_of_client(wanted.tool)) {
    return wanted.tool + " is carried out by the client, which a script cannot wait for.";
  }
  if (!wanted.args.starts_with('{')) return "The arguments of " + wanted.tool + " must be an object.";
  // As for a call of the model's own: a script is no way around the policy.
  const auto ruling = gates::rule_on_tool(needs_.dispatch.agent.policy, wanted.tool);
  if (ruling.effect == model::Effect::deny) return refusal_words(ruling);
  if (ruling.effect == model::Effect::allow) return "";
  return "refused by policy: a human must be asked before " + wanted.tool +
         " is called, and a script cannot wait for one. Call the tool by itself.";
}

void ScriptRun::take_answer(int64_t id, runs::ToolAnswer answer) {
  auto ended = calls_.extract(id);
  if (!ended) return;
  const auto text = runs::to_utf8(answer.text);
  const auto function = function_of(ended.mapped()->tool());
  const auto began_us = ended.mapped()->began_us();
  if (!send_answer(id, text, answer.failed)) return;
  const bool is_there =
      answer.failed ? report_.refused(function, text, began_us) : report_.answered(function, text, began_us);
  if (is_there) call_next();
}

bool ScriptRun::send_answer(int64_t id, std::string_view text, bool failed) {
  std::string line;
  json::Writer writer(line);
  writer.begin_object().key("id").integer(id).key("text").string(text).key("failed").boolean(failed).end_object();
  // Writing does not block: answers that the script does not read are held here, up to a bound.
  process_->write(line + "\n");
  if (process_->unwritten_bytes() <= unread_bytes_max) return true;
  break_off("The script was stopped: it calls tools, and does not read what they answer.");
  return false;
}

// ── how it ends ─────────────────────────────────────────────────────────────────────────────────

// What it had begun to say when it was killed is no message.
void ScriptRun::on_exit(sandbox::Exit exit) {
  if (!report_.printed(printed_.end())) return;
  if (!result_ && !error_) error_ = error_of(exit);
  end();
}

ScriptError ScriptRun::error_of(const sandbox::Exit& exit) const {
  using sandbox::ExitCause;
  const auto said = last_words_.text();
  const std::string program = script_.is_python ? "python3" : "node";
  const auto memory = std::to_string(options_.memory_mib_max) + " MiB of memory.";
  if (exit.cause == ExitCause::timed_out) {
    return {"TimeoutError",
            "The script was stopped: it ran longer than " + std::to_string(script_.timeout_ms) + " ms.",
            {}};
  }
  if (said.find("heap out of memory") != std::string::npos) {
    return {"MemoryError", "The script was stopped: it used more than " + memory, {}};
  }
  if (exit.cause == ExitCause::out_of_memory) {
    return {"MemoryError", "The script was stopped: the sandbox has no more memory.", {}};
  }
  if (exit.cause == ExitCause::not_started || (exit.cause == ExitCause::exited && exit.code == not_found_code)) {
    return {"NotFoundError", "The script could not be run: there is no " + program + " in this sandbox.", {}};
  }
  auto words = exit.cause == ExitCause::exited ? "exit code " + std::to_string(exit.code)
                                               : std::string(sandbox::name_of(exit.cause));
  if (!exit.what.empty()) words += ": " + runs::to_utf8(exit.what);
  return {"Error", "The script ended before it returned (" + words + ")." + (said.empty() ? "" : "\n" + said), {}};
}

// Nothing that was begun is left open for the reader.
bool ScriptRun::leave_calls() {
  queue_.clear();
  for (auto& [id, call] : std::exchange(calls_, {})) {
    if (!report_.refused(function_of(call->tool()), "The script ended before this was answered.", call->began_us())) {
      return false;
    }
  }
  return true;
}

void ScriptRun::end() {
  process_.reset();
  if (!leave_calls()) return;
  if (result_) return report_.succeed(*result_);
  report_.fail(*error_);
}

void ScriptRun::break_off(std::string words) {
  error_ = {.name = "Error", .message = std::move(words)};
  end();
}

std::unique_ptr<HostCall> run_script(const Context& context, const dispatch::Dispatch& dispatch,
                                     sessions::SandboxSession& session, Toolbox& toolbox, const models::ToolCall& call,
                                     HostCallListener& listener) {
  return std::make_unique<ScriptRun>(ScriptRun::Needs{context, dispatch, session, toolbox}, call, listener);
}

}  // namespace sluice::tools
