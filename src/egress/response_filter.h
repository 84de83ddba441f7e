// An upstream response as the sandbox gets it, without the values of secrets. Pure.
//
// If the run has secrets, the response is scrubbed and gets a framing that does not need its length beforehand;
// otherwise it keeps its framing. Own file: the only place at which values of secrets leave a response.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "egress/destination.h"
#include "http/body.h"
#include "http/head_parser.h"
#include "vault/vault.h"

namespace sluice::egress {

class ResponseFilter {
 public:
  struct Terms {
    std::string method;
    int client_minor_version = 1;
    bool keeps_client = true;
    // A secret may go to the host, or has gone there before: a partial or compressed response could contain a value
    // that the scrubber cannot find, and is refused.
    bool whole_only = false;
    std::shared_ptr<const vault::Scrubber> scrubber;  // null: nothing to scrub
  };
  explicit ResponseFilter(Terms terms) : terms_(std::move(terms)) {}

  // Consumes from the front of `bytes` and appends to `out` what the sandbox is sent.
  void feed(std::string_view& bytes, std::string& out);
  // Upstream sends no more.
  void end(std::string& out);

  bool begun() const { return begun_; }  // its head was sent to the sandbox
  bool done() const { return stage_ == Stage::done; }
  bool failed() const { return stage_ == Stage::failed; }
  const std::string& fault() const { return fault_; }

  int status() const { return status_; }
  int64_t payload_bytes() const { return payload_bytes_; }
  // Once it is done: whether either connection can be used again.
  bool keeps_client() const { return terms_.keeps_client; }
  bool keeps_upstream() const { return keeps_upstream_; }

 private:
  enum class Stage : uint8_t { head, body, done, failed };
  void take_head(std::string_view& bytes, std::string& out);
  void on_head(http::ResponseHead head, std::string& out);
  void pass_on_interim(http::ResponseHead head, std::string& out);
  void choose_framing(http::BodyPlan plan);
  void append_head(http::ResponseHead head, bool bodiless, std::string& out);
  void append_fields(const http::Headers& fields, std::string& out) const;
  void append_payload(std::string_view payload, std::string& out);
  void finish(std::string& out);
  void fail(std::string_view fault);
  std::string clean(const std::string& text) const;

  Terms terms_;
  Stage stage_ = Stage::head;
  bool begun_ = false;
  std::string fault_;
  int status_ = 0;
  int64_t payload_bytes_ = 0;
  bool keeps_upstream_ = false;
  http::Framing framing_ = http::Framing::none;  // towards the sandbox
  http::HeadParser<http::ResponseHead> parser_{head_limits};
  std::optional<http::BodyReader> reader_;
  std::optional<vault::ScrubStream> scrub_;
};

}  // namespace sluice::egress
