#include "api/operations/handlers.h"
#include "api/operations/reference.h"
#include "api/request_context.h"

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

namespace sluice::api::operations {

std::string_view openapi_text() {
  return {sluice_openapi_begin, static_cast<std::size_t>(sluice_openapi_end - sluice_openapi_begin)};
}

void get_openapi(const Asked& asked) { asked->answer_shared("application/yaml", asked->surface().openapi); }

}  // namespace sluice::api::operations
