// One dispatch that a runner elsewhere carries.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/lifetime.h"
#include "remote/runner_stream.h"

namespace sluice::remote {

class RemoteWork final : public dispatch::Work, private RunnerStreamListener {
 public:
  RemoteWork(std::shared_ptr<Context> context, dispatch::Dispatch dispatch, dispatch::DispatchListener& listener);
  // The runner continues for a while: this server or another one may read on from the last mark.
  ~RemoteWork() override;

  void stop(Callback<void()> gone) override;
  // A runner elsewhere raises no gates.
  void go_on(std::vector<model::ClientResult>) override { SLUICE_CHECK(false); }
  void written(std::string_view text) override;

 private:
  void on_lines(std::vector<dispatch::Line> lines) override;
  void on_refused(int status, std::string why) override;
  void on_forbidden(std::string why) override;
  void on_lost(std::string why) override;
  void on_taken(std::string why) override { fail(model::Slug::runner_lost, std::move(why)); }
  void on_nonsense(std::string why) override { fail(model::Slug::runner_lost, std::move(why)); }

  void start();
  // Finds a runner that can take it, or waits for one.
  void look_for_runner();
  void leave_runner();
  // For a while; then the run fails.
  void wait_for_runner();
  // Each runner that is tried gets tokens of its own: one that went silent may have used the others.
  void mint_for(const std::string& runner);
  void on_not_minted(const Error& why);
  // Writes down that a runner may be at it. The runner gets the tokens when that is written, so that the run is never
  // begun anew by a server that does not know; the store keeps tokens and journals in an order of their own.
  void announce(std::shared_ptr<const Minted> minted);
  void post(const Minted& minted);

  void take_line(dispatch::Line line);
  void take_event(model::RunEvent event);
  void take_error(const dispatch::ErrorLine& line);
  void write_mark();
  void write_mark_before_last();
  void finish(const dispatch::ResultLine& result);
  void end_account();
  // Why no other runner can do what is left; empty: one can. The agent may have sent text and done nothing else, and
  // must be able to continue from that text.
  std::string_view obstacle() const;
  // Another runner gets what is left, if one can do it.
  bool start_elsewhere(std::string_view why);
  void fail(model::Slug slug, std::string detail);
  bool has_sent_text() const { return !sent_text_.empty() || !sent_reasoning_.empty(); }
  bool is_named() const { return !named_.empty(); }

  const std::shared_ptr<Context> context_;
  const dispatch::Dispatch dispatch_;
  dispatch::DispatchListener& listener_;
  const std::string named_;  // the runner that the dispatch names; empty: any

  Mark mark_;                         // the position that was written last
  std::set<std::string> unsuitable_;  // runners that refused it for good
  bool is_awaited_ = false;           // the runner waits for a line that has no mark behind it yet
  int64_t awaited_line_ = 0;          // or for one that is being written; 0: for none
  bool is_known_ = false;             // that there is such a line; there is one for each runner
  bool holds_slot_ = false;           // counted as given to mark_.runner
  int64_t began_looking_us_ = 0;
  bool reported_waiting_ = false;
  std::string sent_text_;
  std::string sent_reasoning_;
  std::string lost_why_;  // how the last runner that had it was lost
  bool over_ = false;
  std::shared_ptr<const Minted> announced_;  // until the mark that says so is written
  std::unique_ptr<RunnerStream> stream_;
  world::Timer waiting_;
  Lifetime lifetime_;
};

// The problem of an error line: the registered one of that name, if there is one.
model::Problem problem_of(const dispatch::ErrorLine& line);

}  // namespace sluice::remote
