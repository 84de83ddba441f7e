// A run's journal as the bytes of one surface. A fold: it knows no socket, no clock, no store; the
// same events give the same bytes, so a reader who returns with a number is served by folding anew
// and leaving out what it has. There is no other resume logic anywhere.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "dispatch/envelope.h"
#include "journal/journal.h"
#include "model/model.h"
#include "wire/agui_fold.h"
#include "wire/assistant_fold.h"
#include "wire/timeline_fold.h"
#include "wire/view.h"

namespace sluice::wire {

// Events of the Integration API (I-5, I-6), one a line or one a frame.
class IntegrationFold {
 public:
  // Lines with seq up to and including `after` are left out; -1: nothing is left out.
  IntegrationFold(Format format, model::ConversationId conversation, model::MessageId message, int64_t after);

  // Appends the lines for `news` to `out`. Positions must be consecutive.
  void apply(const journal::Committed& news, std::string& out);

  int64_t next_seq() const { return next_seq_; }
  model::Position at() const { return at_; }
  bool ended() const { return ended_; }

 private:
  // Opens the next line up to its data; false when the reader has it already.
  bool begin(std::string_view type, std::string& out);
  void tell(std::string_view type, const model::RunEvent& event, std::string& out);
  void tell_more(const model::RunEvent& event, std::string& out);
  void end(const model::RunEvent& event, std::string& out);

  Format format_;
  std::string envelope_middle_;  // `","conversation_id":…,"message_id":…,"seq":`
  std::string queued_middle_;    // the same of `queued`: nobody is told of a message that may never be
  std::string delta_head_;       // a content_delta up to its seq: most lines begin so
  int64_t after_;
  int64_t next_seq_ = 0;
  model::Position at_;
  bool ended_ = false;
  // The stamp of the last line: most lines of a burst bear the same.
  Timestamp stamped_at_;
  std::string stamp_;
};

// The runner's lines (S-9), counted from 0. What `stream.jsonl` of a run holds, live or archived (S-11).
class TraceFold {
 public:
  TraceFold(Format format, int64_t after);

  void apply(const journal::Committed& news, std::string& out);
  int64_t next_seq() const { return next_seq_; }
  model::Position at() const { return at_; }
  bool ended() const { return ended_; }

 private:
  void end(const model::events::Completed& message, Timestamp at, std::string& out);
  void end(const model::events::EndProblem& problem, Timestamp at, std::string& out);

  dispatch::Profile profile_;
  int64_t after_;
  int64_t next_seq_ = 0;
  model::Position at_;
  bool ended_ = false;
  std::string text_;          // of the whole run
  std::size_t round_at_ = 0;  // where in it the last step ended
};

// Any of them, as the format says.
class Fold {
 public:
  Fold(const View& view, const model::Run& run);

  void apply(const journal::Committed& news, std::string& out) {
    std::visit([&](auto& fold) { fold.apply(news, out); }, fold_);
  }
  int64_t next_seq() const {
    return std::visit([](const auto& fold) { return fold.next_seq(); }, fold_);
  }
  model::Position at() const {
    return std::visit([](const auto& fold) { return fold.at(); }, fold_);
  }
  bool ended() const {
    return std::visit([](const auto& fold) { return fold.ended(); }, fold_);
  }
  // How often an AG-UI stream would have broken its protocol's rules.
  int64_t violations() const {
    const auto* agui = std::get_if<AguiFold>(&fold_);
    return agui == nullptr ? 0 : agui->violations();
  }

 private:
  using Any = std::variant<IntegrationFold, TraceFold, AguiFold, AssistantFold>;
  static Any make(const View& view, const model::Run& run);

  Any fold_;
};

// What a caller who does not stream needs to know of the end.
using Ending = std::variant<model::events::Completed, model::events::Failed, model::events::Cancelled>;
std::optional<Ending> ending_of(const journal::Committed& news);

}  // namespace sluice::wire
