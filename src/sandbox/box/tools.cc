#include <cstring>

#include "sandbox/box/commands.h"

namespace sluice::sandbox::box {
bool is_tool(const char* name) { return name[0] == '@' && strcmp(name, "@") == 0; }
int run_tool(char**) { return 127; }
}  // namespace sluice::sandbox::box
