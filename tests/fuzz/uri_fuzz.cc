// Percent-decoding and query strings: malformed, or decoded without a NUL.
#include "base/check.h"
#include "http/uri.h"
#include "tests/fuzz/pieces.h"

using namespace sluice;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  const auto text = fuzz::text_of(data, size);
  if (const auto decoded = http::percent_decode(text)) {
    SLUICE_CHECK(decoded->size() <= text.size());
    SLUICE_CHECK(text.find('%') != std::string_view::npos || *decoded == text);
    SLUICE_CHECK(decoded->find('\0') == std::string::npos || text.find('\0') != std::string_view::npos);
  }
  if (const auto parameters = http::parse_query(text)) {
    std::size_t bytes = 0;
    for (const auto& [name, value] : *parameters) bytes += name.size() + value.size();
    SLUICE_CHECK(bytes <= text.size());
  }
  return 0;
}
