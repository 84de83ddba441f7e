// A run's journal as the bytes of one surface. A fold: it knows no socket, no clock, no store; the
// same events give the same bytes, so a reader who returns with a number is served by folding anew
// and leaving out what it has. There is no other resume logic anywhere.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "model/model.h"
#include "store/store.h"

namespace sluice::wire {

enum class Format : uint8_t { ndjson, sse };
inline constexpr int format_count = 2;

// Events of the Integration API (I-5, I-6), one a line or one a frame.
class IntegrationFold {
 public:
  // Lines with seq up to and including `after` are left out; -1: nothing is left out.
  IntegrationFold(Format format, model::ConversationId conversation, model::MessageId message, int64_t after);

  // Appends the lines for `news` to `out`. Positions must be consecutive.
  void apply(const store::Committed& news, std::string& out);

  int64_t next_seq() const { return next_seq_; }
  model::Position at() const { return at_; }
  bool ended() const { return ended_; }

 private:
  // Opens the next line up to its data; false when the reader has it already.
  bool begin(std::string_view type, std::string& out);
  void end(const model::RunEvent& event, std::string& out);

  Format format_;
  std::string envelope_middle_;  // `","conversation_id":…,"message_id":…,"seq":`
  std::string delta_head_;       // a content_delta up to its seq: most lines begin so
  int64_t after_;
  int64_t next_seq_ = 0;
  model::Position at_;
  bool ended_ = false;
  // The stamp of the last line: most lines of a burst bear the same.
  Timestamp stamped_at_;
  std::string stamp_;
};

// What a caller who does not stream needs to know of the end.
struct Ending {
  model::EventKind kind;
  std::string body;
};
std::optional<Ending> ending_of(const store::Committed& news);

}  // namespace sluice::wire
