#include "api/assistant/turns.h"

#include "base/json.h"

namespace sluice::api::assistant {
namespace {

constexpr Millis return_after_restart{30'000};

}  // namespace

std::optional<model::ChatTurn> chat_turn_of(const store::CommittedBatch& journal) {
  if (journal.empty()) return std::nullopt;
  const auto body = json::Document::parse(journal.front().event().body);
  return body ? model::extras_from_json(body.value().root()).chat : std::nullopt;
}

void Turns::join(const model::Run& run, bool keeps_on) {
  auto& turn = turns_[run.id];
  turn.tenant = run.tenant_id;
  turn.keeps_on = keeps_on;
  ++turn.reader_count;
  turn.leaving.cancel();
}

void Turns::leave(model::RunId run, Why why) {
  const auto found = turns_.find(run);
  if (found == turns_.end()) return;
  auto& turn = found->second;
  if (--turn.reader_count > 0) return;
  if (why == Why::over || turn.keeps_on || closed_) {
    turns_.erase(found);
  } else {
    cancel_after(run, turn, grace_);
  }
}

bool Turns::is_left(model::RunId run) const {
  const auto found = turns_.find(run);
  return found != turns_.end() && found->second.reader_count == 0 && !found->second.keeps_on;
}

void Turns::cancel_after(model::RunId run, Turn& turn, Millis delay) {
  turn.leaving = needs_.loop.after(delay, [this, run] { cancel(run); });
}

void Turns::cancel(model::RunId run) {
  const auto tenant = turns_.at(run).tenant;
  turns_.erase(run);
  if (closed_) return;
  needs_.engine.cancel(tenant, run, [](const auto&) {});  // or it is over by itself
}

// ── after a restart ──

void Turns::adopt_unfinished() {
  needs_.store.unfinished_runs([self = self_](const Result<std::vector<model::Run>>& runs) {
    if (*self == nullptr) return;
    if (!runs) {
      (*self)->needs_.log.write(world::LogLevel::warn, "turns that nobody reads are not looked for",
                                {{"why", runs.error().what}});
      return;
    }
    for (const auto& run : runs.value()) (*self)->adopt(run);
  });
}

void Turns::adopt(const model::Run& run) {
  needs_.store.journal(run.id, {}, 1, [self = self_, run](const Result<store::JournalPage>& page) {
    if (*self == nullptr || !page || (*self)->turns_.contains(run.id)) return;
    const auto chat = chat_turn_of(page.value().events);
    if (!chat || chat->keep_on_disconnect || model::is_over(page.value().run.state)) return;
    auto& turn = (*self)->turns_[run.id];
    turn.tenant = run.tenant_id;
    (*self)->cancel_after(run.id, turn, return_after_restart);
  });
}

}  // namespace sluice::api::assistant
