// Whether and when a model is asked again after a question that failed. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>

#include "inference/inference.h"
#include "model/event.h"
#include "model/model.h"
#include "world/world.h"

namespace sluice::native {

struct RetryOptions {
  int retry_count_max = 4;
  int64_t retry_first_ms = 500;  // doubled each time, with up to a quarter of jitter
  int64_t retry_wait_ms_max = 60'000;
};

struct Retry {
  int64_t wait_ms = 0;
};
struct GiveUp {
  model::Slug slug;
  std::string detail;
};

// `attempt` failed with `fault`, after `emitted_bytes` of its answer were emitted.
std::variant<Retry, GiveUp> decide_retry(const inference::ModelFailure& fault, int attempt, std::size_t emitted_bytes,
                                         const RetryOptions& options, world::Entropy& entropy);

// The line of the trace that announces it.
model::events::Log retry_warning(std::string_view text, int attempt, int64_t retry_in_ms);

}  // namespace sluice::native
