// The small words of the API: ids, times, base64url, numbers of a journal. Refused, or what is written again as it was.
#include "api/request/request_context.h"
#include "base/bytes.h"
#include "base/check.h"
#include "base/time.h"
#include "base/varint.h"
#include "model/model.h"
#include "tests/fuzz/pieces.h"

using namespace sluice;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  const auto text = fuzz::text_of(data, size);
  if (const auto id = model::RunId::parse(text)) SLUICE_CHECK(model::RunId::parse(id->text()) == id);
  if (const auto at = from_rfc3339(text)) SLUICE_CHECK(from_rfc3339(to_rfc3339(*at)) == at);
  if (const auto bytes = from_base64url(text)) SLUICE_CHECK(to_base64url(*bytes) == text);
  SLUICE_CHECK(from_base64url(to_base64url(text)) == text);
  if (api::is_traceparent(text)) SLUICE_CHECK(text.size() >= 55 && is_utf8(text));
  if (is_utf8(text)) SLUICE_CHECK(utf8_length(text) <= text.size());
  ByteReader reader(text);
  while (const auto number = reader.varint()) {
    std::string again;
    append_varint(again, *number);
    SLUICE_CHECK(ByteReader(again).varint() == number);
  }
  return 0;
}
