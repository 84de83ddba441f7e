// The offline model: any message is an answer that ends, or hangs because it was told to.
#include "base/check.h"
#include "models/models.h"
#include "tests/fuzz/pieces.h"

using namespace sluice;
using Kind = models::ModelEvent::Kind;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  models::Prompt prompt;
  prompt.turns.push_back({.role = model::Role::user, .text = std::string(fuzz::text_of(data, size))});
  models::OfflineAnswer answer(prompt);
  // `tokens N` may ask for more words than a fuzzer has time for.
  for (int steps = 0; steps < 2'000; ++steps) {
    const auto step = answer.next();
    if (std::holds_alternative<models::OfflineAnswer::Hang>(step)) return 0;
    if (const auto* wait = std::get_if<models::OfflineAnswer::Wait>(&step)) {
      SLUICE_CHECK(wait->ms >= 0);
      continue;
    }
    const auto& said = std::get<models::OfflineAnswer::Say>(step).event;
    if (said.kind == Kind::stop || said.kind == Kind::failure) return 0;
  }
  return 0;
}
