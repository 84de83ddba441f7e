// A program started the plain way, and how long it took to say something.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

namespace sluice::bench {

using Clock = std::chrono::steady_clock;

double ms_since(Clock::time_point start);

struct Spawned {
  pid_t pid = 0;
  int out = -1;  // what it prints; negative if it could not be started
};

Spawned spawn(const std::vector<std::string>& words);
// The same inside a mount namespace, as with setns(2).
Spawned spawn_in(int mount_namespace, const std::vector<std::string>& words);

// Waits for the end; the exit status.
int wait_for(const Spawned& child);

// Milliseconds since `start` when the first byte came, and the child has ended; negative if none came.
double first_byte(const Spawned& child, Clock::time_point start);

}  // namespace sluice::bench
