// A body of any kind, from a damaged disk or an odd runner: decoded without fail, and what comes of it is said the same
// way ever after.
#include "base/check.h"
#include "model/event_codec.h"
#include "tests/fuzz/pieces.h"

using namespace sluice;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  const auto bytes = fuzz::text_of(data, size);
  if (bytes.empty()) return 0;
  const auto kind = static_cast<model::EventKind>(static_cast<uint8_t>(bytes.front()) % 26 + 1);
  const model::RunEvent event{kind, {}, std::string(bytes.substr(1))};
  const auto said = model::decode(event);
  SLUICE_CHECK(model::kind_of(said) == kind);
  const auto once = model::encode(said, event.at);
  SLUICE_CHECK(once.kind == kind);
  SLUICE_CHECK(model::encode(model::decode(once), event.at) == once);
  return 0;
}
