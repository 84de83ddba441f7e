#include "api/asset_answers.h"

#include <algorithm>

namespace sluice::api {
namespace {

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

void answer_asset(const Asked& asked, const Asset& asset, net::Headers headers) {
  const auto codings = asked->header("Accept-Encoding");
  const bool is_gzipped = asset.gzipped && codings && accepts_gzip(*codings);
  const auto etag = '"' + asset.etag + (is_gzipped ? "-gz\"" : "\"");
  headers.add("ETag", etag);
  headers.add("Vary", "Accept-Encoding");
  if (const auto known = asked->header("If-None-Match"); known && known->find(etag) != std::string_view::npos) {
    return asked->answer(304, "", "", std::move(headers));
  }
  if (is_gzipped) headers.add("Content-Encoding", "gzip");
  asked->answer_shared(asset.type, is_gzipped ? asset.gzipped : asset.plain, std::move(headers));
}

}  // namespace sluice::api
