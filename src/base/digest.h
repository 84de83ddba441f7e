// Hashes and comparisons that an attacker may time.
#pragma once

#include <string>
#include <string_view>

namespace sluice {

// 32 raw bytes.
std::string sha256(std::string_view bytes);
std::string hmac_sha256(std::string_view key, std::string_view bytes);

// Takes as long for a near miss as for a far one.
bool equal_in_constant_time(std::string_view a, std::string_view b);

}  // namespace sluice
