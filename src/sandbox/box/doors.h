// The box's doors, which are made inside, where its network is, and answered outside: to its way out, and to the
// server's tools.
#pragma once

#include "sandbox/box/line.h"

namespace sluice::sandbox::box {

// Listeners on 127.0.0.1:egress_port and :bridge_port, to be handed to the server and closed here. Otherwise none, with
// words in `trouble`.
bool open_doors(int (&doors)[door_count], Trouble& trouble);

}  // namespace sluice::sandbox::box
