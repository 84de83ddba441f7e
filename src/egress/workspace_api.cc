#include "egress/workspace_api.h"

#include <algorithm>

#include "http/text.h"

namespace sluice::egress {
namespace {

Error no_url() { return {ErrorKind::invalid, "the workspace's address is not a URL that a sandbox could be led to"}; }

bool is_dots(std::string_view segment) { return segment == "." || segment == ".."; }

}  // namespace

Result<Forwarding> forwarding_to(std::string_view base_url, std::string_view token) {
  Forwarding out;
  out.to.tls = base_url.starts_with("https://");
  if (!out.to.tls && !base_url.starts_with("http://")) return no_url();
  std::string_view rest = base_url.substr(base_url.find("//") + 2);
  const std::string_view authority = rest.substr(0, rest.find('/'));
  rest.remove_prefix(authority.size());
  while (rest.ends_with('/')) rest.remove_suffix(1);
  const auto is_odd = [](unsigned char c) { return c <= ' ' || c >= 0x7f || c == '?' || c == '#'; };
  if (std::ranges::any_of(rest, is_odd) || token.empty() || std::ranges::any_of(token, is_odd)) return no_url();
  if (parse_authority(authority, out.to.tls ? 443 : 80, out.to)) return no_url();
  out.to.is_own_server = true;
  out.to.reach = Reach::anywhere;
  out.base_path = rest;
  out.authorization = "Bearer " + std::string(token);
  return out;
}

std::optional<Refusal> check_workspace_path(std::string_view path) {
  Refusal refusal{400, "a path of the workspace has neither dot segments nor encoded slashes or dots"};
  const std::string plain = http::lower_case(path);
  if (!plain.starts_with('/') || plain.find('\\') != std::string::npos) return refusal;
  // Encoded once or more often: each decoding leaves a percent sign less.
  for (const auto* const code : {"%2e", "%2f", "%5c", "%25", "%00"}) {
    if (plain.find(code) != std::string::npos) return refusal;
  }
  for (std::size_t from = 1;;) {
    const auto to = std::min(plain.find('/', from), plain.size());
    if (is_dots(std::string_view(plain).substr(from, to - from))) return refusal;
    if (to == plain.size()) return std::nullopt;
    from = to + 1;
  }
}

}  // namespace sluice::egress
