// The head of a request to this server, whichever version of HTTP carried it: what src/http has understood, and what
// this server accepts of it. Pure: no socket, no clock.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "http/body.h"
#include "http/head.h"
#include "net/incoming_body.h"
#include "net/net.h"

namespace sluice::net {

struct RequestLimits {
  http::HeadLimits head;
  std::size_t body_bytes_max = limits::request_body_bytes_max;
  BodyLimit body_bytes_max_of = nullptr;
};

class IncomingHead final {
 public:
  // `limits` must outlive the head.
  explicit IncomingHead(const RequestLimits& limits) : limits_(&limits) {}

  // The first reason is the one that counts.
  void refuse(int status, std::string_view detail);
  void refuse(const http::Fault& fault);
  void refuse_large_body();
  const std::optional<Refused>& refused() const { return refused_; }

  // HTTP/2 brings it piece by piece.
  void set_request_line(std::string_view method, std::string_view target);
  // Counts a field of `bytes`, whatever is in it.
  void count_field(std::size_t bytes) { heed(tally_.count(bytes, limits_->head)); }
  // Checks a field that was counted.
  void check_field(std::string_view name, std::string_view value) { heed(http::check_field(name, value)); }
  // Checks it and keeps it.
  void add_field(std::string_view name, std::string_view value);
  // All of it has come.
  void finish();
  // HTTP/1 brings it whole.
  void finish(http::RequestHead&& head, const http::HeaderTally& tally);

  bool is_http_1_0() const { return head_.minor_version == 0; }
  const http::HeaderTally& tally() const { return tally_; }
  const std::optional<std::size_t>& length() const { return length_; }  // Content-Length
  const http::BodyPlan& body() const { return body_; }
  bool expects_continue() const { return expects_continue_; }
  // A key is required here. Where none is, bodies are tiny, and the client of such a request counts as one without a
  // key.
  bool is_guarded() const { return !is_open_; }
  // So much, as far as we know, that the key is to be looked at first.
  bool announces_body_to_judge() const { return length_.value_or(SIZE_MAX) > limits::unjudged_body_bytes_max; }
  // What may come without another look at it.
  std::size_t unjudged_body_bytes() const {
    if (announces_body_to_judge()) return is_open_ ? body_bytes_max_ : 0;
    return *length_;
  }
  std::size_t body_bytes_max() const { return body_bytes_max_; }  // of this request, once finished
  Request& request() { return request_; }
  const Request& request() const { return request_; }
  // It is refused or answered, and the answer may wait long for its reader.
  void forget_request() {
    head_ = {};
    request_ = {};
  }

 private:
  void heed(const std::optional<http::Fault>& fault) {
    if (fault) refuse(*fault);
  }
  bool read_target(std::string target);
  void check_host();
  void read_expectation();
  void choose_body_limit();
  void read_body_plan();

  const RequestLimits* limits_;
  http::RequestHead head_;  // until finished; then what is left of it
  http::HeaderTally tally_;
  Request request_;
  std::optional<Refused> refused_;
  std::optional<std::size_t> length_;
  http::BodyPlan body_;
  std::size_t body_bytes_max_ = 0;
  bool is_open_ = false;
  bool expects_continue_ = false;
};

}  // namespace sluice::net
