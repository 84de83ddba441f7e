// A run as AG-UI events (docs/agui.md): one RUN_STARTED, one terminal, everything that was opened closed before it,
// START, CONTENT and END of their own, never null, never a chunk.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "model/model.h"
#include "store/store.h"
#include "wire/view.h"

namespace sluice::wire {

class AguiFold {
 public:
  AguiFold(const View& view, const model::Run& run);

  // Appends the frames for `news` to `out`. Positions must be consecutive, from the journal's first: what is before the
  // segment is looked at and not told.
  void apply(const store::Committed& news, std::string& out);

  int64_t next_seq() const { return next_seq_; }
  model::Position at() const { return at_; }
  // Of the segment: by the run's end, or by its next wait for a human.
  bool ended() const { return ended_; }
  // How often an event would have broken the protocol's rules; the first ends the stream with RUN_ERROR.
  int64_t violations() const { return violations_; }

 private:
  View view_;
  int64_t next_seq_ = 0;
  model::Position at_;
  bool ended_ = false;
  int64_t violations_ = 0;
};

// What a thread's runs amount to, as AG-UI messages with the ids that the streams have: for whoever comes later.
class AguiHistory {
 public:
  explicit AguiHistory(const model::Run& run);
  // Where the client's own messages do not say it.
  void set_user_text(std::string text);
  void apply(const store::Committed& news);
  // Of this run: the user's message, then what the agent said and called, as JSON objects with commas between them.
  std::string messages() const;
  // Of the gate that waits for an answer, the interrupts that its segment's RUN_FINISHED tells to a peer of that kind
  // (TanStack's answers them from here after a reload), as JSON objects with commas between them; empty: none waits.
  std::string interrupts(Format format) const;
};

}  // namespace sluice::wire
