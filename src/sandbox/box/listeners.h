// Listening sockets on the sandbox's own loopback, which are made inside, where its network is, and passed to the
// server: for the egress proxy and for the server's tools.
#pragma once

#include "sandbox/box/messages.h"

namespace sluice::sandbox::box {

// Listeners on 127.0.0.1:egress_port and :bridge_port, to be handed to the server and closed here. Otherwise none, with
// words in `trouble`.
bool open_listeners(int (&listeners)[listener_count], Trouble& trouble);

}  // namespace sluice::sandbox::box
