// Reads one HTTP/1 request to this server from bytes: its head (http/head_parser.h) and its body, within the bounds
// that the server's bodies share.
//
// Where the bytes are split makes no difference to what comes out.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "http/body.h"
#include "http/head_parser.h"
#include "net/incoming_body.h"
#include "net/incoming_head.h"

namespace sluice::net {

class RequestParser final {
 public:
  // `limits` and `bodies` must outlive the parser.
  RequestParser(const RequestLimits& limits, BodyRoom& bodies, std::shared_ptr<Origin> origin = nullptr)
      : limits_(limits), body_(bodies, std::move(origin)) {}

  // Reads from the front of `bytes` and says how many it took: never beyond the end of the request.
  // Takes nothing once done() or refused().
  std::size_t feed(std::string_view bytes);

  bool head_done() const { return now_->stage > Stage::head; }
  bool done() const { return now_->stage == Stage::done; }
  const std::optional<Refused>& refused() const { return now_->head.refused(); }

  // True once head_done().
  bool is_http_1_0() const { return now_->head.is_http_1_0(); }
  bool keep_alive() const { return now_->keep_alive; }
  bool expects_continue() const { return now_->head.expects_continue(); }
  bool is_guarded() const { return now_->head.is_guarded(); }
  bool announces_body_to_judge() const { return now_->head.announces_body_to_judge(); }
  const Request& request() const { return now_->head.request(); }
  std::size_t body_size() const { return body_.size(); }
  // As far as it has come.
  bool is_head_request() const { return now_->parser.head().method == "HEAD" || request().method == "HEAD"; }

  // The body is awaited, and the head with it.
  void hold_head(Judged judged) {
    heed_refusal(body_.hold_head(now_->head.tally().bytes(), now_->head.unjudged_body_bytes(), judged));
  }
  // The sender has shown a key.
  void admit() { heed_refusal(body_.admit()); }
  // The request, once done(). The parser is then ready for the next one.
  Request take();
  // The rest of the body is not needed.
  void drop_body() { body_.drop(); }

 private:
  enum class Stage : uint8_t { head, body, done, refused };

  // What is known of the request being read.
  struct Progress {
    explicit Progress(const RequestLimits& limits) : parser(limits.head), head(limits) {}
    http::HeadParser<http::RequestHead> parser;
    IncomingHead head;
    http::BodyReader reader{http::BodyPlan{}};
    Stage stage = Stage::head;
    bool keep_alive = true;
  };

  void refuse(const http::Fault& fault);
  void stop();
  // To be called when the head or the body may have been refused; says whether it was.
  bool heed_refusal(const std::optional<Refused>& refused);
  void read_head(std::string_view& bytes);
  void read_body(std::string_view& bytes);
  void on_head_end();
  void on_body_end();

  const RequestLimits& limits_;
  std::optional<Progress> now_{std::in_place, limits_};  // always there
  IncomingBody body_;
};

}  // namespace sluice::net
