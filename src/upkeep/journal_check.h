// Checks the rows of one journal against the grammar of journals, and computes what the events make of the message.
#pragma once

#include "model/batch_walk.h"
#include "model/model.h"

namespace sluice::upkeep {

class JournalCheck {
 public:
  // Takes a row: the position of its last event and its batch. False if there is a fault; no further rows are wanted.
  bool take(uint64_t last, std::string_view batch);
  // Called after the last row with the state and the head that the run's row has.
  void end(model::RunState state, uint64_t head);

  // The first fault; empty if there is none.
  const std::string& fault() const { return fault_; }
  uint64_t event_count() const { return count_; }
  // The message's text and final JSON, as the events have them.
  const std::string& text() const { return text_; }
  const std::string& completed_body() const { return completed_body_; }

 private:
  void see(const model::EventView& event);
  // Keeps the first fault only: one missing event makes many later ones look wrong.
  void blame(std::string what);

  std::string fault_;
  uint64_t count_ = 0;
  bool started_ = false;
  bool gate_is_open_ = false;
  std::optional<model::EventKind> terminal_;
  std::string text_;
  std::string completed_body_;
};

}  // namespace sluice::upkeep
