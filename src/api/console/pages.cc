// The console's page and what it is made of. The page has many addresses, which it reads itself.
#include "api/asset_answers.h"
#include "api/console/handlers.h"
#include "api/request_context.h"

namespace sluice::api::console {
void get_page(const Asked& asked) {
  const auto* page = asked->surface().console.assets.find("index.html");
  if (page != nullptr) return answer_asset(asked, *page, {{"Cache-Control", "no-cache"}});
  asked->problem(model::Slug::not_found, "This server was built without its console (SLUICE_CONSOLE=OFF).");
}

void get_asset(const Asked& asked) {
  // Their names bear a hash of what is in them.
  const auto* asset = asked->surface().console.assets.find("assets/" + std::string(asked->path_param(0)));
  if (asset == nullptr) return asked->not_found();
  answer_asset(asked, *asset, {{"Cache-Control", "public, max-age=31536000, immutable"}});
}

}  // namespace sluice::api::console
