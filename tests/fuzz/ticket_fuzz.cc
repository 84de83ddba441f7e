// What a stranger may show instead of a key: cookies, bearers of boxes. Nothing that we have not sealed opens anything.
#include "api/console/session.h"
#include "base/check.h"
#include "tests/fuzz/pieces.h"
#include "vault/vault.h"

using namespace sluice;
using namespace sluice::api;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  const auto text = fuzz::text_of(data, size);
  const console::SessionSeal seal("a root that nobody knows");
  const net::Headers headers{{"Cookie", std::string(text)}};
  if (const auto cookie = console::find_cookie(headers, console::cookie_name("http://127.0.0.1:8080"))) {
    SLUICE_CHECK(cookie->size() < text.size() && cookie->find(';') == std::string_view::npos);
    SLUICE_CHECK(!seal.open(*cookie, Timestamp{0}));
  }
  SLUICE_CHECK(!seal.open(text, Timestamp{0}));
  SLUICE_CHECK(!vault::owner_of_bearer("a root that nobody knows", text));
  SLUICE_CHECK(!vault::owner_of_bearer("", text));
  return 0;
}
