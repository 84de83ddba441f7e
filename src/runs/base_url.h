// What is known about URLs that this server calls: their hosts, the secrets that may go there, and Basic credentials.
// Pure.
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

// What follows "Basic " in an Authorization header (RFC 7617).
std::string basic_credentials(std::string_view user, std::string_view password);

}  // namespace sluice::runs
