#include "egress/egress.h"

#include "base/json.h"

namespace sluice::egress {

std::map<std::string, std::string> proxy_environment() {
  const std::string proxy = "http://127.0.0.1:" + std::to_string(proxy_port);
  const std::string local = "localhost,127.0.0.1,::1";
  std::map<std::string, std::string> out = {{"HTTP_PROXY", proxy},      {"http_proxy", proxy}, {"HTTPS_PROXY", proxy},
                                            {"https_proxy", proxy},     {"NO_PROXY", local},   {"no_proxy", local},
                                            {"NODE_USE_ENV_PROXY", "1"}};
  for (const char* const name : {"SSL_CERT_FILE", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO", "NODE_EXTRA_CA_CERTS",
                                 "REQUESTS_CA_BUNDLE", "PIP_CERT", "CARGO_HTTP_CAINFO", "DENO_CERT", "AWS_CA_BUNDLE"}) {
    out[name] = "/etc/ssl/certs/ca-certificates.crt";
  }
  return out;
}

model::events::Egress event_of(const RequestRecord& record) {
  model::events::Egress event{.host = record.host,
                              .port = record.port,
                              .method = record.method,
                              .status = record.status,
                              .sent_bytes = record.sent_bytes,
                              .received_bytes = record.received_bytes,
                              .refused = {"null"},
                              .duration_ms = record.duration_ms};
  json::Writer aliases(event.aliases.text);
  aliases.begin_array();
  for (const auto& alias : record.aliases) aliases.string(alias);
  aliases.end_array();
  if (!record.refused.empty()) {
    event.refused.text.clear();
    json::append_string(event.refused.text, record.refused);
  }
  if (record.more > 0) {
    event.more = record.more;
    event.more_refused = record.more_refused;
  }
  return event;
}

}  // namespace sluice::egress
