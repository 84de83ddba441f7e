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

std::string to_json(const RequestRecord& record) {
  std::string out;
  json::Writer writer(out);
  writer.begin_object().key("host").string(record.host).key("port").integer(record.port);
  writer.key("method").string(record.method).key("status").integer(record.status);
  writer.key("sent_bytes").integer(record.sent_bytes).key("received_bytes").integer(record.received_bytes);
  writer.key("aliases").begin_array();
  for (const auto& alias : record.aliases) writer.string(alias);
  writer.end_array().key("refused");
  record.refused.empty() ? writer.null() : writer.string(record.refused);
  writer.key("duration_ms").integer(record.duration_ms);
  if (record.more > 0) writer.key("more").integer(record.more).key("more_refused").integer(record.more_refused);
  writer.end_object();
  return out;
}

}  // namespace sluice::egress
