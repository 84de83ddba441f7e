// A stored message: refused, or read into what is written and read the same again.
#include "base/check.h"
#include "model/json.h"
#include "tests/fuzz/pieces.h"

using namespace sluice;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  auto message = model::message_from_json(fuzz::text_of(data, size));
  if (!message) {
    SLUICE_CHECK(message.error().kind == ErrorKind::corrupt);
    return 0;
  }
  const std::string once = model::to_json(message.value());
  auto again = model::message_from_json(once);
  SLUICE_CHECK(again);
  SLUICE_CHECK(model::to_json(again.value()) == once);
  return 0;
}
