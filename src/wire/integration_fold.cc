#include "base/check.h"
#include "wire/append_number.h"
#include "wire/wire.h"

namespace sluice::wire {
namespace {

using model::EventKind;

constexpr std::string_view envelope_head = R"({"object":"conversation.event","type":")";
constexpr std::string_view delta_type = "content_delta";
constexpr std::string_view queued_type = "queued";

}  // namespace

IntegrationFold::IntegrationFold(Format format, model::ConversationId conversation, model::MessageId message,
                                 int64_t after)
    : format_(format), after_(after) {
  queued_middle_ = R"(","conversation_id":")" + conversation.text() + R"(","message_id":null,"seq":)";
  envelope_middle_ =
      R"(","conversation_id":")" + conversation.text() + R"(","message_id":")" + message.text() + R"(","seq":)";
  delta_head_ = std::string(envelope_head) + std::string(delta_type) + envelope_middle_;
}

void IntegrationFold::apply(const journal::Committed& news, std::string& out) {
  SLUICE_CHECK(news.position().value == at_.value + 1);
  at_ = news.position();

  const auto& event = news.event();
  switch (event.kind) {
    case EventKind::started:
      if (!begin("message_start", out)) break;
      out += R"({"role":"assistant")";
      // The body is {"conversation":{…}} when the conversation came into being with the message.
      if (!event.body.empty()) out.append(",").append(event.body, 1, event.body.size() - 2);
      out += '}';
      end(event, out);
      break;
    case EventKind::text:
    case EventKind::filler:
      if (!begin(delta_type, out)) break;
      out += R"({"text":)";
      json::append_string(out, event.body);
      out += event.kind == EventKind::filler ? R"(,"filler":true})" : "}";
      end(event, out);
      break;
    case EventKind::completed:
      ended_ = true;
      if (!begin("message_end", out)) break;
      out.append(R"({"message":)").append(event.body).append("}");
      end(event, out);
      break;
    case EventKind::failed:
    case EventKind::cancelled:
      ended_ = true;
      if (!begin("error", out)) break;
      out += event.body;
      end(event, out);
      break;
    case EventKind::queued: tell(queued_type, event, out); break;
    case EventKind::gate: tell("approval_required", event, out); break;
    case EventKind::resumed: tell("resumed", event, out); break;
    case EventKind::accepted:
    case EventKind::checkpoint:
    case EventKind::answers:
    case EventKind::mark: break;
    case EventKind::reasoning:
    case EventKind::log:
    case EventKind::usage:
    case EventKind::step:
    case EventKind::output:
    case EventKind::file:
    case EventKind::diff:
    case EventKind::custom:
    case EventKind::egress:
    case EventKind::replaced:
    case EventKind::call:
    case EventKind::subagent:
    case EventKind::subagent_text:
      if (is_full(format_)) tell_more(event, out);
      break;
  }
}

// The body is the data as it stands.
void IntegrationFold::tell(std::string_view type, const model::RunEvent& event, std::string& out) {
  if (!begin(type, out)) return;
  out += event.body;
  end(event, out);
}

// Bodies are JSON objects as they stand, but for reasoning, which is plain text.
void IntegrationFold::tell_more(const model::RunEvent& event, std::string& out) {
  if (event.kind != EventKind::reasoning) return tell(model::name_of(event.kind), event, out);
  if (!begin(model::name_of(event.kind), out)) return;
  out += R"({"text":)";
  json::append_string(out, event.body);
  out += '}';
  end(event, out);
}

bool IntegrationFold::begin(std::string_view type, std::string& out) {
  const int64_t seq = next_seq_++;
  if (seq <= after_) return false;
  if (is_sse(format_)) {
    out += "id: ";
    append_number(out, seq);
    out.append("\nevent: ").append(type).append("\ndata: ");
  }
  if (type == delta_type) {
    out += delta_head_;
  } else if (type == queued_type) {
    out.append(envelope_head).append(type).append(queued_middle_);
  } else {
    out.append(envelope_head).append(type).append(envelope_middle_);
  }
  append_number(out, seq);
  out += R"(,"data":)";
  return true;
}

void IntegrationFold::end(const model::RunEvent& event, std::string& out) {
  out += R"(,"created_at":")";
  if (stamp_.empty() || stamped_at_ != event.at) {
    stamp_.clear();
    append_rfc3339(stamp_, event.at);
    stamped_at_ = event.at;
  }
  out += stamp_;
  out += is_sse(format_) ? "\"}\n\n" : "\"}\n";
}

std::optional<Ending> ending_of(const journal::Committed& news) {
  if (!model::is_terminal(news.event().kind)) return std::nullopt;
  std::optional<Ending> ending;
  const auto keep = [&](const auto& event) {
    if constexpr (std::is_constructible_v<Ending, decltype(event)>) ending = event;
  };
  news.visit(keep);
  return ending;
}

}  // namespace sluice::wire
