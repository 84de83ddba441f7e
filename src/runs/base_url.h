// Which URLs an agent may have this server call, and which secrets may go there.
#pragma once

#include <string>
#include <string_view>

#include "net/net.h"
#include "vault/vault.h"

namespace sluice::runs {

// "example.com" of "https://user@example.com:8443/path".
std::string_view host_of(std::string_view url);
// Its port; that of its scheme where it names none, 0 where neither says.
int port_of(std::string_view url);
// Not bound to other hosts than this one.
bool may_be_sent(const vault::Secret& secret, std::string_view host);

}  // namespace sluice::runs
