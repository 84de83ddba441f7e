// The console's page and what it is made of. The page has many addresses, which it reads itself.
#include "api/console/handlers.h"
#include "api/request_context.h"

namespace sluice::api::console {
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

void answer_asset(const Asked& asked, const Asset& asset, std::string_view caching) {
  const auto codings = asked->header("Accept-Encoding");
  const bool is_gzipped = !asset.gzipped.empty() && codings && accepts_gzip(*codings);
  const auto etag = '"' + asset.etag + (is_gzipped ? "-gz\"" : "\"");
  net::Headers headers{{"Cache-Control", std::string(caching)}, {"ETag", etag}, {"Vary", "Accept-Encoding"}};
  if (const auto known = asked->header("If-None-Match"); known && known->find(etag) != std::string_view::npos) {
    return asked->answer(304, "", "", std::move(headers));
  }
  if (is_gzipped) headers.add("Content-Encoding", "gzip");
  asked->answer(200, asset.type, std::string(is_gzipped ? asset.gzipped : asset.plain), std::move(headers));
}

}  // namespace

void get_page(const Asked& asked) {
  const auto* page = asked->surface().console.assets.find("index.html");
  if (page != nullptr) return answer_asset(asked, *page, "no-cache");
  asked->problem(model::Slug::not_found, "This server was built without its console (SLUICE_CONSOLE=OFF).");
}

void get_asset(const Asked& asked) {
  // Their names bear a hash of what is in them.
  const auto* asset = asked->surface().console.assets.find("assets/" + std::string(asked->path_param(0)));
  if (asset == nullptr) return asked->not_found();
  answer_asset(asked, *asset, "public, max-age=31536000, immutable");
}

}  // namespace sluice::api::console
