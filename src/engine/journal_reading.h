// One reader's way through a journal: pages from the store until it stands at the head of a live
// run, then whatever the run writes; back to pages when the reader is slow. What another node carries is
// read by pages to its end.
#pragma once

#include <memory>

#include "base/lifetime.h"
#include "engine/draining.h"
#include "engine/live_runs.h"
#include "engine/remote_runs.h"

namespace sluice::engine {

class JournalReading final : public Reading {
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

  // For LiveRun.
  bool full() const { return reader_.full(); }
  void deliver(const SharedBytes& lines) { reader_.take(lines); }
  void fall_behind(const wire::Fold& fold);
  // The run is not this server's any more.
  void go_on_alone(const wire::Fold& fold);
  // `fold` is what told it all.
  void end(const wire::Fold& fold);
  void lose(const Error& why);

 private:
  enum class Mode : uint8_t { catching_up, live, over };

  void go_on();
  bool join_live_run();
  void read_page();
  void on_page(Result<journal::JournalPage> page);
  // There is nothing to read right now, or it could not be read; false: nobody will tell of more.
  bool wait_for_news();
  void on_news();

  Needs needs_;
  model::RunId run_;
  wire::View view_;
  Reader& reader_;
  wire::Fold fold_;
  Mode mode_ = Mode::catching_up;
  bool page_under_way_ = false;
  bool news_came_ = false;  // since the page that is under way was asked for
  std::unique_ptr<Tail> tail_;
  world::Timer again_;
  Lifetime lifetime_;
};

}  // namespace sluice::engine
