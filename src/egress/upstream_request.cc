#include "egress/upstream_request.h"

#include <array>

#include "egress/substitution.h"
#include "http/status.h"
#include "http/text.h"

namespace sluice::egress {

std::optional<Refusal> read_request(http::RequestHead head, const Destination* inside, UpstreamRequest& out) {
  if (auto refusal = inside != nullptr ? parse_origin(head, *inside, out.target) : parse_absolute(head, out.target)) {
    return refusal;
  }
  if (const auto fault = http::plan_body(head, out.body)) {
    return Refusal{400, "where the body ends is in doubt: " + std::string(fault->detail)};
  }
  if (head.method == "TRACE") return Refusal{405, "TRACE is not let through: it would echo what was sent"};
  if (head.headers.count("Upgrade") > 0 && !head.headers.lists("Upgrade", "h2c")) {
    return Refusal{501, "upgrades (WebSocket and the like) cannot be looked into and are not let through to this host"};
  }
  if (head.headers.count("Expect") > 0 && !http::same_word(*head.headers.find("Expect"), "100-continue")) {
    return Refusal{400, "what the Expect field asks for is not known here"};
  }
  if (mentions_secret(out.target.path)) {
    return Refusal{403,
                   "a secret may stand in a header, in the query or in the body, but not in the path of a URL, "
                   "which ends up in logs"};
  }
  out.keeps_client =
      head.minor_version == 1 && head.keeps_connection() && !head.headers.lists("Proxy-Connection", "close");
  out.head = std::move(head);
  return std::nullopt;
}

bool changes_things(std::string_view method) { return method != "GET" && method != "HEAD" && method != "OPTIONS"; }

std::string upstream_head(const OutgoingHead& head) {
  const UpstreamRequest& request = head.request;
  http::Headers fields = head.fields;
  fields.remove_hop_by_hop();
  constexpr std::array<std::string_view, 4> ours = {"Host", "Content-Length", "Transfer-Encoding", "Expect"};
  for (const auto name : ours) fields.remove(name);
  if (request.forwarding) {
    for (const auto name : {"Authorization", "Cookie"}) fields.remove(name);
    fields.add("Authorization", request.forwarding->authorization);
  }
  if (head.identity) fields.remove("Accept-Encoding");
  std::string out = request.head.method + " ";
  if (request.forwarding) out += request.forwarding->base_path;
  out += request.target.path + head.query + " HTTP/1.1\r\nHost: " + request.leads_to().authority() + "\r\n";
  for (const http::Header& field : fields.all()) out.append(field.name).append(": ").append(field.value).append("\r\n");
  if (head.identity) out += "Accept-Encoding: identity\r\n";
  if (head.body.framing == http::Framing::chunked) {
    out += "Transfer-Encoding: chunked\r\n";
  } else if (head.body.framing == http::Framing::length || request.head.headers.count("Content-Length") > 0) {
    out += "Content-Length: " + std::to_string(head.body.length) + "\r\n";
  }
  return out += "\r\n";
}

std::string own_answer(int status, std::string_view words, bool keeps_client, std::string_view method) {
  std::string body = "sluice: ";
  body.append(words).append("\n");
  std::string out = "HTTP/1.1 " + std::to_string(status) + " ";
  out.append(http::reason_of(status))
      .append("\r\nContent-Type: text/plain; charset=utf-8\r\nCache-Control: no-store\r\n");
  out.append("Content-Length: ").append(std::to_string(body.size())).append("\r\n");
  if (!keeps_client) out += "Connection: close\r\n";
  out += "\r\n";
  return method == "HEAD" ? out : out + body;
}

}  // namespace sluice::egress
