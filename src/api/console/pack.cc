#include "api/console/pack.h"

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

}  // namespace sluice::api::console
