#include <algorithm>
#include <map>
#include <utility>

#include "harness/claude_control.h"
#include "harness/complaint.h"
#include "harness/dialect_makers.h"
#include "harness/json_line.h"

namespace sluice::harness {
namespace {

using json::Value;
using model::Slug;
using Kind = Heard::Kind;

// Lines that cannot be read are reported this often.
constexpr int complaints_max = 10;
// Blocks of one message whose calls are written at once.
constexpr std::size_t blocks_max = 1000;

// What a tool answered: a text, or blocks of which some are text.
std::string returned_text(Value content) {
  if (const auto text = content.string()) return std::string(*text);
  std::string out;
  content.each_element([&](Value block) {
    if (!out.empty()) out += '\n';
    const auto type = text_in(block, "type");
    out += type == "text" ? std::string(text_in(block, "text")) : "[" + std::string(type) + "]";
  });
  return out;
}

model::Usage sum(const model::Usage& a, const model::Usage& b) {
  return {a.input_tokens + b.input_tokens, a.output_tokens + b.output_tokens};
}

std::string error_words(Value result) {
  if (const auto words = text_in(result, "result"); !words.empty()) return plain_words(words);
  std::string out;
  value_in(result, "errors").each_element([&](Value error) {
    if (!out.empty()) out += "; ";
    out += plain_words(error.string().value_or(""));
  });
  return out.empty() ? plain_words(text_in(result, "subtype")) : out;
}

std::string retry_words(Value line) {
  std::string out = "The model did not answer";
  if (const auto status = count_in(line, "error_status")) out += " (HTTP " + std::to_string(status) + ")";
  if (const auto error = text_in(line, "error"); !error.empty() && error != "unknown") out += ": " + plain_words(error);
  out += ". It is asked again in " + std::to_string(count_in(line, "retry_delay_ms")) + " ms, attempt ";
  return out + std::to_string(count_in(line, "attempt")) + " of " + std::to_string(count_in(line, "max_retries")) + ".";
}

// The agent's answer as far as it was reported. Its last block may be taken back until it is settled.
class ClaudeDraft final {
 public:
  using Out = std::vector<Heard>&;
  void add(std::string_view piece, Out out);
  // The block is whole, and this is its text.
  void settle(std::string_view text, Out out);
  // The block broke off.
  void drop(Out out);

 private:
  std::size_t settled_bytes_ = 0;
  std::string open_;  // reported of the block that is not settled
};

// Claude Code is driven by lines of JSON in both directions ("stream-json"). It writes the same thing several times: in
// pieces while the model writes, whole when a block is done, and again when it asks whether a call may run. The first
// of these is reported. A block that broke off after some pieces is taken back, because the model begins it anew.
class Claude final : public Dialect {
 public:
  explicit Claude(const Assignment& assignment) : control_(assignment, calls_) {}

  std::string opening() override { return control_.opening(); }
  std::vector<Heard> feed(std::string_view bytes) override;
  std::vector<Heard> end(std::string_view exit_words, std::string_view stderr_tail) override;
  std::string take_output() override { return control_.take_output(); }
  bool is_done_writing() const override { return is_over_; }
  void answer(uint64_t question, const Answer& answer) override { control_.answer(question, answer); }
  void interrupt() override {
    if (!is_over_ && !std::exchange(is_interrupted_, true)) control_.interrupt();
  }

 private:
  using Out = std::vector<Heard>&;

  void read(std::string_view line, Out out);
  void read_stream(Value event, Out out);
  void read_delta(Value event, Out out);
  void read_assistant(Value line, Out out);
  void read_block(Value block, std::string_view message, std::string_view subagent, Out out);
  void read_user(Value line, Out out);
  void read_system(Value line, Out out);
  void read_result(Value line, Out out);
  void count(Value usage);
  void count_result(Value line, Out out);
  void report_usage(const model::Usage& usage, Out out);
  void finish(Heard last, Out out);
  void complain(std::string words, Out out);

  LineSplitter lines_;
  bool has_session_ = false;
  bool is_over_ = false;
  bool is_interrupted_ = false;
  int complaints_ = 0;

  ClaudeDraft draft_;
  ClaudeCalls calls_;
  ClaudeControl control_;
  std::string message_;                           // that is being written
  bool has_reasoned_ = false;                     // pieces of its thinking were reported
  std::map<int64_t, std::string> calls_written_;  // by the block's number in the message
  model::Usage counted_;                          // of the messages before
  model::Usage counting_;                         // of the message that is being written
  model::Usage reported_usage_;
};

void ClaudeDraft::add(std::string_view piece, Out out) {
  if (piece.empty()) return;
  // More than a line can hold is never settled by one.
  if (open_.size() + piece.size() > line_bytes_max) settled_bytes_ += std::exchange(open_, {}).size();
  open_ += piece;
  out.push_back({.kind = Kind::text, .text = std::string(piece)});
}

void ClaudeDraft::settle(std::string_view text, Out out) {
  if (!text.starts_with(open_)) drop(out);
  if (const auto rest = text.substr(open_.size()); !rest.empty()) {
    out.push_back({.kind = Kind::text, .text = std::string(rest)});
  }
  settled_bytes_ += text.size();
  open_.clear();
}

void ClaudeDraft::drop(Out out) {
  if (open_.empty()) return;
  open_.clear();
  out.push_back({.kind = Kind::replaced, .kept_bytes = settled_bytes_});
}

std::vector<Heard> Claude::feed(std::string_view bytes) {
  std::vector<Heard> out;
  for (const auto& line : lines_.feed(bytes)) read(line, out);
  if (lines_.take_overlong()) {
    complain("Claude Code printed a line of more than " + std::to_string(line_bytes_max) + " bytes; it is skipped.",
             out);
  }
  return out;
}

std::vector<Heard> Claude::end(std::string_view exit_words, std::string_view stderr_tail) {
  std::vector<Heard> out;
  if (!lines_.rest().empty()) read(lines_.rest(), out);
  if (is_over_) return out;
  auto last = ended_early(has_session_, exit_words, stderr_tail);
  if (is_interrupted_) last.slug = Slug::run_cancelled;
  finish(std::move(last), out);
  return out;
}

void Claude::read(std::string_view line, Out out) {
  if (is_over_) return;
  const auto document = parse_line(line);
  if (!document || document.value().root().kind() != json::Kind::object) {
    return complain("Claude Code printed a line that is not understood: " + plain_words(line.substr(0, 200)), out);
  }
  const auto root = document.value().root();
  const auto type = text_in(root, "type");
  // A failure before anything was done names a session that there is not.
  const bool is_stillborn = type == "result" && is_true_in(root, "is_error");
  if (const auto session = text_in(root, "session_id"); !session.empty() && !has_session_ && !is_stillborn) {
    has_session_ = true;
    out.push_back({.kind = Kind::session, .text = std::string(session)});
  }
  if (type == "stream_event") {
    // Of subagents only whole messages are reported.
    if (text_in(root, "parent_tool_use_id").empty()) read_stream(value_in(root, "event"), out);
  } else if (type == "assistant") {
    read_assistant(root, out);
  } else if (type == "user") {
    read_user(root, out);
  } else if (type == "system") {
    read_system(root, out);
  } else if (type == "result") {
    read_result(root, out);
  } else if (type == "control_request") {
    control_.read_request(root, out);
  } else if (type == "control_response") {
    if (auto refused = control_.read_response(root)) finish(std::move(*refused), out);
  } else if (type == "control_cancel_request") {
    control_.read_withdrawal(text_in(root, "request_id"), out);
  }
}

void Claude::read_stream(Value event, Out out) {
  const auto type = text_in(event, "type");
  if (type == "message_start") {
    const auto message = value_in(event, "message");
    draft_.drop(out);
    message_ = text_in(message, "id");
    has_reasoned_ = false;
    calls_written_.clear();
    counted_ = sum(counted_, counting_);
    counting_ = {};
    count(value_in(message, "usage"));
  } else if (type == "content_block_start") {
    const auto block = value_in(event, "content_block");
    if (text_in(block, "type") != "tool_use" || calls_written_.size() == blocks_max) return;
    calls_.began(text_in(block, "id"), text_in(block, "name"), out);
    calls_written_[count_in(event, "index")] = text_in(block, "id");
  } else if (type == "content_block_delta") {
    read_delta(event, out);
  } else if (type == "message_delta") {
    count(value_in(event, "usage"));
    report_usage(sum(counted_, counting_), out);
  }
}

void Claude::read_delta(Value event, Out out) {
  const auto delta = value_in(event, "delta");
  const auto type = text_in(delta, "type");
  if (type == "text_delta") draft_.add(text_in(delta, "text"), out);
  if (type == "thinking_delta") {
    const auto thinking = text_in(delta, "thinking");
    if (thinking.empty()) return;
    has_reasoned_ = true;
    out.push_back({.kind = Kind::reasoning, .text = std::string(thinking)});
  }
  if (type == "input_json_delta") {
    const auto call = calls_written_.find(count_in(event, "index"));
    if (call != calls_written_.end()) calls_.piece(call->second, text_in(delta, "partial_json"), out);
  }
}

void Claude::read_assistant(Value line, Out out) {
  // Its own words for what went wrong; they come again with the result.
  if (is_true_in(line, "is_api_error_message") || !text_in(line, "error").empty()) return;
  const auto subagent = text_in(line, "parent_tool_use_id");
  const auto message = value_in(line, "message");
  const auto id = text_in(message, "id");
  if (!subagent.empty()) {
    calls_.subagent_seen(subagent, "", text_in(line, "task_description"), out);
  } else if (id != message_) {
    // The answer broke off while it was streamed, and was asked for again without streaming.
    draft_.drop(out);
  }
  value_in(message, "content").each_element([&](Value block) { read_block(block, id, subagent, out); });
}

void Claude::read_block(Value block, std::string_view message, std::string_view subagent, Out out) {
  const auto type = text_in(block, "type");
  if (type == "text") {
    const auto text = text_in(block, "text");
    if (subagent.empty()) {
      draft_.settle(text, out);
    } else if (!text.empty()) {
      out.push_back({.kind = Kind::text, .text = std::string(text), .subagent = std::string(subagent)});
    }
  } else if (type == "thinking") {
    const auto thinking = text_in(block, "thinking");
    const bool was_reported = subagent.empty() && has_reasoned_ && message == message_;
    if (thinking.empty() || was_reported) return;
    out.push_back({.kind = Kind::reasoning, .text = std::string(thinking), .subagent = std::string(subagent)});
  } else if (type == "tool_use") {
    const ProgramCall call{std::string(text_in(block, "id")), reported_name(text_in(block, "name")),
                           object_in(block, "input")};
    calls_.running(call, subagent, out);
  }
}

void Claude::read_user(Value line, Out out) {
  value_in(value_in(line, "message"), "content").each_element([&](Value block) {
    if (text_in(block, "type") != "tool_result") return;
    calls_.ended(text_in(block, "tool_use_id"), returned_text(value_in(block, "content")),
                 is_true_in(block, "is_error"), out);
  });
}

void Claude::read_system(Value line, Out out) {
  const auto subtype = text_in(line, "subtype");
  if (subtype == "api_retry") {
    out.push_back(warned(retry_words(line)));
  } else if (subtype == "compact_boundary") {
    out.push_back({.kind = Kind::log, .text = "Claude Code summed up the conversation so far to save room."});
  } else if (subtype == "task_started" && text_in(line, "task_type") == "local_agent") {
    calls_.subagent_seen(text_in(line, "tool_use_id"), text_in(line, "task_id"), text_in(line, "description"), out);
  }
}

void Claude::read_result(Value line, Out out) {
  count_result(line, out);
  if (const auto put_off = value_in(line, "deferred_tool_use"); put_off.kind() == json::Kind::object) {
    ProgramCall call{std::string(text_in(put_off, "id")), reported_name(text_in(put_off, "name")),
                     object_in(put_off, "input")};
    return finish({.kind = Kind::deferred, .call = std::move(call)}, out);
  }
  if (!is_true_in(line, "is_error")) return finish({.kind = Kind::finished}, out);
  if (is_interrupted_) {
    return finish(failed_as(Slug::run_cancelled, "Claude Code was interrupted."), out);
  }
  const auto words = error_words(line);
  const auto status = value_in(line, "api_error_status").integer();
  finish(failed_as(slug_of_complaint(status, words), "Claude Code failed: " + words), out);
}

// What was read from the cache or written to it is input like any other.
void Claude::count(Value usage) {
  const int64_t input = count_in(usage, "input_tokens") + count_in(usage, "cache_creation_input_tokens") +
                        count_in(usage, "cache_read_input_tokens");
  counting_.input_tokens = std::max(counting_.input_tokens, input);
  counting_.output_tokens = std::max(counting_.output_tokens, count_in(usage, "output_tokens"));
}

// By model, what was used since the last result, subagents included. An interrupted turn reports nothing: then what was
// counted on the way stands.
void Claude::count_result(Value line, Out out) {
  model::Usage used;
  value_in(line, "model_usage_since_last_result").each_member([&](std::string_view, Value model) {
    used.input_tokens += count_in(model, "inputTokens") + count_in(model, "cacheReadInputTokens") +
                         count_in(model, "cacheCreationInputTokens");
    used.output_tokens += count_in(model, "outputTokens");
  });
  counted_ = sum(counted_, counting_);
  counting_ = {};
  count(value_in(line, "usage"));
  for (const auto& other : {counting_, used}) {
    counted_.input_tokens = std::max(counted_.input_tokens, other.input_tokens);
    counted_.output_tokens = std::max(counted_.output_tokens, other.output_tokens);
  }
  counting_ = {};
  report_usage(counted_, out);
}

void Claude::report_usage(const model::Usage& usage, Out out) {
  if (std::exchange(reported_usage_, usage) != usage) out.push_back({.kind = Kind::usage, .usage = usage});
}

void Claude::finish(Heard last, Out out) {
  is_over_ = true;
  control_.drop_questions();
  out.push_back(std::move(last));
}

void Claude::complain(std::string words, Out out) {
  if (is_over_ || ++complaints_ > complaints_max) return;
  out.push_back(warned(std::move(words)));
}

}  // namespace

std::unique_ptr<Dialect> make_claude(const Assignment& assignment) { return std::make_unique<Claude>(assignment); }

}  // namespace sluice::harness
