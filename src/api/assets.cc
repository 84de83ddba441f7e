#include "api/assets.h"

#include <algorithm>
#include <charconv>

#include "base/bytes.h"
#include "base/check.h"
#include "base/digest.h"

namespace sluice::api {
namespace {

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

}  // namespace

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

}  // namespace sluice::api
