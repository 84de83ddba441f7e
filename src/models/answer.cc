#include "models/answer.h"

#include <algorithm>
#include <utility>

#include "base/limits.h"
#include "base/sse.h"
#include "models/failure.h"

namespace sluice::models {
namespace {

constexpr int64_t token_count_max = 1'000'000'000'000;
constexpr std::size_t calls_max = 128;  // of one answer; a stream of empty calls costs memory each

bool is_object(std::string_view text) {
  const auto document = json::Document::parse(text);
  return document && document.value().root().kind() == json::Kind::object;
}

class Reader final : public AnswerReader {
 public:
  explicit Reader(std::unique_ptr<EventFold> fold) : fold_(std::move(fold)) {}

  std::vector<ModelEvent> feed(std::string_view bytes) override {
    if (answer_.is_over()) return {};
    const auto events = sse_.feed(bytes);
    if (!events) {
      answer_.fail(FailureClass::garbled, events.error().what);
      return answer_.take();
    }
    for (const auto& event : events.value()) {
      if (answer_.is_over()) break;
      take(event.data);
    }
    return answer_.take();
  }

  std::optional<ModelEvent> end() override {
    if (answer_.is_over()) return std::nullopt;
    fold_->take_end(End::bytes_ended, answer_);
    auto events = answer_.take();
    if (events.empty()) return std::nullopt;
    return std::move(events.back());
  }

 private:
  void take(std::string_view data) {
    if (data == "[DONE]") return fold_->take_end(End::marked, answer_);
    const auto document = json::Document::parse(data);
    if (!document) return answer_.fail(FailureClass::garbled, "the answer's stream: " + document.error().what);
    const auto root = document.value().root();
    if (root.kind() != json::Kind::object) {
      return answer_.fail(FailureClass::garbled, "the answer's stream has an event that is not an object");
    }
    fold_->take(root, answer_);
  }

  SseReader sse_;
  Answer answer_;
  std::unique_ptr<EventFold> fold_;
};

}  // namespace

void Answer::say(ModelEvent::Kind kind, std::string_view delta) {
  if (over_ || delta.empty()) return;
  events_.push_back({.kind = kind, .text = std::string(delta)});
}

void Answer::call(ToolCall call) {
  if (over_) return;
  events_.push_back({.kind = ModelEvent::Kind::tool_call, .call = std::move(call)});
}

void Answer::usage(model::Usage usage) {
  if (over_) return;
  events_.push_back({.kind = ModelEvent::Kind::usage, .usage = usage});
}

void Answer::stop() {
  if (std::exchange(over_, true)) return;
  events_.push_back({.kind = ModelEvent::Kind::stop});
}

void Answer::fail(FailureClass failure_class, std::string_view what) {
  if (std::exchange(over_, true)) return;
  events_.push_back(failure_event(failure_class, what));
}

std::vector<ModelEvent> Answer::take() { return std::exchange(events_, {}); }

ToolCall* CallList::find(int64_t key) {
  const auto found = std::find_if(entries_.rbegin(), entries_.rend(), [key](const Entry& e) { return e.key == key; });
  return found == entries_.rend() ? nullptr : &found->call;
}

ToolCall* CallList::begin(int64_t key, std::string_view id, std::string_view name, Answer& answer) {
  if (entries_.size() == calls_max) {
    answer.fail(FailureClass::garbled, "the model made too many tool calls in one answer");
    return nullptr;
  }
  entries_.push_back({key, {.id = std::string(id), .name = std::string(name)}});
  return &entries_.back().call;
}

void CallList::append(ToolCall& call, std::string_view arguments, Answer& answer) {
  arguments_bytes_ += arguments.size();
  if (arguments_bytes_ > limits::answer_bytes_max) {
    answer.fail(FailureClass::garbled, "the arguments of the model's tool calls are too long");
    return;
  }
  call.arguments += arguments;
}

void CallList::tell(Truncated truncated, Answer& answer) {
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    auto& call = entries_[i].call;
    if (call.id.empty()) call.id = "call_" + std::to_string(i + 1);  // small servers give none
    if (call.arguments.empty()) call.arguments = "{}";
    if (call.name.empty()) {
      answer.fail(FailureClass::garbled, "the model called a tool without a name");
    } else if (is_object(call.arguments)) {
      answer.call(std::move(call));
    } else if (truncated == Truncated::yes) {
      answer.fail(FailureClass::rejected, "the answer reached its longest length inside a call of " + call.name);
    } else {
      answer.fail(FailureClass::garbled, "the model called " + call.name + " with arguments that are no JSON object");
    }
  }
  entries_.clear();
}

std::unique_ptr<AnswerReader> make_reader(std::unique_ptr<EventFold> fold) {
  return std::make_unique<Reader>(std::move(fold));
}

json::Value at(json::Value value, std::initializer_list<std::string_view> path) {
  for (const auto name : path) value = value.find(name).value_or(json::Value());
  return value;
}

std::string_view string_at(json::Value value, std::initializer_list<std::string_view> path) {
  return at(value, path).string().value_or(std::string_view());
}

int64_t integer_at(json::Value value, std::initializer_list<std::string_view> path) {
  return at(value, path).integer().value_or(0);
}

int64_t count_at(json::Value value, std::initializer_list<std::string_view> path) {
  return std::clamp<int64_t>(integer_at(value, path), 0, token_count_max);
}

}  // namespace sluice::models
