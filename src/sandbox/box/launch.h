// The box program under an OCI runtime, which does what zygote and init do elsewhere.
//
//   server ── launch ──▶ launch      lays out the root and the workspace in a mount namespace of its
//          ◀── claimed, failed ──    own, and turns into the runtime
//          ◀── ready ── guest        process 1 of the container, on the same line: serves commands
#pragma once

namespace sluice::sandbox::box {

int run_launch();
int run_guest();

}  // namespace sluice::sandbox::box
