// Where a run of an agent program stands that waits for a human, as the journal keeps it: another process of the
// program, perhaps on another server, goes on there with the same session.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/model.h"
#include "programs/program_steps.h"
#include "sessions/sessions.h"
#include "tools/tools.h"

namespace sluice::programs {

// What was asked about a call, and so what becomes of it once a human agreed.
enum class ProgramAsked : uint8_t {
  leave,   // the policy asks: the program may, or we carry it out
  answer,  // request_approval, request_secret: it is answered
  client,  // a tool of the client: its result is the answer
};

struct AskedCall {
  ProgramAsked asked = ProgramAsked::leave;
  std::string step_id;
  std::string name;
  std::string arguments;                    // JSON
  std::vector<model::RequestedItem> items;  // of ProgramAsked::answer
};

// A human agreed, and the program has not come for it yet.
struct DecidedCall {
  std::string name;
  std::string arguments;                   // JSON
  std::optional<runs::ToolAnswer> answer;  // empty: it may be done
};

struct ProgramCheckpoint {
  std::string agent_type;
  std::string session_id;    // empty: not known
  bool is_deferred = false;  // the program goes on by itself when it is resumed
  std::vector<AskedCall> asked;
  std::vector<DecidedCall> decided;
  std::vector<OpenStep> steps;
  sessions::SessionState session;
  int64_t step_count = 0;
  std::string said;        // the answer so far, as it was emitted
  int64_t said_bytes = 0;  // of all that was said
  bool has_spoken = false;
  int64_t filler_count = 0;
  int64_t runtime_used_ms = 0;
  model::Usage usage;
};

std::string to_json(const ProgramCheckpoint& checkpoint);
// `corrupt`, in words, for anything that to_json() does not write.
Result<ProgramCheckpoint> program_checkpoint_from_json(std::string_view text);

}  // namespace sluice::programs
