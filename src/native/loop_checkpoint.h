// Where a run stands that waits for a human, as the journal keeps it: another Work, perhaps of another server, goes
// on exactly there. What the dispatch says again (the prompt, the history) is not in it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/model.h"
#include "models/models.h"
#include "tools/tools.h"

namespace sluice::native {

struct LoopCheckpoint {
  std::vector<models::PromptTurn> turns;  // after the prompt; the calls of the last are those under way
  tools::CallState calls;
  sessions::SessionState session;
  int64_t round_count = 1;
  int64_t step_count = 0;
  int64_t said_bytes = 0;
  bool has_spoken = false;  // real words came: no more filler
  int64_t filler_count = 0;
  int64_t runtime_used_ms = 0;
  model::Usage usage;
};

std::string to_json(const LoopCheckpoint& checkpoint);
// `corrupt`, in words, for anything that to_json() does not write.
Result<LoopCheckpoint> checkpoint_from_json(std::string_view text);

}  // namespace sluice::native
