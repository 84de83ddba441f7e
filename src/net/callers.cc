#include "net/callers.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <cstring>

namespace sluice::net {
namespace {

constexpr std::size_t network_bytes = 8;

std::string key_of(std::string_view address) {
  std::string text(address);
  in6_addr v6{};
  if (inet_pton(AF_INET6, text.c_str(), &v6) != 1) return text;
  if (IN6_IS_ADDR_V4MAPPED(&v6)) return text;
  std::string key(network_bytes, '\0');
  std::memcpy(key.data(), &v6, network_bytes);
  return key;
}

}  // namespace

std::shared_ptr<Origin> Origins::of(std::string_view address) {
  const std::string key = key_of(address);
  auto& found = (*known_)[key];
  if (auto origin = found.lock()) return origin;
  const auto forget = [key, known = std::weak_ptr(known_)](Origin* origin) {
    if (const auto all = known.lock()) all->erase(key);
    delete origin;
  };
  std::shared_ptr<Origin> origin(new Origin, forget);
  found = origin;
  return origin;
}

}  // namespace sluice::net
