// The program that works inside and around sandboxes (sandbox/), carried in this one and started from memory.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/fd.h"
#include "base/result.h"

namespace sluice::sandbox {

struct StartedProgram {
  pid_t process = -1;
  OwnedFd socket;
};

// Never forks this process, which may be large and has secrets in its memory. `face`: see box/main.cc.
Result<StartedProgram> start_box_program(std::string face = {});

}  // namespace sluice::sandbox
