// Turns the rules of a plan into the program that the kernel runs before every system call.
#pragma once

#include <span>

#include "base/fd.h"
#include "base/result.h"
#include "sandbox/plan.h"

namespace sluice::sandbox {

// A file in memory that holds the filter, ready to be loaded.
Result<OwnedFd> compile_filter(std::span<const SyscallRule> rules);

}  // namespace sluice::sandbox
