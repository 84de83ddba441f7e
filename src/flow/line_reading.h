// One reader's way through a workflow run: the run's own events, and between the beginning and the end of a block the
// lines of that block's run, folded from its own journal.
//
// Lines are counted as they are sent, so a reader that returns with a number is served by folding again and leaving out
// what it has.
#pragma once

#include <deque>
#include <memory>
#include <string>

#include "base/lifetime.h"
#include "flow/flow.h"

namespace sluice::flow {

class LineReading final : public engine::Reading, private engine::Reader {
 public:
  class Owner {
   public:
    virtual ~Owner() = default;
    virtual void enter(model::WorkflowRunId run, LineReading& reading) = 0;
    virtual void leave(model::WorkflowRunId run, LineReading& reading) = 0;
    // Whether news of it will come from this server.
    virtual bool carries(model::WorkflowRunId run) const = 0;
  };

  LineReading(const FlowNeeds& needs, Owner& owner, const model::WorkflowRun& run, LineView view,
              engine::Reader& reader);
  ~LineReading() override;

  void more() override;
  // There is more to read, perhaps.
  void on_news();
  // Nothing more will come of it here.
  void on_left(const Error& why);

 private:
  // Of the block's run.
  void take(SharedBytes lines) override;
  bool full() const override { return reader_.full(); }
  void end() override;
  void lose(const Error& why) override;

  void pump();
  void read_page();
  void on_page(const Result<store::WorkflowJournalPage>& page);
  void tell_next();
  void find_run();
  void on_run(const Result<model::Run>& run);
  // Whether its reader has the next line already; counts it.
  bool is_known_line() { return next_seq_++ <= view_.after; }

  const FlowNeeds& needs_;
  Owner& owner_;
  const model::TenantId tenant_;
  const model::WorkflowRunId run_;
  const LineView view_;
  engine::Reader& reader_;

  std::deque<std::string> bodies_;  // read, but not sent yet
  model::Position read_to_;
  int64_t next_seq_ = 0;
  std::string block_;                       // the block whose lines are sent
  std::optional<model::RunId> wanted_run_;  // of it, before it is found
  std::unique_ptr<engine::Reading> inner_;
  bool is_asking_ = false;  // the store
  bool has_news_ = true;
  bool over_ = false;
  Lifetime lifetime_;
};

}  // namespace sluice::flow
