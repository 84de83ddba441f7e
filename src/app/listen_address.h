// "127.0.0.1:8080", "[::1]:0": where to listen, and how to say it as a URL.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace sluice::app {

struct ListenAddress {
  std::string host;  // without brackets
  uint16_t port = 0;

  // "127.0.0.1:8080" or "[::1]:8080", with the port that was really taken.
  std::string authority(uint16_t real_port) const;
  // The same, for a client on this machine: an address that stands for all of them becomes loopback.
  std::string local_authority(uint16_t real_port) const;
};

Result<ListenAddress> parse_listen_address(std::string_view text);

}  // namespace sluice::app
