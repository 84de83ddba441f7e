#include "api/operations/reference.h"

#include "api/asset_answers.h"
#include "api/operations/handlers.h"
#include "base/check.h"

__asm__(
    ".section .rodata\n"
    "sluice_reference_begin:\n"
    ".incbin \"" SLUICE_REFERENCE_PACK
    "\"\n"
    "sluice_reference_end:\n"
    ".previous\n");
extern "C" const char sluice_reference_begin[];
extern "C" const char sluice_reference_end[];

namespace sluice::api::operations {

std::string_view reference_pack() {
  return {sluice_reference_begin, static_cast<std::size_t>(sluice_reference_end - sluice_reference_begin)};
}

void get_docs(const Asked& asked) {
  const auto* page = asked->surface().reference.find("index.html");
  const auto* policy = asked->surface().reference.find("policy");
  SLUICE_CHECK(page != nullptr && policy != nullptr);
  answer_asset(asked, *page,
               {{"Cache-Control", "no-cache"},
                {"Content-Security-Policy", *policy->plain},
                {"X-Content-Type-Options", "nosniff"},
                {"Referrer-Policy", "no-referrer"}});
}

}  // namespace sluice::api::operations
