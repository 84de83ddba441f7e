// Keeps one call of curl away from addresses that are this machine's, its network's or its cloud's. Looks at the
// address that is really connected to, or whose kept connection is used again, so that no name can lead past it.
#pragma once

#include <curl/curl.h>

#include <string>
#include <string_view>

namespace sluice::net {

class AddressGuard final {
 public:
  // Must outlive the handle. `proxy`: through it whatever the environment says; empty: the environment's, if any.
  // What is wrong with the URL, in words; empty: nothing so far.
  std::string guard(CURL* easy, std::string_view url, const std::string& proxy);
  // The address that was refused last, in words; empty: none was.
  const std::string& refusal() const { return refusal_; }

 private:
  static curl_socket_t open_socket(void* self, curlsocktype purpose, curl_sockaddr* to);
  static int before_request(void* self, char* address, char* own_address, int port, int own_port);
  bool refuses(std::string_view text);

  std::string host_;
  std::string refusal_;
};

}  // namespace sluice::net
