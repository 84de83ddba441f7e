#include "api/integration/repository_rules.h"

#include <algorithm>

namespace sluice::api::integration {
namespace {

bool is_visible_ascii(char c) { return c > ' ' && c <= '~'; }
bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

constexpr std::string_view schemes[] = {"https", "http", "ssh", "git"};

// One part of a ref, between slashes.
bool is_ref_part(std::string_view part) { return !part.empty() && !part.starts_with('.') && !part.ends_with(".lock"); }

}  // namespace

std::string_view fault_of_repository_url(std::string_view url) {
  if (!std::ranges::all_of(url, is_visible_ascii)) return "must be visible ASCII characters without spaces";
  const auto colon = url.find("://");
  const auto scheme = url.substr(0, colon);
  if (colon == std::string_view::npos || std::ranges::find(schemes, scheme) == std::end(schemes)) {
    return "must be an https, http, ssh or git URL, such as https://host/path or ssh://git@host/path";
  }
  const auto rest = url.substr(colon + 3);
  auto host = rest.substr(0, rest.find('/'));
  if (const auto at = host.rfind('@'); at != std::string_view::npos) {
    const auto user = host.substr(0, at);
    if (scheme != "ssh" || user.find(':') != std::string_view::npos) {
      return "must not carry credentials; name one with credential instead";
    }
    if (user.empty() || user.starts_with('-')) return "must have a plain user before the @";
    host.remove_prefix(at + 1);
  }
  if (host.empty() || host.starts_with('-') || host.starts_with(':')) return "must name a host";
  if (rest.find_first_of("#\\") != std::string_view::npos) return "must have no fragment and no backslash";
  if (rest.find('/') == std::string_view::npos) return "must have a path";
  return {};
}

std::string_view fault_of_ref(std::string_view ref) {
  if (ref.starts_with('-')) return "must not begin with a dash";
  const auto is_bad = [](char c) {
    return static_cast<unsigned char>(c) <= ' ' || c == '\x7f' ||
           std::string_view("~^:?*[\\").find(c) != std::string_view::npos;
  };
  if (std::ranges::any_of(ref, is_bad)) return "must have no spaces, control characters or ~ ^ : ? * [ \\";
  if (ref == "@" || ref.find("@{") != std::string_view::npos || ref.find("..") != std::string_view::npos ||
      ref.ends_with('.')) {
    return "must be the name of a branch or tag, or a commit, as git would take it";
  }
  for (;;) {
    const auto slash = ref.find('/');
    if (!is_ref_part(ref.substr(0, slash))) {
      return "must have no empty part, none that begins with a dot, none that ends with .lock";
    }
    if (slash == std::string_view::npos) return {};
    ref.remove_prefix(slash + 1);
  }
}

std::string_view fault_of_credential_alias(std::string_view alias) {
  const bool fine = !alias.empty() && alias.size() <= 64 && is_upper(alias[0]) &&
                    std::ranges::all_of(alias, [](char c) { return is_upper(c) || is_digit(c) || c == '_'; });
  return fine ? "" : "must be the alias of a credential: 1 to 64 of A-Z, 0-9 and _, beginning with a letter";
}

}  // namespace sluice::api::integration
