#include <algorithm>

#include "base/check.h"
#include "base/json.h"
#include "wire/wire.h"

namespace sluice::wire {
namespace {

using model::EventKind;

struct Message {
  std::string content;
  model::Usage usage;
};

// Of a finished message, as its last event holds it.
Message message_of(std::string_view body) {
  const auto read = model::message_from_json(body);
  if (!read) return {};
  return {read.value().content, read.value().usage.value_or(model::Usage{})};
}

// A problem as its last event holds it: by the last part of its type.
model::Problem problem_of(std::string_view body) {
  model::Problem problem;
  const auto document = json::Document::parse(body);
  if (!document) return problem;
  const auto text = [&](std::string_view name) {
    const auto member = document.value().root().find(name);
    return std::string(member ? member->string().value_or("") : "");
  };
  const auto type = text("type");
  for (const auto& entry : model::problem_registry()) {
    if (type.ends_with("/" + std::string(entry.name))) problem.slug = entry.slug;
  }
  problem.detail = text("detail");
  return problem;
}

}  // namespace

TraceFold::TraceFold(Format format, int64_t after)
    : profile_(format == Format::trace ? harness::Profile::plain : harness::Profile::extended), after_(after) {}

void TraceFold::apply(const store::Committed& news, std::string& out) {
  SLUICE_CHECK(news.position().value == at_.value + 1);
  at_ = news.position();
  const auto& event = news.event();
  if (event.kind == EventKind::text) text_ += event.body;
  if (event.kind == EventKind::replaced && model::take_back(text_, event.body)) {
    round_at_ = std::min(round_at_, text_.size());
  }
  if (event.kind == EventKind::step) round_at_ = text_.size();

  std::string line;
  if (model::is_terminal(event.kind)) {
    end(event, line);
  } else {
    harness::append_line(line, event, profile_);
  }
  if (line.empty()) return;
  if (next_seq_++ > after_) out += line;
}

void TraceFold::end(const model::RunEvent& event, std::string& out) {
  ended_ = true;
  if (event.kind != EventKind::completed) return harness::append_error_line(out, problem_of(event.body), event.at);
  const auto message = message_of(event.body);
  // What came before the last tool call was said on the way; the answer is what followed, if anything did.
  const bool whole = profile_ == harness::Profile::extended || round_at_ >= message.content.size();
  auto answer = std::string_view(message.content).substr(whole ? 0 : round_at_);
  // Without the break that parts it from what was said before.
  if (!whole) answer.remove_prefix(std::min(answer.find_first_not_of('\n'), answer.size()));
  harness::append_result_line(out, answer, message.usage, event.at, profile_);
}

Fold::Fold(const View& view, const model::Run& run) : fold_(make(view, run)) {}

Fold::Any Fold::make(const View& view, const model::Run& run) {
  if (is_agui(view.format)) return AguiFold(view, run);
  if (is_trace(view.format)) return TraceFold(view.format, view.after);
  if (view.format == Format::assistant) return AssistantFold(run, view.after);
  return IntegrationFold(view.format, run.conversation_id, run.message_id, view.after);
}

}  // namespace sluice::wire
