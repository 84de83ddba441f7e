// The init process of a claimed sandbox: it starts commands, reaps dead processes, and reports to the server.
#pragma once

#include "sandbox/box/messages.h"

namespace sluice::sandbox::box {

// Serves until the socket is closed; then the sandbox ends with its init. By its first order the server shows that it
// has what was kept for it.
int serve_commands(int line, Kept& kept);

// The shim's own tools, "@read" and the like. True if `name` is one; run_tool then gives its exit code.
bool is_tool(const char* name);
int run_tool(char** arguments);

}  // namespace sluice::sandbox::box
