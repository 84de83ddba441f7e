// The console's page and its parts. The page has many addresses, which it reads itself.
#include "api/answers/assets.h"
#include "api/console/console.h"
#include "api/request/request_context.h"

#ifdef SLUICE_CONSOLE_PACK
// The assembler puts the file into the program as it is.
__asm__(
    ".section .rodata\n"
    "sluice_console_begin:\n"
    ".incbin \"" SLUICE_CONSOLE_PACK
    "\"\n"
    "sluice_console_end:\n"
    ".previous\n");
extern "C" const char sluice_console_begin[];
extern "C" const char sluice_console_end[];
#endif

namespace sluice::api::console {

std::string_view built_in_pack() {
#ifdef SLUICE_CONSOLE_PACK
  return {sluice_console_begin, static_cast<std::size_t>(sluice_console_end - sluice_console_begin)};
#else
  return {};
#endif
}

void get_page(const RequestPtr& request) {
  const auto* page = request->services().console.assets.find("index.html");
  if (page != nullptr) return answer_asset(request, *page, {{"Cache-Control", "no-cache"}});
  request->problem(model::Slug::not_found, "This server was built without its console (SLUICE_CONSOLE=OFF).");
}

void get_asset(const RequestPtr& request) {
  // The names of assets contain a hash of their content.
  const auto* asset = request->services().console.assets.find("assets/" + std::string(request->path_param(0)));
  if (asset == nullptr) return request->not_found();
  answer_asset(request, *asset, {{"Cache-Control", "public, max-age=31536000, immutable"}});
}

}  // namespace sluice::api::console
