#include "api/answers/assets.h"

#include <algorithm>
#include <charconv>

#include "base/bytes.h"
#include "base/check.h"
#include "base/digest.h"

// The assembler puts the files into the program as they are; a string literal of their size is more than a compiler
// must take.
#define SLUICE_FILE_IN_PROGRAM(name, path)                                                          \
  __asm__(".section .rodata\n" #name "_begin:\n.incbin \"" path "\"\n" #name "_end:\n.previous\n"); \
  extern "C" const char name##_begin[];                                                             \
  extern "C" const char name##_end[]

#ifdef SLUICE_CONSOLE_PACK
SLUICE_FILE_IN_PROGRAM(sluice_console, SLUICE_CONSOLE_PACK);
#endif
SLUICE_FILE_IN_PROGRAM(sluice_openapi, SLUICE_OPENAPI_FILE);
SLUICE_FILE_IN_PROGRAM(sluice_reference, SLUICE_REFERENCE_PACK);

namespace sluice::api {
namespace {

std::string_view between(const char* begin, const char* end) { return {begin, static_cast<std::size_t>(end - begin)}; }

struct Ending {
  std::string_view ending;
  std::string_view type;
};
constexpr Ending types[] = {
    {".html", "text/html; charset=utf-8"},
    {".js", "text/javascript; charset=utf-8"},
    {".css", "text/css; charset=utf-8"},
    {".svg", "image/svg+xml"},
    {".png", "image/png"},
    {".woff2", "font/woff2"},
    {".json", "application/json"},
};

std::string_view type_of(std::string_view name) {
  for (const auto& known : types) {
    if (name.ends_with(known.ending)) return known.type;
  }
  return "application/octet-stream";
}

std::string_view cut(std::string_view& text, char end) {
  const auto at = text.find(end);
  SLUICE_CHECK(at != std::string_view::npos);
  const auto part = text.substr(0, at);
  text.remove_prefix(at + 1);
  return part;
}

std::size_t size_of(std::string_view digits) {
  std::size_t size = 0;
  const auto [end, failed] = std::from_chars(digits.data(), digits.data() + digits.size(), size);
  SLUICE_CHECK(failed == std::errc{} && end == digits.data() + digits.size());
  return size;
}

std::string_view take(std::string_view& bytes, std::size_t size) {
  SLUICE_CHECK(size <= bytes.size());
  const auto taken = bytes.substr(0, size);
  bytes.remove_prefix(size);
  return taken;
}

constexpr std::string_view whitespace = " \t";

// Whether `list` ("gzip, deflate;q=0.5") has this coding, and not with q=0.
bool accepts_gzip(std::string_view list) {
  while (!list.empty()) {
    auto entry = list.substr(0, list.find(','));
    list.remove_prefix(std::min(list.size(), entry.size() + 1));
    entry.remove_prefix(std::min(entry.size(), entry.find_first_not_of(whitespace)));
    const auto name = entry.substr(0, entry.find_first_of("; \t"));
    if (name != "gzip" && name != "*") continue;
    const auto q = entry.find("q=");
    return q == std::string_view::npos || entry.find_first_of("123456789", q) != std::string_view::npos;
  }
  return false;
}

}  // namespace

std::string_view console_pack() {
#ifdef SLUICE_CONSOLE_PACK
  return between(sluice_console_begin, sluice_console_end);
#else
  return {};
#endif
}

std::string_view openapi_text() { return between(sluice_openapi_begin, sluice_openapi_end); }

std::string_view reference_pack() { return between(sluice_reference_begin, sluice_reference_end); }

Assets::Assets(std::string_view pack) {
  if (pack.empty()) return;
  const auto index_end = pack.find("\n\n");
  SLUICE_CHECK(index_end != std::string_view::npos);
  auto index = pack.substr(0, index_end + 1);
  auto bytes = pack.substr(index_end + 2);
  while (!index.empty()) {
    auto line = cut(index, '\n');
    Asset asset{.name = cut(line, ' ')};
    const auto plain_size = size_of(cut(line, ' '));
    asset.type = type_of(asset.name);
    asset.plain = std::make_shared<const std::string>(take(bytes, plain_size));
    if (const auto gzipped = take(bytes, size_of(line)); !gzipped.empty()) {
      asset.gzipped = std::make_shared<const std::string>(gzipped);
    }
    asset.etag = to_hex(sha256(*asset.plain)).substr(0, 32);
    assets_.push_back(std::move(asset));
  }
}

const Asset* Assets::find(std::string_view name) const {
  const auto found = std::ranges::find(assets_, name, &Asset::name);
  return found == assets_.end() ? nullptr : &*found;
}

void answer_asset(const RequestPtr& request, const Asset& asset, net::Headers headers) {
  const auto codings = request->header("Accept-Encoding");
  const bool is_gzipped = asset.gzipped && codings && accepts_gzip(*codings);
  const auto etag = '"' + asset.etag + (is_gzipped ? "-gz\"" : "\"");
  headers.add("ETag", etag);
  headers.add("Vary", "Accept-Encoding");
  if (const auto known = request->header("If-None-Match"); known && known->find(etag) != std::string_view::npos) {
    return request->answer(304, "", "", std::move(headers));
  }
  if (is_gzipped) headers.add("Content-Encoding", "gzip");
  request->answer_shared(asset.type, is_gzipped ? asset.gzipped : asset.plain, std::move(headers));
}

}  // namespace sluice::api
