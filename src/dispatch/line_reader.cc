#include <algorithm>
#include <span>

#include "base/limits.h"
#include "dispatch/envelope.h"

namespace sluice::dispatch {
namespace {

using json::Kind;
using json::Value;
using model::EventKind;
using model::RunEvent;

constexpr int64_t year_ten_thousand_ms = 253'402'300'800'000;

using Words = std::span<const std::string_view>;
constexpr std::string_view levels[] = {"debug", "info", "warn", "error"};
constexpr std::string_view statuses[] = {"running", "succeeded", "failed"};
constexpr std::string_view streams[] = {"stdout", "stderr"};
constexpr std::string_view subagent_statuses[] = {"started", "finished", "failed"};
constexpr std::string_view file_events[] = {"create", "change", "delete"};

// Takes the members of one line into a body, in the order asked for, and remembers the first that
// is not what it must be.
class BodyReader final {
 public:
  explicit BodyReader(Value line) : line_(line), writer_(body_) { writer_.begin_object(); }

  // The string in `name`, under the name `as`.
  BodyReader& text(std::string_view name, std::string_view as) {
    const auto value = needed(name, Kind::string);
    writer_.key(as).string(value ? *value->string() : "");
    return *this;
  }
  BodyReader& word(std::string_view name, std::string_view as, Words words) {
    text(name, as);
    const auto value = line_.find(name);
    if (value && std::ranges::find(words, value->string().value_or("")) == words.end())
      fail(name, "has an unknown value");
    return *this;
  }
  BodyReader& optional_text(std::string_view name) { return line_.find(name) ? text(name, name) : *this; }
  BodyReader& count(std::string_view name) {
    const auto value = needed(name, Kind::integer);
    const int64_t number = value ? value->integer().value_or(-1) : 0;
    if (number < 0) fail(name, "is out of range");
    writer_.key(name).integer(number);
    return *this;
  }
  BodyReader& optional_count(std::string_view name) { return line_.find(name) ? count(name) : *this; }
  BodyReader& optional_value(std::string_view name) {
    if (const auto value = line_.find(name)) writer_.key(name).raw(value->to_text());
    return *this;
  }
  BodyReader& fixed(std::string_view name, std::string_view value) {
    writer_.key(name).string(value);
    return *this;
  }
  BodyReader& fixed(std::string_view name, int64_t value) {
    writer_.key(name).integer(value);
    return *this;
  }

  Result<Line> event(EventKind kind, Timestamp at) {
    if (!fault_.empty()) return Error{ErrorKind::corrupt, fault_};
    writer_.end_object();
    return Line(RunEvent{kind, at, std::move(body_)});
  }

 private:
  std::optional<Value> needed(std::string_view name, Kind kind) {
    const auto value = line_.find(name);
    if (!value) return fail(name, "is missing"), std::nullopt;
    if (value->kind() != kind) return fail(name, "is not a " + std::string(name_of(kind))), std::nullopt;
    return value;
  }
  void fail(std::string_view name, std::string_view how) {
    if (fault_.empty()) fault_ = "its member " + std::string(name) + " " + std::string(how);
  }

  Value line_;
  std::string body_;
  json::Writer writer_;
  std::string fault_;
};

Result<Timestamp> time_of(Value line) {
  const auto value = line.find("ts");
  if (!value) return Timestamp{};
  const auto ms = value->integer();
  if (!ms || *ms < 0 || *ms >= year_ten_thousand_ms) {
    return Error{ErrorKind::corrupt, "its member ts is not a time in milliseconds"};
  }
  return Timestamp{*ms};
}

Result<Line> read_text(Value line, EventKind kind, Timestamp at) {
  const auto text = line.find("text");
  if (!text || !text->string()) return Error{ErrorKind::corrupt, "its member text is not a string"};
  return Line(RunEvent{kind, at, std::string(*text->string())});
}

Result<Line> read_delta(Value line, Timestamp at) {
  const auto filler = line.find("filler");
  return read_text(line, filler && filler->boolean().value_or(false) ? EventKind::filler : EventKind::text, at);
}

Result<Line> read_custom(Value line, Timestamp at) {
  if (!line.find("value")) return Error{ErrorKind::corrupt, "its member value is missing"};
  return BodyReader(line).text("name", "name").optional_value("value").event(EventKind::custom, at);
}

Result<Line> read_egress(Value line, Timestamp at) {
  return BodyReader(line)
      .text("host", "host")
      .count("port")
      .text("method", "method")
      .count("status")
      .count("sent_bytes")
      .count("received_bytes")
      .optional_value("aliases")
      .optional_value("refused")
      .count("duration_ms")
      .optional_count("more")
      .optional_count("more_refused")
      .event(EventKind::egress, at);
}

Result<Line> read_subagent(Value line, Timestamp at) {
  return BodyReader(line)
      .text("id", "id")
      .text("name", "name")
      .word("status", "status", subagent_statuses)
      .optional_text("step_id")
      .optional_text("error")
      .event(EventKind::subagent, at);
}

Result<Line> read_call(Value line, Timestamp at) {
  return BodyReader(line)
      .text("id", "id")
      .optional_text("name")
      .optional_text("args")
      .optional_text("subagent")
      .event(EventKind::call, at);
}

Result<Line> read_subagent_text(Value line, Timestamp at) {
  return BodyReader(line)
      .text("id", "id")
      .optional_text("text")
      .optional_text("reasoning")
      .event(EventKind::subagent_text, at);
}

Result<Line> read_result(Value line) {
  const auto message = line.find("message");
  if (!message || !message->string()) return Error{ErrorKind::corrupt, "its member message is not a string"};
  ResultLine result{.message = std::string(*message->string())};
  if (const auto usage = line.find("usage"); usage && !usage->is_null()) {
    const auto count = [&](std::string_view name) {
      const auto value = usage->find(name);
      return value ? value->integer().value_or(-1) : -1;
    };
    result.usage = {count("input_tokens"), count("output_tokens")};
    if (result.usage.input_tokens < 0 || result.usage.output_tokens < 0) {
      return Error{ErrorKind::corrupt, "its member usage does not count input_tokens and output_tokens"};
    }
  }
  return Line(std::move(result));
}

Result<Line> read_error(Value line) {
  ErrorLine error{.code = text_of(line, "code"), .message = text_of(line, "message")};
  if (error.code.empty()) return Error{ErrorKind::corrupt, "its member code is not a word"};
  return Line(std::move(error));
}

// Every type but step, which has a past.
Result<Line> read_typed(std::string_view type, Value line, Timestamp at) {
  if (type == "log") {
    return BodyReader(line)
        .word("level", "level", levels)
        .text("message", "text")
        .optional_text("phase")
        .optional_count("durationMs")
        .event(EventKind::log, at);
  }
  if (type == "delta") return read_delta(line, at);
  if (type == "reasoning") return read_text(line, EventKind::reasoning, at);
  if (type == "output") {
    return BodyReader(line)
        .text("id", "id")
        .word("stream", "stream", streams)
        .text("text", "text")
        .optional_text("subagent")
        .event(EventKind::output, at);
  }
  if (type == "file") {
    return BodyReader(line)
        .word("event", "type", file_events)
        .text("path", "path")
        .fixed("timestamp", at.ms)
        .event(EventKind::file, at);
  }
  if (type == "diff") return BodyReader(line).fixed("path", ".").text("diff", "diff").event(EventKind::diff, at);
  if (type == "custom") return read_custom(line, at);
  if (type == "usage") return BodyReader(line).count("input_tokens").count("output_tokens").event(EventKind::usage, at);
  if (type == "egress") return read_egress(line, at);
  if (type == "replaced") return BodyReader(line).count("kept_bytes").event(EventKind::replaced, at);
  if (type == "call") return read_call(line, at);
  if (type == "subagent") return read_subagent(line, at);
  if (type == "subagent_text") return read_subagent_text(line, at);
  if (type == "result") return read_result(line);
  if (type == "error") return read_error(line);
  return Error{ErrorKind::corrupt, "its type is unknown"};
}

// Some runners send empty lines to keep a silent connection open.
bool is_blank(std::string_view line) { return line.find_first_not_of(" \t\r") == std::string_view::npos; }

}  // namespace

Result<std::vector<Line>> LineReader::feed(std::string_view bytes) {
  if (refused_) return Error{ErrorKind::corrupt, "the stream was refused before"};
  std::vector<Line> lines;
  while (!bytes.empty()) {
    const auto newline = bytes.find('\n');
    const auto piece = bytes.substr(0, newline);
    if (over_ && !is_blank(piece)) return ++line_count_, refuse("it comes after the last line");
    if (partial_.size() + piece.size() > limits::runner_line_bytes_max) return ++line_count_, refuse("it is too long");
    partial_ += piece;
    if (newline == std::string_view::npos) break;
    bytes.remove_prefix(newline + 1);
    if (is_blank(partial_)) {
      partial_.clear();
      continue;
    }
    ++line_count_;
    auto line = read(partial_);
    if (!line) return refuse(line.error().what);
    lines.push_back(std::move(line).take());
    partial_.clear();
  }
  return lines;
}

Result<Unit> LineReader::end() const {
  if (over_ && !refused_) return Unit{};
  return Error{ErrorKind::corrupt,
               "the stream ended after line " + std::to_string(line_count_) + " without a result or an error"};
}

Error LineReader::refuse(std::string_view why) {
  refused_ = true;
  return {ErrorKind::corrupt, "line " + std::to_string(line_count_) + " is refused: " + std::string(why)};
}

Result<Line> LineReader::read(std::string_view text) {
  const auto document = json::Document::parse(text);
  if (!document) return Error{ErrorKind::corrupt, document.error().what};
  const auto line = document.value().root();
  if (line.kind() != Kind::object) return Error{ErrorKind::corrupt, "it is not a JSON object"};
  const auto at = time_of(line);
  if (!at) return at.error();
  const auto type = text_of(line, "type");
  auto read = type == "step" ? read_step(line, at.value()) : read_typed(type, line, at.value());
  if (read && std::holds_alternative<ResultLine>(read.value()) && !running_.empty()) {
    return Error{ErrorKind::corrupt, "it is a result, and a step has not ended"};
  }
  over_ = read && !std::holds_alternative<RunEvent>(read.value());
  return read;
}

Result<Line> LineReader::read_step(json::Value line, Timestamp at) {
  auto event = BodyReader(line)
                   .text("id", "id")
                   .text("name", "name")
                   .word("status", "status", statuses)
                   .optional_value("args")
                   .optional_value("result")
                   .optional_count("durationMs")
                   .optional_text("error")
                   .optional_text("subagent")
                   .event(EventKind::step, at);
  if (!event) return event;
  const auto id = text_of(line, "id");
  const auto found = std::ranges::find(running_, id);
  if (text_of(line, "status") != "running") {
    if (found == running_.end()) return Error{ErrorKind::corrupt, "it ends a step that did not begin"};
    running_.erase(found);
  } else if (found == running_.end()) {
    if (running_.size() == limits::runner_steps_max) return Error{ErrorKind::corrupt, "too many steps run at once"};
    running_.push_back(id);
  }
  return event;
}

}  // namespace sluice::dispatch
