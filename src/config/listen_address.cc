#include <charconv>

#include "config/config.h"

namespace sluice::config {

std::string ListenAddress::authority(uint16_t real_port) const {
  const bool is_v6 = host.find(':') != std::string::npos;
  return (is_v6 ? "[" + host + "]" : host) + ":" + std::to_string(real_port);
}

std::string ListenAddress::local_authority(uint16_t real_port) const {
  if (host == "0.0.0.0") return ListenAddress{"127.0.0.1"}.authority(real_port);
  if (host == "::") return ListenAddress{"::1"}.authority(real_port);
  return authority(real_port);
}

Result<ListenAddress> parse_listen_address(std::string_view text) {
  const Error wrong{
      ErrorKind::invalid,
      "server.listen must be ADDRESS:PORT, like 127.0.0.1:8080 or [::1]:8080, not \"" + std::string(text) + "\""};
  const auto colon = text.rfind(':');
  if (colon == std::string_view::npos) return wrong;
  auto host = text.substr(0, colon);
  const auto port = text.substr(colon + 1);
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != std::string_view::npos) {
    return wrong;
  }
  ListenAddress address{std::string(host.empty() ? "0.0.0.0" : host)};
  const auto end = port.data() + port.size();
  const auto read = std::from_chars(port.data(), end, address.port);
  if (port.empty() || read.ec != std::errc() || read.ptr != end) return wrong;
  return address;
}

}  // namespace sluice::config
