// The API reference, a page that was made of openapi/openapi.yaml when the server was built, and that file itself.
#include "api/operations/operations.h"
#include "api/request/request_context.h"
#include "base/check.h"

// The assembler puts the file into the program as it is; a string literal of its size is more than
// a compiler must take.
__asm__(
    ".section .rodata\n"
    "sluice_openapi_begin:\n"
    ".incbin \"" SLUICE_OPENAPI_FILE
    "\"\n"
    "sluice_openapi_end:\n"
    ".previous\n");
extern "C" const char sluice_openapi_begin[];
extern "C" const char sluice_openapi_end[];
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

std::string_view openapi_text() {
  return {sluice_openapi_begin, static_cast<std::size_t>(sluice_openapi_end - sluice_openapi_begin)};
}

void get_openapi(const RequestPtr& request) {
  request->answer_shared("application/yaml", request->services().documents.openapi);
}

std::string_view reference_pack() {
  return {sluice_reference_begin, static_cast<std::size_t>(sluice_reference_end - sluice_reference_begin)};
}

void get_docs(const RequestPtr& request) {
  const auto* page = request->services().documents.reference.find("index.html");
  const auto* policy = request->services().documents.reference.find("policy");
  SLUICE_CHECK(page != nullptr && policy != nullptr);
  answer_asset(request, *page,
               {{"Cache-Control", "no-cache"},
                {"Content-Security-Policy", *policy->plain},
                {"X-Content-Type-Options", "nosniff"},
                {"Referrer-Policy", "no-referrer"}});
}

}  // namespace sluice::api::operations
