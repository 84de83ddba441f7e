#include "tools/mcp_discovery.h"

#include <strings.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/json.h"
#include "tools/http_answer.h"
#include "vault/vault.h"

namespace sluice::tools {
namespace {

constexpr std::size_t url_bytes_max = 2'048;
constexpr std::size_t token_bytes_max = 16 * 1024;  // servers refuse longer headers
constexpr std::size_t scope_bytes_max = 1'024;
constexpr int64_t expires_in_seconds_max = 365LL * 86'400;

Error invalid(std::string what) { return {ErrorKind::invalid, std::move(what)}; }

bool equal_whatever_case(std::string_view a, std::string_view b) {
  return a.size() == b.size() && strncasecmp(a.data(), b.data(), a.size()) == 0;
}

std::string_view without_slash(std::string_view url) {
  if (url.ends_with('/')) url.remove_suffix(1);
  return url;
}

bool is_usable_url(std::string_view url) { return url.size() <= url_bytes_max && net::is_plain_url(url); }

// "https://host:port" and the path, without a slash at its end.
std::pair<std::string, std::string> split(std::string_view url) {
  const auto slash = std::min(url.find('/', url.find("://") + 3), url.size());
  return {std::string(url.substr(0, slash)), std::string(without_slash(url.substr(slash)))};
}

// Words, "=" and quoted texts of a WWW-Authenticate, one after another.
class ChallengeReader {
 public:
  explicit ChallengeReader(std::string_view text) : text_(text) {}

  void read(McpChallenge& into) {
    std::string scheme;
    for (skip(); at_ < text_.size(); skip()) {
      const auto word = take_word();
      if (word.empty()) {
        ++at_;  // neither a word nor something between words
        continue;
      }
      if (at_ >= text_.size() || text_[at_] != '=') {
        scheme = word;
        continue;
      }
      ++at_;
      auto value = take_value();
      if (!equal_whatever_case(scheme, "Bearer")) continue;
      if (equal_whatever_case(word, "resource_metadata"))
        into.resource_metadata = std::move(value);
      else if (equal_whatever_case(word, "scope"))
        into.scope = std::move(value);
    }
  }

 private:
  void skip() { at_ = std::min(text_.find_first_not_of(" \t,", at_), text_.size()); }
  std::string take_word() {
    const auto end = std::min(text_.find_first_of(" \t,=\"", at_), text_.size());
    const auto begin = std::exchange(at_, end);
    return std::string(text_.substr(begin, end - begin));
  }
  std::string take_value() {
    if (at_ >= text_.size() || text_[at_] != '"') {
      const auto end = std::min(text_.find_first_of(" \t,", at_), text_.size());
      const auto begin = std::exchange(at_, end);
      return std::string(text_.substr(begin, end - begin));
    }
    std::string value;
    for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_) {
      if (text_[at_] == '\\' && at_ + 1 < text_.size()) ++at_;
      value += text_[at_];
    }
    at_ = std::min(at_ + 1, text_.size());
    return value;
  }

  const std::string_view text_;
  std::size_t at_ = 0;
};

bool is_scope(std::string_view text) {
  return text.size() <= scope_bytes_max &&
         std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; });
}

Result<json::Document> object_in(std::string_view json) {
  auto document = json::Document::parse(json);
  if (!document || document.value().root().kind() != json::Kind::object) return invalid("it is no JSON object");
  return document;
}

}  // namespace

McpChallenge challenge_of(const net::Headers& answer) {
  McpChallenge challenge;
  for (const auto& [name, value] : answer.all()) {
    if (equal_whatever_case(name, "WWW-Authenticate")) ChallengeReader(value).read(challenge);
  }
  if (!is_scope(challenge.scope)) challenge.scope.clear();
  return challenge;
}

std::vector<std::string> resource_metadata_urls(std::string_view url) {
  const auto [origin, path] = split(url);
  const auto root = origin + "/.well-known/oauth-protected-resource";
  if (path.empty()) return {root};
  return {root + path, root};
}

std::vector<std::string> issuer_metadata_urls(std::string_view issuer) {
  const auto [origin, path] = split(issuer);
  std::vector<std::string> urls = {origin + "/.well-known/oauth-authorization-server" + path,
                                   origin + "/.well-known/openid-configuration" + path};
  if (!path.empty()) urls.push_back(origin + path + "/.well-known/openid-configuration");
  return urls;
}

Result<McpResource> read_resource_metadata(std::string_view json, std::string_view url) {
  const auto document = object_in(json);
  if (!document) return document.error();
  const auto root = document.value().root();
  McpResource out{.resource = json::text_of(root, "resource")};
  const std::string rules[] = {out.resource};
  if (!is_usable_url(out.resource) || net::reach_of(url, rules) != net::Reach::anywhere) {
    return invalid("it is of another resource than " + std::string(url));
  }
  if (const auto servers = root.find("authorization_servers")) {
    servers->each_element([&](json::Value server) {
      if (out.issuer.empty()) out.issuer = server.string().value_or("");
    });
  }
  if (!is_usable_url(out.issuer)) return invalid("it names no authorization server by a plain URL");
  return out;
}

Result<McpIssuer> read_issuer_metadata(std::string_view json, std::string_view issuer) {
  const auto document = object_in(json);
  if (!document) return document.error();
  const auto root = document.value().root();
  if (without_slash(json::text_of(root, "issuer")) != without_slash(issuer)) {
    return invalid("it is of another issuer than " + std::string(issuer));
  }
  McpIssuer out{.token_url = json::text_of(root, "token_endpoint")};
  if (!is_usable_url(out.token_url)) return invalid("it names no token_endpoint by a plain URL");
  const auto methods = root.find("token_endpoint_auth_methods_supported");
  if (!methods) return out;
  bool takes_basic = false;
  bool takes_post = false;
  methods->each_element([&](json::Value method) {
    takes_basic = takes_basic || method.string() == "client_secret_basic";
    takes_post = takes_post || method.string() == "client_secret_post";
  });
  if (!takes_basic && !takes_post) {
    return invalid("its token endpoint takes neither client_secret_basic nor client_secret_post");
  }
  out.proof = takes_basic ? ClientProof::basic : ClientProof::post;
  return out;
}

Result<McpGrant> read_grant(std::string_view json) {
  const auto document = object_in(json);
  if (!document) return document.error();
  const auto root = document.value().root();
  McpGrant out{.token = json::text_of(root, "access_token")};
  if (out.token.empty()) return invalid("it has no access_token");
  if (!equal_whatever_case(json::text_of(root, "token_type"), "Bearer")) return invalid("its token_type is not Bearer");
  // A shorter one cannot be scrubbed from what the run shows.
  if (out.token.size() < vault::supplied_bytes_min || out.token.size() > token_bytes_max) {
    return invalid("its access_token does not have " + std::to_string(vault::supplied_bytes_min) + " to " +
                   std::to_string(token_bytes_max) + " bytes");
  }
  if (!net::fault_of_header("X-Token", out.token).empty())
    return invalid("its access_token cannot be sent in a header");
  if (const auto seconds = root.find("expires_in")) {
    out.expires_in_seconds = std::clamp<int64_t>(seconds->integer().value_or(0), 0, expires_in_seconds_max);
  }
  return out;
}

std::string refusal_words(int status, std::string_view body) {
  const auto document = object_in(body);
  const auto error = document ? json::text_of(document.value().root(), "error") : "";
  if (error.empty()) return status_words(status, body);
  const auto description = json::text_of(document.value().root(), "error_description");
  return status_words(status, description.empty() ? error : error + ": " + description);
}

std::string form_encoded(std::string_view value) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  std::string out;
  for (const char c : value) {
    const auto byte = static_cast<unsigned char>(c);
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                          std::string_view("-._*").find(c) != std::string_view::npos;
    if (is_plain)
      out += c;
    else if (c == ' ')
      out += '+';
    else
      out += {'%', digits[byte >> 4], digits[byte & 15]};
  }
  return out;
}

}  // namespace sluice::tools
