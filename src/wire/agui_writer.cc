#include "wire/agui_writer.h"

#include <algorithm>

#include "wire/append_number.h"

namespace sluice::wire {
namespace {

// A run's name is the client's: in a line of SSE it must not begin another.
bool is_one_line(std::string_view text) {
  return std::none_of(text.begin(), text.end(), [](char c) { return c == '\r' || c == '\n' || c == '\0'; });
}

}  // namespace

AguiWriter::AguiWriter(Format format, int64_t after)
    : peer_(peer_of(format)),
      is_sse_(format == Format::agui_sse || format == Format::agui_old_sse || format == Format::agui_tanstack_sse),
      after_(after),
      rules_(peer_) {}

void AguiWriter::begin_stream(std::string_view run_id, bool is_shown) {
  rules_ = AguiRules(peer_);
  count_ = 0;
  is_shown_ = is_shown;
  is_over_ = false;
  if (is_sse_) {
    frame_head_ = "id: ";
    frame_head_.append(is_one_line(run_id) ? run_id : "run").append("-");
  } else {
    frame_head_ = R"({"id":)";
    json::append_string(frame_head_, run_id);
    frame_head_.back() = '-';
  }
}

void AguiWriter::aim(std::string& out, Timestamp at) {
  out_ = &out;
  if (!stamp_.empty() && at_ == at) return;
  at_ = at;
  stamp_ = R"(,"timestamp":)";
  append_number(stamp_, at.ms);
  stamp_ += '}';
}

std::string AguiWriter::head_of(const AguiEvent& event) {
  std::string head;
  json::Writer writer(head);
  writer.begin_object().key("type").string(name_of(event.type));
  writer.key(event.type == AguiType::call_args ? "toolCallId" : "messageId").string(event.id);
  if (!event.owner.empty()) writer.key("subagentRunId").string(event.owner);
  writer.key("delta");
  return head;
}

void AguiWriter::write_piece(const AguiEvent& event, std::string_view head, std::string_view text) {
  if (is_over_ || !admits(event) || !open_frame(event.type)) return;
  *out_ += head;
  json::append_string(*out_, text);
  close_frame();
}

bool AguiWriter::leave(std::string_view call) {
  if (is_over_) return false;
  const auto fault = rules_.admit_pending(call);
  if (!fault.empty()) end_as_broken(name_of(AguiType::run_finished), call, fault);
  return fault.empty();
}

bool AguiWriter::admits(const AguiEvent& event) {
  const auto fault = rules_.admit(event);
  if (!fault.empty()) end_as_broken(name_of(event.type), event.id, fault);
  return fault.empty();
}

void AguiWriter::end_as_broken(std::string_view type, std::string_view id, std::string_view fault) {
  if (is_shown_) ++violations_;
  std::string words = "The stream cannot go on by AG-UI's rules: ";
  words.append(type).append(" of ").append(id).append(" ").append(fault).append(".");
  if (!open_frame(AguiType::run_error)) return;
  json::Writer writer(*out_);
  writer.begin_object().key("type").string(name_of(AguiType::run_error)).key("message").string(words);
  writer.key("code").string("protocol_violation");
  close_frame();
}

bool AguiWriter::open_frame(AguiType type) {
  const int64_t number = count_++;
  is_over_ = is_terminal(type);
  if (!is_shown_) return false;
  // A client that has everything and asks again waits for an end: it is written again, without a number.
  const bool is_news = number > after_;
  if (!is_news && !is_over_) return false;
  is_wrapped_ = is_news && !is_sse_ && peer_ == AguiPeer::tanstack;
  if (is_news && (is_sse_ || is_wrapped_)) {
    *out_ += frame_head_;
    append_number(*out_, number);
    *out_ += is_sse_ ? "\n" : R"(","chunk":)";
  }
  if (is_sse_) *out_ += "data: ";
  return true;
}

void AguiWriter::close_frame() {
  *out_ += stamp_;
  if (is_wrapped_) *out_ += '}';
  *out_ += is_sse_ ? "\n\n" : "\n";
}

}  // namespace sluice::wire
