// URLs that others have this server call, and headers that they have it send: what is plain is allowed by itself and by
// nothing else, and no header can frame a request.
#include "base/check.h"
#include "http/headers.h"
#include "http/url_rules.h"
#include "tests/fuzz/pieces.h"

using namespace sluice;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  const auto text = fuzz::text_of(data, size);
  const std::string elsewhere[] = {"https://elsewhere.example/only"};
  if (http::is_allowed(text, elsewhere)) {
    std::string lower_case(text);
    for (char& c : lower_case) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    SLUICE_CHECK(lower_case.starts_with("https://elsewhere.example"));
  }
  if (http::is_plain_url(text)) {
    SLUICE_CHECK(text.find_first_of("@#?%\\ \t\r\n") == std::string_view::npos);
    SLUICE_CHECK(text.find("/../") == std::string_view::npos);
    const std::string own[] = {std::string(text)};
    if (http::is_url_rule(text)) SLUICE_CHECK(http::is_allowed(text, own));
  }
  const auto colon = text.find(':');
  if (colon == std::string_view::npos) return 0;
  const auto name = text.substr(0, colon);
  const auto value = text.substr(colon + 1);
  if (!http::fault_of_header(name, value).empty()) return 0;
  SLUICE_CHECK(!name.empty() && name.find_first_of(" \r\n\t") == std::string_view::npos);
  SLUICE_CHECK(value.find_first_of(std::string_view("\r\n\0", 3)) == std::string_view::npos);
  return 0;
}
