#include "api/assistant/assistant.h"

#include "base/json.h"

namespace sluice::api::assistant {
namespace {

constexpr Millis return_after_restart{30'000};
constexpr Millis look_every{10'000};
constexpr std::string_view who_reads_kind = "who reads";

}  // namespace

std::optional<model::ChatTurn> chat_turn_of(const journal::CommittedBatch& journal) {
  if (journal.empty()) return std::nullopt;
  auto accepted = model::event_as<model::events::Accepted>(journal.front().event());
  return accepted ? std::move(accepted->extras.chat) : std::nullopt;
}

Turns::Turns(Needs needs, Millis grace) : needs_(needs), grace_(grace), self_(std::make_shared<Turns*>(this)) {
  if (!is_shared()) return;
  needs_.engine.answer_nodes(std::string(who_reads_kind),
                             [self = self_](const std::string& run, Callback<void(std::string)> reply) {
                               const auto id = model::RunId::parse(run);
                               if (*self == nullptr || !id) return reply("no");
                               const auto found = (*self)->turns_.find(*id);
                               const bool is_read = found != (*self)->turns_.end() && found->second.reader_count > 0;
                               reply(is_read ? "yes" : "no");
                             });
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
  if (closed_) return;
  auto others = needs_.engine.nodes();
  std::erase_if(others, [&](const journal::SeenNode& node) { return node.id == needs_.store.nodes().self(); });
  cancel_unless_read(run, std::move(others));
}

void Turns::cancel_unless_read(model::RunId run, std::vector<journal::SeenNode> others) {
  const auto found = turns_.find(run);
  if (found == turns_.end() || found->second.reader_count > 0 || closed_) return;
  if (others.empty()) {
    const auto tenant = found->second.tenant;
    turns_.erase(found);
    return needs_.engine.cancel(tenant, run, [](const auto&) {});  // or it is over by itself
  }
  const auto next = others.back().id;
  others.pop_back();
  needs_.engine.ask_node(next, std::string(who_reads_kind), run.text(),
                         [self = self_, run, others = std::move(others)](const Result<std::string>& answer) mutable {
                           if (*self == nullptr) return;
                           // Who does not answer has no readers either, or soon none.
                           if (!answer || answer.value() != "yes")
                             return (*self)->cancel_unless_read(run, std::move(others));
                           (*self)->turns_.erase(run);
                           (*self)->looked_at_.insert(run);
                         });
}

// ── after a restart ──

void Turns::adopt_unfinished() {
  needs_.store.unfinished_runs([self = self_](const Result<journal::UnfinishedRuns>& runs) {
    if (*self == nullptr) return;
    if (!runs) {
      (*self)->needs_.log.write(world::LogLevel::warn, "turns without a reader cannot be looked up",
                                {{"why", runs.error().what}});
      return;
    }
    (*self)->adopt_all(runs.value().runs);
  });
  if (is_shared()) look_timer_ = needs_.loop.after(look_every, [this] { adopt_unfinished(); });
}

void Turns::adopt_all(const std::vector<model::Run>& runs) {
  std::unordered_set<model::RunId> still;
  for (const auto& run : runs) {
    if (run.node != needs_.store.nodes().self()) continue;
    if (looked_at_.contains(run.id))
      still.insert(run.id);
    else if (!turns_.contains(run.id))
      adopt(run);
  }
  looked_at_ = std::move(still);
}

void Turns::adopt(const model::Run& run) {
  needs_.store.read(run.id, {}, 1, [self = self_, run](const Result<journal::JournalPage>& page) {
    if (*self == nullptr || !page || (*self)->turns_.contains(run.id)) return;
    const auto chat = chat_turn_of(page.value().events);
    if (!chat || chat->keep_on_disconnect || model::is_over(page.value().run.state)) {
      (*self)->looked_at_.insert(run.id);
      return;
    }
    auto& turn = (*self)->turns_[run.id];
    turn.tenant = run.tenant_id;
    (*self)->cancel_after(run.id, turn, return_after_restart);
  });
}

}  // namespace sluice::api::assistant
