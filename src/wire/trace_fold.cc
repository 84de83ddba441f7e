#include <algorithm>

#include "base/check.h"
#include "wire/wire.h"

namespace sluice::wire {
namespace {

namespace events = model::events;

// A problem that ended a run, by the last part of its type.
model::Problem problem_of(const events::EndProblem& end) {
  model::Problem problem{.detail = end.detail};
  for (const auto& entry : model::problem_registry()) {
    if (entry.name == end.code) problem.slug = entry.slug;
  }
  return problem;
}

}  // namespace

TraceFold::TraceFold(Format format, int64_t after)
    : profile_(format == Format::trace ? dispatch::Profile::plain : dispatch::Profile::extended), after_(after) {}

void TraceFold::apply(const journal::Committed& news, std::string& out) {
  SLUICE_CHECK(news.position().value == at_.value + 1);
  at_ = news.position();
  const auto at = news.event().at;
  std::string line;
  const dispatch::EventLine append(line, at, profile_);
  news.visit(model::Visitor{
      [&](const events::Text& text) {
        text_ += text.text;
        append(text);
      },
      [&](const events::Replaced& replaced) {
        if (model::take_back(text_, replaced)) round_at_ = std::min(round_at_, text_.size());
        append(replaced);
      },
      [&](const events::Step& step) {
        round_at_ = text_.size();
        append(step);
      },
      [&](const events::Completed& completed) { end(completed, at, line); },
      [&](const events::Failed& failed) { end(failed, at, line); },
      [&](const events::Cancelled& cancelled) { end(cancelled, at, line); },
      // Every other kind has the line that the runner's protocol gives it.
      [&](const auto& other) { append(other); },
  });
  if (line.empty()) return;
  if (next_seq_++ > after_) out += line;
}

void TraceFold::end(const events::EndProblem& problem, Timestamp at, std::string& out) {
  ended_ = true;
  dispatch::append_error_line(out, problem_of(problem), at);
}

void TraceFold::end(const events::Completed& message, Timestamp at, std::string& out) {
  ended_ = true;
  // What came before the last tool call was said on the way; the answer is what followed, if anything did.
  const bool whole = profile_ == dispatch::Profile::extended || round_at_ >= message.content.size();
  auto answer = std::string_view(message.content).substr(whole ? 0 : round_at_);
  // Without the break that parts it from what was said before.
  if (!whole) answer.remove_prefix(std::min(answer.find_first_not_of('\n'), answer.size()));
  dispatch::append_result_line(out, answer, message.usage.value_or(model::Usage{}), at, profile_);
}

Fold::Fold(const View& view, const model::Run& run) : fold_(make(view, run)) {}

Fold::Any Fold::make(const View& view, const model::Run& run) {
  if (is_agui(view.format)) return AguiFold(view, run);
  if (is_trace(view.format)) return TraceFold(view.format, view.after);
  if (view.format == Format::assistant) return AssistantFold(run, view.after);
  return IntegrationFold(view.format, run.conversation_id, run.message_id, view.after);
}

}  // namespace sluice::wire
