// The JSON door: whatever is read is written so that it is read the same, and written the same.
#include "base/bytes.h"
#include "base/json.h"
#include "tests/fuzz/pieces.h"

using namespace sluice;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  const auto text = fuzz::text_of(data, size);
  auto document = json::Document::parse(text);
  if (!document) return 0;
  SLUICE_CHECK(is_utf8(text));
  const std::string once = document.value().root().to_text();
  auto again = json::Document::parse(once);
  SLUICE_CHECK(again);
  SLUICE_CHECK(again.value().root().kind() == document.value().root().kind());
  SLUICE_CHECK(again.value().root().to_text() == once);
  return 0;
}
