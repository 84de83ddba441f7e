// A journal row from a damaged disk: refused, or exactly what we would have written.
#include "base/check.h"
#include "model/run_event.h"
#include "tests/fuzz/pieces.h"

using namespace sluice;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  const auto bytes = fuzz::text_of(data, size);
  auto events = model::decode_batch(bytes);
  if (!events) {
    SLUICE_CHECK(events.error().kind == ErrorKind::corrupt);
    return 0;
  }
  SLUICE_CHECK(model::encode_batch(events.value()) == bytes);
  return 0;
}
