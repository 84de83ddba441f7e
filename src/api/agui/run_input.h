// The body with which an AG-UI client starts or continues a run (RunAgentInput).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/inputs/decisions.h"
#include "api/request/reading.h"
#include "api/request/request_context.h"
#include "wire/wire.h"

namespace sluice::api::agui {

// Kinds of clients: what one of them needs another one refuses.
enum class Peer : uint8_t {
  current,   // names its protocolVersion
  old,       // before 1.0
  tanstack,  // TanStack AI: has `data`, or the header X-Run-Id
};

// An answer to an interrupt.
struct ResumeEntry {
  std::string interrupt_id;
  bool is_cancelled = false;  // the user declined to answer
  std::optional<bool> approved;
  std::string payload;  // JSON, or the text itself where it is one
  bool has_payload = false;
  std::optional<gates::Signature> signature;
  std::vector<SecretInput> secrets;
  std::optional<std::string> note;
};

struct RunInput {
  Peer peer = Peer::old;
  model::RunExtras extras;                   // with the client's names
  std::string prompt_id;                     // of the user's message
  std::string prompt;                        // of the user's message, if that is the last; empty: it is not
  bool ends_with_user = false;               // the last message is the user's, whatever it says
  std::vector<model::ClientResult> results;  // of the tool messages after the last word of user or agent
  std::vector<ResumeEntry> resume;
  bool hold = false;  // wait if all slots are taken, instead of being refused
  const model::AguiNames& names() const { return *extras.agui; }
};

// Empty: the body is invalid, and the request has been answered.
std::optional<RunInput> read_run_input(const RequestPtr& request);

// The format that the client accepts: server-sent events, or one event a line.
wire::Format format_for(const RequestPtr& request, Peer peer);

// TanStack calls the wait for the call step_3 "client_tool_step_3".
inline constexpr std::string_view client_tool_prefix = "client_tool_";

}  // namespace sluice::api::agui
