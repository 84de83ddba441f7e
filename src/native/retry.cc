#include "native/retry.h"

#include <algorithm>
#include <array>

namespace sluice::native {

using model::Slug;

namespace {

std::string sentence(std::string words) {
  if (!words.ends_with('.') && !words.ends_with('!') && !words.ends_with('?')) words += '.';
  return words;
}

uint64_t chance(world::Entropy& entropy) {
  std::array<uint8_t, 8> noise{};
  entropy.fill(noise);
  uint64_t value = 0;
  for (const uint8_t byte : noise) value = value << 8 | byte;
  return value;
}

int64_t wait_ms_of(const inference::ModelFailure& fault, int attempt, const RetryOptions& options,
                   world::Entropy& entropy) {
  int64_t wait_ms = options.retry_first_ms;
  for (int i = 1; i < attempt && wait_ms < options.retry_wait_ms_max; ++i) wait_ms *= 2;
  wait_ms = std::min(wait_ms, options.retry_wait_ms_max);
  // Clients that were refused together come back at different moments.
  wait_ms += static_cast<int64_t>(chance(entropy) % static_cast<uint64_t>(wait_ms / 4 + 1));
  return std::max(wait_ms, fault.retry_after_ms.value_or(0));
}

}  // namespace

std::variant<Retry, GiveUp> decide_retry(const inference::ModelFailure& fault, int attempt, std::size_t emitted_bytes,
                                         const RetryOptions& options, world::Entropy& entropy) {
  if (emitted_bytes > 0) {
    return GiveUp{Slug::model_stream_cut,
                  "After " + std::to_string(emitted_bytes) + " bytes of its answer were sent: " + fault.what};
  }
  if (!fault.may_retry) return GiveUp{fault.slug, fault.what};
  if (attempt > options.retry_count_max) {
    return GiveUp{fault.slug, "Gave up after " + std::to_string(attempt) + " attempts. " + fault.what};
  }
  if (fault.retry_after_ms.value_or(0) > options.retry_wait_ms_max) {
    return GiveUp{fault.slug, sentence(fault.what) + " It asks to be left alone for " +
                                  std::to_string(*fault.retry_after_ms / 1000) + " s, longer than the " +
                                  std::to_string(options.retry_wait_ms_max / 1000) + " s that this server waits."};
  }
  return Retry{wait_ms_of(fault, attempt, options, entropy)};
}

model::events::Log retry_warning(std::string_view text, int attempt, int64_t retry_in_ms) {
  return {
      .level = "warn", .text = std::string(inference::readable(text)), .attempt = attempt, .retry_in_ms = retry_in_ms};
}

}  // namespace sluice::native
