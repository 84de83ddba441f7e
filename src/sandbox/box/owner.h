// Whose the server's files are in a sandbox.
//
// What runs are to keep belongs to one user on disk, while each sandbox has a user of its own, so that what the kernel
// counts by user (descriptors on their way, epoll and inotify watches, pages of pipes) is each one's own. In between
// are mounts that exchange the two (an "idmapped" mount, Linux 5.12; over an overlay's layers, 5.19).
#pragma once

#include "sandbox/box/zygote.h"

namespace sluice::sandbox::box {

// Whether the file systems of the state directory and of the agent programs can do that.
bool can_exchange_owner(const Zygote& zygote, Trouble& trouble);

// In a mount namespace of the caller's own: what belongs to the owner on disk belongs to `user` in
// the state directory and among the agent programs.
bool exchange_owner(const Zygote& zygote, uint64_t user, Trouble& trouble);

}  // namespace sluice::sandbox::box
