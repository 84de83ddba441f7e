// What the answers of others' HTTP servers say. Pure.
#pragma once

#include <string>
#include <string_view>

#include "net/net.h"

namespace sluice::tools {

// "application/json", whatever its case and its parameters; empty: none is named.
std::string media_type_of(const net::Headers& headers);

// "status 503: upstream is down": the first words of the body, on one line.
std::string status_words(int status, std::string_view body);

}  // namespace sluice::tools
