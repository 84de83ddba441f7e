// Server-sent events: the same events however the bytes are cut.
#include "base/check.h"
#include "base/sse.h"
#include "tests/fuzz/pieces.h"

using namespace sluice;

namespace {

bool feed(SseReader& reader, std::string_view bytes, std::string& told) {
  auto events = reader.feed(bytes);
  if (!events) return false;
  for (const auto& event : events.value()) {
    told.append(event.type).append("\n").append(event.data).append("\n").append(event.id).append("\n");
  }
  return true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  const auto text = fuzz::text_of(data, size);
  SseReader whole_reader;
  std::string whole;
  SLUICE_CHECK(feed(whole_reader, text, whole));  // inputs are far below the limit
  SseReader cut_reader;
  std::string cut;
  fuzz::each_piece(text, [&](std::string_view piece) { SLUICE_CHECK(feed(cut_reader, piece, cut)); });
  SLUICE_CHECK(whole == cut);
  return 0;
}
