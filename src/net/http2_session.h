// HTTP/2 without a socket: frames in, frames out, streams between. Nothing else knows nghttp2.
//
// What is malformed by the rules of HTTP/2 is answered here, with a reset of the stream or the end of the
// connection; what Sluice refuses by its own rules is reported to the listener.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <unordered_map>

#include "net/http2_stream.h"
#include "net/net.h"

struct nghttp2_session;

namespace sluice::net {

// The codes of RFC 9113 §7 that are used here.
enum class Http2Error : uint32_t {
  no_error = 0x0,
  protocol_error = 0x1,
  internal_error = 0x2,
  cancel = 0x8,
  enhance_your_calm = 0xb,
};

class Http2Session final {
 public:
  // Hears of streams from inside receive() and fill(). May submit, but neither receive nor fill.
  class Listener {
   public:
    virtual ~Listener() = default;
    virtual void on_begun(Http2Stream& stream) = 0;           // a head begins to come
    virtual void on_head(Http2Stream& stream) = 0;            // the head is complete, and a body will come
    virtual void on_body(Http2Stream& stream) = 0;            // more of it has come
    virtual void on_request(Http2Stream& stream) = 0;         // all of it has come
    virtual void on_refused(Http2Stream& stream) = 0;         // instead: it must be answered now
    virtual void on_sent(Http2Stream& stream) = 0;            // its head, or some of its outbox, has been taken
    virtual void on_answered_early(Http2Stream& stream) = 0;  // whole, while its request still comes
    virtual void on_closed(Http2Stream& stream) = 0;          // then the stream is gone
    virtual void on_nuisance() = 0;                           // what costs the peer nothing and us something
  };

  // All must outlive the session.
  Http2Session(Listener& listener, const RequestLimits& limits, BodyRoom& bodies,
               std::shared_ptr<Origin> origin = nullptr);
  ~Http2Session();
  Http2Session(const Http2Session&) = delete;
  Http2Session& operator=(const Http2Session&) = delete;

  void receive(std::string_view bytes);
  // Takes from the streams what flow control allows, until the outbox has about `bytes_max`.
  void fill(Outbox& outbox, std::size_t bytes_max);
  // Nothing more will come or go.
  bool is_over() const;

  // The head of an answer, and all of it when there is no body.
  enum class BodyOf : uint8_t { none, outbox };
  struct Answer {
    int status;
    const Headers& headers;
    std::string_view date;
    std::optional<std::size_t> length;
    BodyOf body;
  };
  void submit(Http2Stream& stream, const Answer& answer);
  void submit_continue(const Http2Stream& stream);
  // There is something in the outbox, or an ending.
  void resume(Http2Stream& stream);
  void reset(const Http2Stream& stream, Http2Error why);

  // Refuses new streams; existing ones continue.
  void go_away();
  // Nothing more at all.
  void terminate(Http2Error why);

  using Streams = std::unordered_map<int32_t, std::unique_ptr<Http2Stream>>;
  const Streams& streams() const { return streams_; }

 private:
  struct Callbacks;

  Listener& listener_;
  const RequestLimits& limits_;
  BodyRoom& bodies_;
  const std::shared_ptr<Origin> origin_;
  nghttp2_session* session_ = nullptr;
  Streams streams_;
  Outbox* filling_ = nullptr;
  std::size_t filling_max_ = 0;
  bool terminated_ = false;
};

}  // namespace sluice::net
