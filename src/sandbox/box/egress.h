// The box's door to its way out: it is made inside, where the network is, and answered outside.
#pragma once

#include "sandbox/box/line.h"

namespace sluice::sandbox::box {

// A listener on 127.0.0.1:egress_port, to be handed to the server and closed here; -1 with words in `trouble`.
int open_egress_listener(Trouble& trouble);

}  // namespace sluice::sandbox::box
