// One connection from a sandbox, from its first byte to its last. Request heads are read and judged here, one at a
// time; an Exchange or a Tunnel then carries the bytes. Own file: judging is read apart from accepting (proxy.cc). Used
// on the loop's thread only.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/callback.h"
#include "base/fd.h"
#include "egress/exchange.h"
#include "egress/session.h"
#include "egress/stream.h"
#include "egress/tunnel.h"
#include "http/head_parser.h"

namespace sluice::egress {

class Connection final : public Waiter {
 public:
  // `on_over` is called once, perhaps from inside a method of this, so the owner must not destroy this in it.
  Connection(Session& session, OwnedFd fd, Callback<void()> on_over);
  ~Connection() override;

  void on_settled(bool goes_on, std::string_view words) override;
  // Continues after the session was held.
  void wake() { pump(); }
  // The record of the request under way if it ended now; empty if there is none.
  std::optional<RequestRecord> unfinished() const;

 private:
  enum class Phase : uint8_t { head, pausing, asking, dialing, handshaking, exchanging, tunnelling, lingering, over };

  void pump();
  // True if it should be called again at once.
  bool advance();
  bool take_head();
  void begin_head();
  void on_head(http::RequestHead head);
  void pause(http::RequestHead head, int64_t pause_ms);
  void on_connect(http::RequestHead head);
  void judge();
  void go_on();
  void decrypt();
  bool shake_hands();
  void dial();
  void on_dialed(Result<std::unique_ptr<Stream>> dialed);
  bool exchange();
  bool tunnel();
  void ask(std::string alias, std::string reason);
  void after_answer(bool goes_on, std::string_view words);

  // Ends the current request with a response of the proxy.
  void answer(int status, std::string_view words, bool refused);
  RequestRecord completed(RequestRecord record) const;
  void report(RequestRecord record) { session_.report(completed(std::move(record))); }
  void close();
  void abandon();
  void end();

  void enter(Phase phase);
  int64_t patience_ms() const;
  void on_timer();

  const Destination& destination() const { return connects_ ? connect_to_ : request_.target.to; }
  const std::string& method() const { return connects_ ? connect_method_ : request_.head.method; }
  int64_t now_us() const { return session_.now_us(); }

  Session& session_;
  Stream client_;
  Callback<void()> on_over_;
  Phase phase_ = Phase::head;
  int64_t moved_us_ = 0;  // the last time any bytes moved
  bool head_has_begun_ = false;
  http::HeadParser<http::RequestHead> parser_{head_limits};
  http::RequestHead paused_;  // delayed, not judged yet
  world::Timer timer_;
  world::Timer question_timer_;

  // The current request.
  int64_t began_us_ = 0;
  bool connects_ = false;  // true for CONNECT
  const std::string connect_method_ = "CONNECT";
  Destination connect_to_;
  UpstreamRequest request_;
  bool secured_ = false;
  std::optional<Destination> inside_;  // the destination of the CONNECT that is decrypted
  std::unique_ptr<Dial> dial_;
  std::unique_ptr<Tunnel> tunnel_;
  std::unique_ptr<Exchange> exchange_;
  std::unique_ptr<Exchange> spent_;  // destroyed later, because it may be the caller
};

}  // namespace sluice::egress
