#include "api/assistant/turns.h"

#include "api/answers/streaming.h"
#include "api/assistant/chats.h"
#include "api/handlers.h"
#include "api/request/reading.h"
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

Turns::Turns(Needs needs, Millis grace) : needs_(needs), grace_(grace) {
  if (!is_shared()) return;
  needs_.engine.answer_nodes(std::string(who_reads_kind),
                             [self = lifetime_.ref(*this)](const std::string& run, Callback<void(std::string)> reply) {
                               const auto id = model::RunId::parse(run);
                               reply(id && self.get() != nullptr && self.get()->has_reader(*id) ? "yes" : "no");
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

bool Turns::has_reader(model::RunId run) const {
  const auto found = turns_.find(run);
  return found != turns_.end() && found->second.reader_count > 0;
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
  needs_.engine.ask_node(
      next, std::string(who_reads_kind), run.text(),
      lifetime_.guard([this, run, others = std::move(others)](const Result<std::string>& answer) mutable {
        // A node that does not answer has no readers either, or soon none.
        if (!answer || answer.value() != "yes") return cancel_unless_read(run, std::move(others));
        turns_.erase(run);
        looked_at_.insert(run);
      }));
}

// ── after a restart ──

void Turns::adopt_unfinished() {
  needs_.store.unfinished_runs(lifetime_.guard([this](const Result<journal::UnfinishedRuns>& runs) {
    if (runs) return adopt_all(runs.value().runs);
    needs_.log.write(world::LogLevel::warn, "turns without a reader cannot be looked up", {{"why", runs.error().what}});
  }));
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
  needs_.store.read(run.id, {}, 1, lifetime_.guard([this, run](const Result<journal::JournalPage>& page) {
    if (!page || turns_.contains(run.id)) return;
    const auto chat = chat_turn_of(page.value().events);
    if (!chat || chat->keep_on_disconnect || model::is_over(page.value().run.state)) {
      looked_at_.insert(run.id);
      return;
    }
    auto& turn = turns_[run.id];
    turn.tenant = run.tenant_id;
    cancel_after(run.id, turn, return_after_restart);
  }));
}

namespace {

constexpr std::string_view follow_parameters[] = {"streamId", "after"};

// A client that reconnects, perhaps with the number of its last frame.
Task<> follow(RequestPtr request, model::RunId run, int64_t after) {
  const auto page = co_await read_first_event(request, run);
  if (page.run.tenant_id != request->tenant().id) co_return request->not_found();
  const auto turn = chat_turn_of(page.events);
  co_await chat_named(request, page.run.conversation_id);
  if (after >= 0) {
    // An EventSource reconnects for ever, unless it gets 204.
    const auto follows = co_await find_event(request, page.run, {wire::Format::assistant, after});
    if (follows == Follows::nothing) co_return request->no_content();
  }
  open_turn_stream(request, {page.run, turn && turn->keep_on_disconnect, after});
}

}  // namespace

void open_turn_stream(const RequestPtr& request, const TurnOpening& opening) {
  auto& turns = request->services().turns;
  turns.join(opening.run, opening.keeps_on);
  StreamOpening stream{
      .run = opening.run, .format = wire::Format::assistant, .after = opening.after, .leaves_at_half_close = true};
  stream.headers.add("X-Chat-Id", opening.run.conversation_id.text());
  stream.headers.add("X-Stream-Id", opening.run.id.text());
  stream.ended = [&turns, run = opening.run.id](StreamEnd how) {
    turns.leave(run, how == StreamEnd::complete ? Turns::Why::over : Turns::Why::left);
  };
  open_stream(request, std::move(stream));
}

void follow_turn(const RequestPtr& request) {
  Findings findings;
  const Query query(request, follow_parameters, findings);
  const auto named = query.find("streamId");
  const auto run = named ? model::RunId::parse(*named) : std::nullopt;
  if (!named) query.refuse("streamId", "is required: which turn");
  const auto after = read_after(request, query, findings);
  if (refused(request, findings)) return;
  if (!run) return request->not_found();
  start_unowned(follow(request, *run, after));
}

}  // namespace sluice::api::assistant
