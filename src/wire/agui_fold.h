// A run as AG-UI events (docs/formats/agui.md): one RUN_STARTED, one terminal, everything that was opened closed before
// it, START, CONTENT and END of their own, never null, never a chunk.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "journal/journal.h"
#include "model/model.h"
#include "wire/agui_call_ids.h"
#include "wire/view.h"

namespace sluice::wire {

class AguiProjector;

class AguiFold {
 public:
  AguiFold(const View& view, const model::Run& run);
  AguiFold(const AguiFold& other);
  AguiFold& operator=(const AguiFold& other);
  AguiFold(AguiFold&&) noexcept;
  AguiFold& operator=(AguiFold&&) noexcept;
  ~AguiFold();

  // Appends the frames for `news` to `out`. Positions must be consecutive, from the journal's first: what is before the
  // segment is folded and not shown.
  void apply(const journal::Committed& news, std::string& out);

  int64_t next_seq() const;
  model::Position at() const { return at_; }
  // Of the segment: by the run's end, or by its next wait for a human.
  bool ended() const;
  // How often an event would have broken the protocol's rules; the first ends the stream with RUN_ERROR.
  int64_t violations() const;

 private:
  std::unique_ptr<AguiProjector> projector_;
  model::Position at_;
};

// What a thread's runs amount to, as AG-UI messages with the ids that the streams have: for clients that come later.
class AguiHistory {
 public:
  explicit AguiHistory(const model::Run& run);
  AguiHistory(AguiHistory&&) noexcept;
  AguiHistory& operator=(AguiHistory&&) noexcept;
  ~AguiHistory();

  void apply(const journal::Committed& news);
  // For runs that no AG-UI client began: their journals do not have it.
  void set_user_text(std::string text) { user_text_ = std::move(text); }
  // Of this run: the user's message, then what the agent said and called, as JSON objects with commas between them.
  // What its subagents said is not among it.
  std::string messages() const;
  // The same without what the present segment has shown so far: a client that joins it gets that as a stream.
  std::string messages_before_stream() const;
  // Before the user's message, of a client that brought a history along: as it sent them, with commas between them;
  // empty when there are none.
  std::string earlier_messages() const;
  // What waits for an answer now, as TanStack's client wants it: JSON objects with commas between them; empty when
  // nothing does.
  const std::string& interrupts() const;

 private:
  std::string with_user_message(const std::string& own) const;

  std::unique_ptr<AguiProjector> projector_;
  std::string user_id_;
  std::string user_text_;
};

}  // namespace sluice::wire
