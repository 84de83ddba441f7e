// One stream of an HTTP/2 connection: the request as it comes, and the answer as it waits to leave.
// Pure: no frames, no socket, no clock.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "net/incoming_body.h"
#include "net/incoming_head.h"
#include "net/outbox.h"

namespace sluice::net {

class Http2Exchange;

class Http2Stream final {
 public:
  static constexpr int64_t never = INT64_MAX;

  Http2Stream(int32_t id, const RequestLimits& limits, BodyRoom& bodies, std::shared_ptr<Origin> origin)
      : id_(id), limits_(limits), head_(limits), body_(bodies, std::move(origin)) {}

  int32_t id() const { return id_; }

  // The request. After a refusal everything that still comes is let pass.
  void on_field(std::string_view name, std::string_view value);
  void on_malformed_field();
  // Fields after the body: counted, and not kept.
  void on_trailer(std::string_view name, std::string_view value);
  void on_head_end();
  void on_data(std::string_view bytes);
  void on_request_end();
  void refuse(int status, std::string_view detail);

  const std::optional<Refused>& refused() const { return head_.refused(); }
  bool expects_continue() const { return head_.expects_continue(); }
  bool is_guarded() const { return head_.is_guarded(); }
  bool announces_body_to_judge() const { return head_.announces_body_to_judge(); }
  bool is_head_request() const { return method_ == "HEAD"; }
  bool request_ended() const { return request_ended_; }
  std::size_t header_bytes() const { return head_.tally().bytes(); }
  std::size_t body_size() const { return body_.size(); }
  // The body is awaited, and the head with it.
  void hold_head(Judged judged) { heed(body_.hold_head(head_.tally().bytes(), head_.unjudged_body_bytes(), judged)); }
  // The sender has shown a key.
  void admit() { heed(body_.admit()); }
  void drop_body() { body_.drop(); }
  const Request& request() const { return head_.request(); }
  Request take_request() { return std::move(head_.request()); }
  // It is answered without its request, and the answer may wait long for its reader.
  void forget_request();

  // The answer. Its connection keeps the rest of what is known about the stream.
  enum class Ending : uint8_t {
    none,    // more may be written
    finish,  // after what is queued comes the end
    abort,   // after what is queued comes a reset
  };
  Outbox outbox;
  std::shared_ptr<Http2Exchange> exchange;  // until the answer is complete or the peer is gone
  Ending ending = Ending::none;
  bool idle = false;          // the session waits for resume()
  bool answered = false;      // the head of the answer has been given to the session
  int64_t body_begun_us = 0;  // began to come
  int64_t request_due_us = never;
  int64_t stall_due_us = never;
  std::size_t passed_bytes = 0;   // of the body, that came after the answer
  std::size_t counted_bytes = 0;  // of the outbox, in the connection's sum

 private:
  void read_head();
  // What the request has by now.
  void forget_fields();
  void heed(const std::optional<Refused>& refused) {
    if (refused) refuse(refused->status, refused->detail);
  }
  void read_pseudo_field(std::string_view name, std::string_view value);

  const int32_t id_;
  const RequestLimits& limits_;
  IncomingHead head_;
  IncomingBody body_;
  std::string method_;
  std::string path_;
  std::string scheme_;
  std::optional<std::string> authority_;
  std::string cookie_;
  bool request_ended_ = false;
};

}  // namespace sluice::net
