// How one agent program speaks, over its standard input and output: bytes in, what it said and what it is to be
// answered out. Pure: no process, no clock, no file. The runner moves the bytes and decides.
//
// One Dialect lives for one process and one prompt. A program may print anything at any time: garbage, half a line, a
// line without an end, nothing; a Dialect never throws, never grows without bound, and says what it could not read.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/model.h"

namespace sluice::harness {

// ── how a program is started ──
// Where things are in the sandbox. The state of a program is kept with the conversation's workspace, so that the next
// run can continue with it, perhaps in another sandbox.
inline constexpr std::string_view program_dir = "/opt/harness";              // read-only; one folder each
inline constexpr std::string_view program_home = "/workspace/.sluice/home";  // below dispatch::program_state_dir

// The model a program is to use, reached through the box's proxy. The key is only ever a placeholder.
struct ModelAccess {
  std::string dialect;   // "anthropic", "openai-responses", "openai-chat"
  std::string name;      // of the model
  std::string base_url;  // without a trailing slash: "https://api.anthropic.com", "https://api.openai.com/v1"
  std::string key;       // "{{secret:ALIAS}}"
};

struct Assignment {
  std::string agent_type;
  std::vector<std::string> command;  // of "acp"
  std::string program;               // the path of the program in the box; for "acp" command[0]
  ModelAccess model;
  std::string system_prompt;              // added to the program's own
  std::string prompt;                     // empty: only go on with what was deferred
  std::optional<std::string> session_id;  // to be resumed
  bool asks = false;       // its permission requests are heard; otherwise the program may do everything by itself
  bool may_defer = false;  // the process will be ended while a human is waited for (Answer::defer)
  std::vector<model::HostTool> tools;  // of the host
  std::string bridge_url;              // where they are, as a server of MCP; empty: there is none
  std::map<std::string, std::string> variables;
};

struct LaunchFile {
  std::string path;  // absolute, in the box
  std::string text;
};
struct Launch {
  std::vector<std::string> argv;
  std::map<std::string, std::string> environment;
  // Absolute, in the box, with all that is below: what a run before left there would have the program ask less.
  std::vector<std::string> removed;
  std::vector<LaunchFile> files;  // written before the program starts, after that
};

// ── what a program says ──
struct ProgramCall {
  std::string id;         // the program's; unique in the run
  std::string name;       // without the prefix that a bridge adds
  std::string arguments;  // JSON object, whole
};

struct Heard {
  enum class Kind : uint8_t {
    session,         // text: the session's id; once
    text,            // text: more of the answer
    replaced,        // the answer so far is taken back but for its first `kept_bytes`
    reasoning,       // text
    call_began,      // call.id, call.name: it is being written
    call_piece,      // call.id, text: a piece of its arguments
    call_running,    // call, whole. Comes once for each call; call_began need not have come before
    call_output,     // call.id, text: what it prints, as it comes; only what is new
    call_ended,      // call.id, text: its result; failed
    subagent_began,  // subagent, text: what it is for (its name); call.id: the call that set it to work, may be empty
    subagent_ended,  // subagent; failed, text: why
    permission,      // call: may it? question: by which number it is answered
    withdrawn,       // question: it is asked no more
    host_call,       // call: of a tool of the host, over the program's own channel; question
    log,             // text, level
    usage,           // usage: of the whole run so far
    custom,          // text: the name; json: the value
    deferred,        // call: the program ends now, and makes it when it is resumed
    finished,        // the turn is over, and well
    failed,          // the turn is over, and not: slug, text
  };
  Kind kind = Kind::log;
  std::string text;
  ProgramCall call;
  std::string subagent;  // whose it is: of text, reasoning and calls; empty: the agent's own
  uint64_t question = 0;
  std::string json;
  std::string level = "info";
  bool failed = false;
  std::size_t kept_bytes = 0;
  model::Usage usage;
  model::Slug slug = model::Slug::model_error;
};

struct Answer {
  enum class Kind : uint8_t {
    allow,   // of a permission: this once
    deny,    // text: why; the program goes on without it
    defer,   // the program is to end, and to ask again when it is resumed
    result,  // of a host_call: text, failed
  };
  Kind kind = Kind::deny;
  std::string text;
  bool failed = false;
};

class Dialect {
 public:
  virtual ~Dialect() = default;
  // What is written to its standard input first.
  virtual std::string opening() = 0;
  // Bytes of its standard output, cut anywhere.
  virtual std::vector<Heard> feed(std::string_view bytes) = 0;
  // Its standard output ended, by itself or not: what is missing is said; `finished` or `failed` is the last, if it was
  // not said before. `exit_words` tells how the process ended, `stderr_tail` what it complained about last.
  virtual std::vector<Heard> end(std::string_view exit_words, std::string_view stderr_tail) = 0;
  // Bytes for its standard input, after feed(), answer() or interrupt(); empty when there are none.
  virtual std::string take_output() = 0;
  // True: nothing more will be written; its standard input can be closed.
  virtual bool is_done_writing() const = 0;
  // Of a permission or a host_call.
  virtual void answer(uint64_t question, const Answer& answer) = 0;
  // It is to stop what it does.
  virtual void interrupt() = 0;
};

// How a kind of program is started and spoken to. `invalid`, in words for the author of the agent, when the assignment
// cannot be carried out: a model it does not speak to, no command.
Result<Launch> plan_launch(const Assignment& assignment);
// Whether a permission can wait without the process by Answer::defer; otherwise the call comes again, with the same
// name and arguments, after the session is resumed.
bool can_defer(std::string_view agent_type);
// The prompt for a program that cannot defer, when it is resumed after a human agreed to `call`.
std::string resume_prompt(const ProgramCall& call);
std::unique_ptr<Dialect> make_dialect(const Assignment& assignment);

// ── the programs themselves ──
struct Program {
  std::string_view agent_type;  // "claude-code"
  std::string_view package;     // "@anthropic-ai/claude-code"
  std::string_view version;     // pinned: what the dialect was tested with
  std::string_view binary;      // below the folder that it is installed into, for this machine
  std::string_view name;        // as it is found in PATH: "claude"
};
std::span<const Program> programs();
const Program* find_program(std::string_view agent_type);
// "claude-code.session-id"
std::string session_event_name(std::string_view agent_type);

}  // namespace sluice::harness
