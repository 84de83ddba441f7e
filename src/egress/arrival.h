// The way back: an answer as the box gets it, without the values of its secrets. Pure.
//
// With secrets in reach an answer is looked through, and gets a framing that does not need its length
// beforehand; without, it keeps the framing it had.
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

class Arrival {
 public:
  struct Terms {
    std::string method;
    int client_minor_version = 1;
    bool keeps_client = true;
    // A secret may go to the host, or have gone there before: a part of an answer, or a compressed one, could hold
    // a value that nobody finds.
    bool whole_only = false;
    std::shared_ptr<const vault::Scrubber> scrubber;  // null: there is nothing to look for
  };
  explicit Arrival(Terms terms) : terms_(std::move(terms)) {}

  // Takes from the front of `bytes`, and appends to `out` what the box is sent.
  void feed(std::string_view& bytes, std::string& out);
  // The other side sends no more.
  void end(std::string& out);

  bool begun() const { return begun_; }  // its head has gone to the box
  bool done() const { return stage_ == Stage::done; }
  bool failed() const { return stage_ == Stage::failed; }
  const std::string& fault() const { return fault_; }

  int status() const { return status_; }
  int64_t payload_bytes() const { return payload_bytes_; }
  // Once it is done: may either connection be used again?
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
  http::Framing framing_ = http::Framing::none;  // towards the box
  http::HeadParser<http::ResponseHead> parser_{head_limits};
  std::optional<http::BodyReader> reader_;
  std::optional<vault::ScrubStream> scrub_;
};

}  // namespace sluice::egress
