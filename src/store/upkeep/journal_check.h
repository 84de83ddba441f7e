// Is this the journal of a run? Its rows are taken one after the other, and what they amount to is kept.
#pragma once

#include "model/batch_walk.h"
#include "model/model.h"

namespace sluice::store {

class JournalCheck {
 public:
  // A row: the position of its last event, and its batch. False: there is a fault, and no more rows are wanted.
  bool take(uint64_t last, std::string_view batch);
  // After the last row: `head` is what the run's row says.
  void end(model::RunState state, uint64_t head);

  // What is wrong first of all; empty: nothing.
  const std::string& fault() const { return fault_; }
  uint64_t event_count() const { return count_; }
  // What the events say that the message is.
  const std::string& text() const { return text_; }
  const std::string& completed_body() const { return completed_body_; }

 private:
  void see(const model::EventView& event);
  // The first counts.
  void blame(std::string what);

  std::string fault_;
  uint64_t count_ = 0;
  bool started_ = false;
  bool gate_is_open_ = false;
  std::optional<model::EventKind> terminal_;
  std::string text_;
  std::string completed_body_;
};

}  // namespace sluice::store
