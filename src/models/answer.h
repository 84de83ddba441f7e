// What the readers of all dialects share: server-sent events in, model events out, in one place
// that nothing a provider sends can break.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "models/models.h"

namespace sluice::models {

// The model events of an answer as they are found. Nothing comes after stop() or fail().
class Answer final {
 public:
  void text(std::string_view delta) { say(ModelEvent::Kind::text, delta); }
  void reasoning(std::string_view delta) { say(ModelEvent::Kind::reasoning, delta); }
  void call(ToolCall call);
  void usage(model::Usage usage);
  void stop();
  void fail(FailureClass failure_class, std::string_view what);

  bool is_over() const { return over_; }
  std::vector<ModelEvent> take();

 private:
  void say(ModelEvent::Kind kind, std::string_view delta);

  std::vector<ModelEvent> events_;
  bool over_ = false;
};

enum class Truncated : uint8_t { no, yes };

// Tool calls while their arguments arrive in pieces, and bounded while they do.
class CallList final {
 public:
  // The latest call begun under `key`; null when there is none.
  ToolCall* find(int64_t key);
  // Null, and the answer failed, when there are too many.
  ToolCall* begin(int64_t key, std::string_view id, std::string_view name, Answer& answer);
  void append(ToolCall& call, std::string_view arguments, Answer& answer);

  // The answer is complete: tells every call, or fails if one's arguments are no JSON object.
  void tell(Truncated truncated, Answer& answer);

 private:
  struct Entry {
    int64_t key;
    ToolCall call;
  };
  std::vector<Entry> entries_;
  std::size_t arguments_bytes_ = 0;
};

enum class End : uint8_t {
  marked,       // `[DONE]`
  bytes_ended,  // the connection has no more
};

// What one dialect's events mean.
class EventFold {
 public:
  virtual ~EventFold() = default;
  // `event` is an object. What the dialect does not know is ignored: providers add to their streams.
  virtual void take(json::Value event, Answer& answer) = 0;
  // The end came before stop(). At most one event comes of End::bytes_ended.
  virtual void take_end(End end, Answer& answer) = 0;
};

std::unique_ptr<AnswerReader> make_reader(std::unique_ptr<EventFold> fold);

// The value at the end of a path of members; null where the path breaks off.
json::Value at(json::Value value, std::initializer_list<std::string_view> path);
std::string_view string_at(json::Value value, std::initializer_list<std::string_view> path);  // or ""
int64_t integer_at(json::Value value, std::initializer_list<std::string_view> path);          // or 0
// A count of tokens: never negative, and small enough that counts can be added up without care.
int64_t count_at(json::Value value, std::initializer_list<std::string_view> path);

}  // namespace sluice::models
