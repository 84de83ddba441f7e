#include "tools/mcp_access.h"

#include <strings.h>

#include <utility>

#include "gates/gates.h"
#include "runs/runs.h"

namespace sluice::tools {
namespace {

constexpr std::string_view placeholder_begin = "{{secret:";
constexpr std::string_view placeholder_end = "}}";

Error denied(std::string what) { return {ErrorKind::denied, std::move(what)}; }

std::string_view words_of(model::SecretPlace place) {
  return place == model::place_body    ? " in a body"
         : place == model::place_basic ? " as Basic credentials"
                                       : " in a header";
}

}  // namespace

bool is_over_tls(std::string_view url) {
  constexpr std::string_view scheme = "https:";
  return url.size() > scheme.size() && strncasecmp(url.data(), scheme.data(), scheme.size()) == 0;
}

Result<Unit> may_call_for_mcp(const Context& context, const dispatch::Dispatch& dispatch, std::string_view url) {
  if (!net::is_allowed(url, context.options.tool_urls)) {
    return denied("this server calls tools only at the URLs that its configuration names (tools.urls)");
  }
  // The operator's rules are about this server's network, the agent's about its own task; neither stands for the other.
  const std::string host(runs::host_of(url));
  if (gates::rule_on_host(dispatch.agent.policy, host).effect != model::Effect::allow) {
    return denied("the agent's policy does not allow " + host);
  }
  return Unit{};
}

Result<std::string> with_secrets(const Context& context, const dispatch::Dispatch& dispatch, std::string_view text,
                                 std::string_view url, model::SecretPlace place) {
  const auto host = runs::host_of(url);
  std::string out;
  for (auto at = text.find(placeholder_begin); at != std::string_view::npos; at = text.find(placeholder_begin)) {
    const auto begin = at + placeholder_begin.size();
    const auto end = text.find(placeholder_end, begin);
    if (end == std::string_view::npos) break;
    const auto alias = text.substr(begin, end - begin);
    const auto* secret = dispatch.secrets ? dispatch.secrets->find(alias) : nullptr;
    // The header is not sent with the placeholder in it: the server would learn the alias, and answer something else.
    if (secret == nullptr) return denied(vault::placeholder(alias) + " is not on file");
    if ((secret->places & place) == 0 || !gates::secret_may_go(dispatch.agent.policy, alias, secret->hosts, host)) {
      return denied(vault::placeholder(alias) + " may not be sent to " + std::string(host) +
                    std::string(words_of(place)));
    }
    if (!is_over_tls(url) && !context.options.plaintext_secrets) {
      return denied(vault::placeholder(alias) + " is sent only over TLS (egress.plaintext_secrets)");
    }
    out.append(text.substr(0, at)).append(secret->value);
    text.remove_prefix(end + placeholder_end.size());
  }
  out.append(text);
  return out;
}

Result<std::vector<net::Header>> mcp_headers(const Context& context, const dispatch::Dispatch& dispatch,
                                             const model::McpServer& server) {
  if (auto allowed = may_call_for_mcp(context, dispatch, server.url); !allowed) return std::move(allowed.error());
  if (server.oauth && !is_over_tls(server.url) && !context.options.plaintext_secrets) {
    return denied("its OAuth token is sent only over TLS (egress.plaintext_secrets)");
  }
  std::vector<net::Header> headers;
  for (const auto& [name, value] : server.headers) {
    auto filled = with_secrets(context, dispatch, value, server.url, model::place_header);
    if (!filled) return std::move(filled.error());
    if (const auto fault = net::fault_of_header(name, filled.value()); !fault.empty()) {
      return denied("its header \"" + name + "\" " + std::string(fault));
    }
    headers.push_back({name, std::move(filled).take()});
  }
  return headers;
}

}  // namespace sluice::tools
