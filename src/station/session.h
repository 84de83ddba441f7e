// One dispatch that a caller handed to this runner, from the first line to the last.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "dispatch/dispatch.h"
#include "dispatch/envelope.h"
#include "net/net.h"
#include "station/account.h"
#include "station/answers.h"
#include "station/fetch.h"
#include "station/station.h"
#include "station/stream_request.h"
#include "station/workspace_supplies.h"

namespace sluice::station {

class Session final : private dispatch::DispatchListener,
                      private AccountListener,
                      public std::enable_shared_from_this<Session> {
 public:
  class Owner {
   public:
    virtual ~Owner() = default;
    // Nothing of it is at work any more. Once, never from inside start().
    virtual void on_over(Session& session, Outcome outcome) = 0;
    // Its lines are not needed any more either. The owner drops it.
    virtual void on_released(Session& session) = 0;
  };

  Session(const StationNeeds& needs, const StationOptions& options, StreamRequest request, std::string request_id,
          Owner& owner);

  const std::string& id() const { return request_.dispatch; }
  const std::string& request_id() const { return request_id_; }
  int64_t began_us() const { return began_us_; }
  bool is_over() const { return over_; }
  bool is_careful() const { return request_.careful; }

  void start(std::shared_ptr<net::Exchange> exchange, net::Headers headers);
  Account& account() { return *account_; }
  // Calls `seen` when the caller has acknowledged all lines that were sent so far.
  void await_acknowledgement(Callback<void()> seen);
  // The runner must go: ends with an error line.
  void stop();
  // Cancels the work. `gone` is called when nothing is left of it.
  void kill(Callback<void()> gone);

 private:
  void redeem(std::string_view what, const std::string& token, void (Session::*then)(std::string_view body));
  // The body of a good answer; otherwise the dispatch has failed.
  std::optional<std::string_view> redeemed(const std::string& url, const Result<Fetched>& got);
  void hear_env(std::string_view body);
  void hear_config(std::string_view body);
  void begin(ConfigAnswer config);

  void on_event(model::RunEvent event) override;
  void on_finished(model::Usage usage) override;
  void on_failed(model::Problem problem) override;
  // Never called: this wire has no way to answer an approval.
  void on_gate(dispatch::Gate) override { SLUICE_CHECK(false); }

  void on_unheard(Outcome why) override { leave(why); }
  void on_room(bool has_room) override;
  void on_released() override { owner_.on_released(*this); }

  void fail(std::string_view code, std::string message);
  void leave(Outcome outcome);
  // Written when it is sent, so that its time is not before that of the lines while the work ends.
  using LastLine = Callback<void(std::string& out, Timestamp at)>;
  // Ends the work, waits for its end, then sends `last_line`; none for a caller that left.
  void settle(Outcome outcome, LastLine last_line);
  void settled();

  void phase(std::string_view name, std::string_view message);
  // Unless the dispatcher sends the phase itself: with a sandbox it also ends the run and settles the sandbox.
  void last_phase(std::string_view name, std::string_view message);
  void send_event(model::RunEvent event);
  // The time of the next line. Clocks are set back; the lines' times never go back.
  Timestamp stamp(Timestamp at);
  void flush_soon();
  void flush();
  void watch_quiet();
  Timestamp now() const { return needs_.loop.now(); }

  const StationNeeds needs_;
  const StationOptions& options_;
  const StreamRequest request_;
  const std::string request_id_;
  Owner& owner_;
  const int64_t began_us_;
  const std::shared_ptr<Account> account_;

  EnvAnswer env_;
  std::unique_ptr<Fetch> fetch_;
  std::shared_ptr<WorkspaceSupplies> supplies_;
  std::unique_ptr<dispatch::Work> work_;

  std::string all_text_;
  std::size_t round_at_ = 0;  // where in it the last step ended
  std::string unsent_;        // lines of this turn
  LastLine last_line_;
  std::set<std::string, std::less<>> phases_told_;  // by the dispatch
  Timestamp told_at_;                               // of the last line
  Outcome outcome_;                                 // empty: not ended
  bool over_ = false;                               // ended, and nothing is at work
  std::vector<Callback<void()>> mourners_;          // who want to know when nothing is left
  int64_t phase_us_;
  int64_t spoke_us_;
  world::Timer runtime_;
  world::Timer quiet_;
};

}  // namespace sluice::station
