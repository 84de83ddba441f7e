// Forms: refused, or parts that lie one after the other within the body.
#include "base/bytes.h"
#include "base/check.h"
#include "http/multipart.h"
#include "tests/fuzz/pieces.h"

using namespace sluice;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  // The first line is the Content-Type.
  const auto text = fuzz::text_of(data, size);
  const auto end = text.find('\n');
  if (end == std::string_view::npos) return 0;
  const auto body = text.substr(end + 1);
  constexpr http::MultipartLimits limits{.parts_max = 8, .head_bytes_max = 512};
  const auto parts = http::read_multipart(text.substr(0, end), body, limits);
  if (!parts) return 0;
  SLUICE_CHECK(parts.value().size() <= limits.parts_max);
  const char* at = body.data();
  for (const auto& part : parts.value()) {
    SLUICE_CHECK(part.bytes.data() > at && part.bytes.data() + part.bytes.size() < body.data() + body.size());
    SLUICE_CHECK(is_utf8(part.name) && (!part.filename || is_utf8(*part.filename)));
    at = part.bytes.data() + part.bytes.size();
  }
  return 0;
}
