// Callers that follow a run, whichever node carries it: readers of its journal, and callers that wait only for its end.
//
// A reader gets pages from the store until it stands at the head of a run that is live here, then what the run writes,
// and pages again when it is slow. The journal of a run that another node carries is read by pages to its end.
//
// Called from the loop's thread. A live run keeps its followers in Audiences.
#pragma once

#include <memory>

#include "base/lifetime.h"
#include "engine/draining.h"
#include "engine/live_runs.h"
#include "engine/remote_runs.h"

namespace sluice::engine {

class JournalReading final : public Reading, private Follower {
 public:
  struct Needs {
    const LiveRuns& live;
    RemoteRuns& remote;
    const Draining& draining;
    store::Store& store;
    world::Loop& loop;
    world::Counter& violations;  // of AG-UI's rules, in streams that ended here
  };

  JournalReading(Needs needs, const model::Run& run, const wire::View& view, Reader& reader);
  ~JournalReading() override;

  void more() override;

 private:
  // catching_up: the journal is read by pages, or news of more is waited for. live: a run that is live here has it
  // among its followers. over: nothing more is read.
  enum class Mode : uint8_t { catching_up, live, over };

  bool is_full() const override { return reader_.full(); }
  void deliver(const SharedBytes& lines) override { reader_.take(lines); }
  void fall_behind(const wire::Fold& fold) override;
  void continue_alone(const wire::Fold& fold) override;
  void end(const wire::Fold& fold) override;
  void lose(const Error& why) override;

  void read_on();
  bool join_live_run();
  void read_page();
  void on_page(Result<journal::JournalPage> page);
  // There is nothing to read right now, or it could not be read. False: there will be no news of more.
  bool wait_for_news();
  // False: the reader has dropped this reading.
  bool take(const journal::CommittedBatch& events);
  void on_news();

  Needs needs_;
  model::RunId run_;
  wire::View view_;
  Reader& reader_;
  wire::Fold fold_;
  Mode mode_ = Mode::catching_up;
  bool page_under_way_ = false;  // only while catching up, or over
  bool news_came_ = false;       // since that page was asked for
  std::unique_ptr<Tail> tail_;
  world::Timer again_;
  Lifetime lifetime_;
};

class EndWaiters final {
 public:
  struct Needs {
    const LiveRuns& live;
    RemoteRuns& remote;
    Draining& draining;
    store::Store& store;
    world::Loop& loop;
  };
  explicit EndWaiters(Needs needs) : needs_(needs) {}

  std::unique_ptr<Waiting> wait(const model::Run& run, Callback<void(Result<wire::Ending>)> done);
  // The run is not live here any more: the waiter waits for what another node makes of it.
  void look_for_end(const Ref<EndWaiter>& waiter);

 private:
  void on_run(EndWaiter& waiter, const Result<model::Run>& found);
  void read_end(const model::Run& run, EndWaiter& waiter);
  // Looks again when there is news. Where there will be none, the waiter is answered with this error.
  void look_again_later(EndWaiter& waiter, Error why);
  void join(LiveRun& live, EndWaiter& waiter);

  Needs needs_;
  Lifetime lifetime_;
};

}  // namespace sluice::engine
