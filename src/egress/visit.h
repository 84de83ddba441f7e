// One connection from a box, from its first byte to its last: heads are read and judged here, one at a
// time; an Exchange or a Tunnel does the rest.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/callback.h"
#include "base/fd.h"
#include "egress/exchange.h"
#include "egress/premises.h"
#include "egress/stream.h"
#include "egress/tunnel.h"
#include "http/head_parser.h"

namespace sluice::egress {

class Visit final : public Waiter {
 public:
  // `on_over` is called once, perhaps from inside a callback of this: drop it later.
  Visit(Premises& premises, OwnedFd fd, Callback<void()> on_over);
  ~Visit() override;

  void on_settled(bool goes_on, std::string_view words) override;
  // What waited because nothing was to leave goes on.
  void wake() { pump(); }
  // What is to be told if it ends now; nothing when no request is under way.
  std::optional<Passage> unfinished() const;

 private:
  enum class Phase : uint8_t { head, pausing, asking, dialing, greeting, exchanging, tunnelling, lingering, over };

  void pump();
  // True: there may be more to do at once.
  bool advance();
  bool take_head();
  void begin_head();
  void on_head(http::RequestHead head);
  void pause(http::RequestHead head, int64_t pause_ms);
  void on_connect(http::RequestHead head);
  void judge();
  void go_on();
  void look_into();
  bool greet();
  void dial();
  void on_dialed(Result<std::unique_ptr<Stream>> dialed);
  bool exchange();
  bool tunnel();
  void ask(std::string alias, std::string reason);
  void after_answer(bool goes_on, std::string_view words);

  // Ends the request at hand with an answer of our own.
  void answer(int status, std::string_view words, bool refused);
  Passage completed(Passage passage) const;
  void tell(Passage passage) { premises_.tell(completed(std::move(passage))); }
  void close();
  void leave();
  void end();

  void enter(Phase phase);
  int64_t patience_ms() const;
  void on_timer();

  const Destination& destination() const { return connects_ ? connect_to_ : errand_.target.to; }
  const std::string& method() const { return connects_ ? connect_method_ : errand_.head.method; }
  int64_t now_us() const { return premises_.now_us(); }

  Premises& premises_;
  Stream client_;
  Callback<void()> on_over_;
  Phase phase_ = Phase::head;
  int64_t moved_us_ = 0;  // when anything last happened
  bool head_has_begun_ = false;
  http::HeadParser<http::RequestHead> parser_{head_limits};
  http::RequestHead paused_;  // waits its turn
  world::Timer timer_;
  world::Timer question_timer_;

  // The request at hand.
  int64_t began_us_ = 0;
  bool connects_ = false;  // it is a CONNECT
  const std::string connect_method_ = "CONNECT";
  Destination connect_to_;
  Errand errand_;
  bool secured_ = false;
  std::optional<Destination> inside_;  // where a connection that is looked into leads
  std::unique_ptr<Dial> dial_;
  std::unique_ptr<Tunnel> tunnel_;
  std::unique_ptr<Exchange> exchange_;
  std::unique_ptr<Exchange> spent_;  // it may be what called us
};

}  // namespace sluice::egress
