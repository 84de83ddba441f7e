#include "net/address_guard.h"

#include <sys/socket.h>

#include <cstdlib>
#include <memory>

#include "base/addresses.h"

namespace sluice::net {
namespace {

struct FreeCurl {
  void operator()(CURLU* url) const { curl_url_cleanup(url); }
  void operator()(char* text) const { curl_free(text); }
};

// As curl will understand it: "http://2130706433/" leads to 127.0.0.1.
std::string part_of(CURLU* url, CURLUPart part) {
  char* text = nullptr;
  if (curl_url_get(url, part, &text, 0) != CURLUE_OK) return {};
  const std::unique_ptr<char, FreeCurl> owned(text);
  return text;
}

// The one that curl would take of the environment.
std::string proxy_of(std::string_view scheme) {
  for (const char* const name : {"https_proxy", "HTTPS_PROXY", "http_proxy", "all_proxy", "ALL_PROXY"}) {
    const std::string_view word(name);
    const bool is_for_https = word.starts_with("https") || word.starts_with("HTTPS");
    const bool is_for_all = word.starts_with("all") || word.starts_with("ALL");
    if (!is_for_all && is_for_https != (scheme == "https")) continue;
    if (const char* const value = std::getenv(name); value != nullptr && *value != 0) return value;
  }
  return {};
}

}  // namespace

std::string AddressGuard::guard(CURL* easy, std::string_view url, const std::string& proxy) {
  const std::unique_ptr<CURLU, FreeCurl> parsed(curl_url());
  if (!parsed || curl_url_set(parsed.get(), CURLUPART_URL, std::string(url).c_str(), 0) != CURLUE_OK) {
    return "The URL cannot be read.";
  }
  host_ = part_of(parsed.get(), CURLUPART_HOST);
  std::string_view host = host_;
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  if (parse_address(host) && refuses(host)) return refusal_;
  const std::string way = proxy.empty() ? proxy_of(part_of(parsed.get(), CURLUPART_SCHEME)) : proxy;
  if (!way.empty()) {  // it is the proxy that connects, and no host is left out of it
    if ((host == "localhost" || host.ends_with(".localhost")) && refuses("127.0.0.1")) return refusal_;
    curl_easy_setopt(easy, CURLOPT_PROXY, way.c_str());
    curl_easy_setopt(easy, CURLOPT_NOPROXY, "");
    return {};
  }
  curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, &AddressGuard::open_socket);
  curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, this);
  curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, &AddressGuard::before_request);
  curl_easy_setopt(easy, CURLOPT_PREREQDATA, this);
  return {};
}

bool AddressGuard::refuses(std::string_view text) {
  const auto address = parse_address(text);
  const auto why = address ? why_forbidden(*address) : std::string_view("no address that can be read");
  if (why.empty()) return false;
  refusal_ = host_ + " leads to " + std::string(text) + ", " + std::string(why) +
             ". The rule * of the server's configuration allows public addresses only; its operator can name this host "
             "there.";
  return true;
}

curl_socket_t AddressGuard::open_socket(void* self, curlsocktype, curl_sockaddr* to) {
  if (to->family != AF_INET && to->family != AF_INET6) return CURL_SOCKET_BAD;
  if (static_cast<AddressGuard*>(self)->refuses(address_of(to->addr).text())) return CURL_SOCKET_BAD;
  return socket(to->family, to->socktype | SOCK_CLOEXEC, to->protocol);
}

// A connection that another call has opened may be used again; that call may have been allowed to.
int AddressGuard::before_request(void* self, char* address, char*, int, int) {
  return static_cast<AddressGuard*>(self)->refuses(address) ? CURL_PREREQFUNC_ABORT : CURL_PREREQFUNC_OK;
}

}  // namespace sluice::net
