#include <cstring>

#include "sandbox/box/zygote.h"

// Started by the server from memory, with its socket as descriptor 3. As the zygote it bears every
// other process of a sandbox; under an OCI runtime it is first what starts the runtime, then its guest.
int main(int argc, char** argv) {
  using namespace sluice::sandbox::box;
  const char* const face = argc > 1 ? argv[1] : "";
  if (strcmp(face, "launch") == 0) return run_launch();
  if (strcmp(face, "guest") == 0) return run_guest();
  return run_zygote();
}
