#include "engine/run_engine.h"

#include <algorithm>

#include "base/check.h"
#include "engine/materials.h"
#include "engine/recovery.h"

namespace sluice::engine {
namespace {

constexpr int64_t reopen_first_ms = 100;
constexpr int64_t reopen_ms_max = 5'000;

model::Problem problem_of(model::Slug slug, std::string detail) {
  model::Problem problem;
  problem.slug = slug;
  problem.detail = std::move(detail);
  return problem;
}

model::Problem unavailable(std::string detail) {
  auto problem = problem_of(model::Slug::unavailable, std::move(detail));
  problem.retry_after_seconds = 1;
  return problem;
}

model::Problem problem_of_store(const Error& error) {
  switch (error.kind) {
    case ErrorKind::not_found: return problem_of(model::Slug::not_found, error.what);
    case ErrorKind::overloaded:
      return unavailable("The store cannot write right now; nothing was created (" + error.what + ").");
    case ErrorKind::unavailable:
      return unavailable("The store did not say whether the message was kept. Retry with the same Idempotency-Key.");
    case ErrorKind::invalid:
    case ErrorKind::denied:
    case ErrorKind::conflict:
    case ErrorKind::corrupt: break;
  }
  return problem_of(model::Slug::internal, "The store refused the message.");
}

std::string accepted_body(const Send& send) {
  std::string body;
  json::Writer writer(body);
  writer.begin_object().key("request_id").string(send.request_id);
  if (!send.traceparent.empty()) writer.key("traceparent").string(send.traceparent);
  writer.end_object();
  return body;
}

}  // namespace

RunEngine::Figures::Figures(world::Metrics& metrics)
    : live(metrics.gauge("sluice_runs_live", "Runs that are not over.")),
      accepted(metrics.counter("sluice_runs_accepted_total", "Messages accepted.")),
      completed(metrics.counter("sluice_runs_ended_total", "Runs that are over.", R"(state="completed")")),
      failed(metrics.counter("sluice_runs_ended_total", "Runs that are over.", R"(state="failed")")),
      cancelled(metrics.counter("sluice_runs_ended_total", "Runs that are over.", R"(state="cancelled")")),
      recovered(metrics.counter("sluice_runs_recovered_total", "Runs taken up again after a restart.")),
      first_event(metrics.histogram("sluice_run_first_event_seconds", "From acceptance to the agent's first event.")),
      duration(metrics.histogram("sluice_run_seconds", "From acceptance to the end.")) {}

RunEngine::RunEngine(EngineNeeds needs, EngineOptions options)
    : needs_(needs), options_(std::move(options)), figures_(needs.metrics), self_(std::make_shared<RunEngine*>(this)) {}

RunEngine::~RunEngine() { *self_ = nullptr; }

std::unique_ptr<Engine> make_engine(EngineNeeds needs, EngineOptions options) {
  return std::make_unique<RunEngine>(needs, std::move(options));
}

// ── a message comes in ──────────────────────────────────────────────────────────────────────────

void RunEngine::send(Send send, Callback<void(SendOutcome)> done) {
  auto shared = std::make_shared<Send>(std::move(send));
  auto* made = std::get_if<model::Conversation>(&shared->conversation);
  if (made == nullptr || made->agent_id != model::AgentId{}) return accept(std::move(shared), std::move(done));
  // The stream's first event shows the conversation, so its agent must be known before it is written.
  needs_.store.default_agent(shared->tenant,
                             while_alive([this, shared, done = std::move(done)](Result<model::Agent> agent) mutable {
                               if (!agent) return done(problem_of_store(agent.error()));
                               std::get<model::Conversation>(shared->conversation).agent_id = agent.value().id;
                               accept(shared, std::move(done));
                             }));
}

void RunEngine::accept(std::shared_ptr<Send> send, Callback<void(SendOutcome)> done) {
  if (draining_) return done(unavailable("The server is stopping; nothing was created."));
  if (store_silent_) return done(unavailable("The store is being reopened; nothing was created."));
  const auto now = needs_.loop.now();
  const auto* existing = std::get_if<model::ConversationId>(&send->conversation);
  const auto* made = std::get_if<model::Conversation>(&send->conversation);
  const auto conversation = existing != nullptr ? *existing : made->id;

  store::NewRun fresh;
  fresh.user_message = {.id = needs_.ids.make<model::MessageId>(), .conversation_id = conversation};
  fresh.user_message.content = send->content;
  fresh.user_message.repository_id = send->repository_id;
  fresh.user_message.skill_ids = send->skill_ids;
  fresh.user_message.env = send->env;
  fresh.user_message.env_name = send->env_name;
  fresh.user_message.created_at = now;
  fresh.assistant_message = {.id = needs_.ids.make<model::MessageId>(), .conversation_id = conversation};
  fresh.assistant_message.role = model::Role::assistant;
  fresh.assistant_message.status = model::MessageStatus::in_progress;
  fresh.assistant_message.created_at = now;
  fresh.run = {.id = needs_.ids.make<model::RunId>(), .tenant_id = send->tenant, .conversation_id = conversation};
  fresh.run.user_message_id = fresh.user_message.id;
  fresh.run.message_id = fresh.assistant_message.id;
  fresh.run.created_at = now;
  // A native run needs no room and no hands yet: it is admitted, started and streaming in one write.
  fresh.run.state = step(step(RunState::accepted, Happening::admitted)->to, Happening::sandbox_ready)->to;
  fresh.events.push_back({model::EventKind::accepted, now, accepted_body(*send)});
  fresh.events.push_back({model::EventKind::started, now, ""});
  if (made != nullptr) {
    fresh.conversation = *made;
    fresh.events.back().body = R"({"conversation":)" + model::to_json(*made) + "}";
  }
  fresh.idempotency = send->idempotency;

  auto message = fresh.assistant_message;
  needs_.store.accept(std::move(fresh), while_alive([this, send, message = std::move(message), done = std::move(done)](
                                                        Result<store::AcceptOutcome> outcome) mutable {
                        if (!outcome) {
                          if (outcome.error().kind == ErrorKind::unavailable) store_fell_silent(outcome.error());
                          return done(problem_of_store(outcome.error()));
                        }
                        done(on_accepted(*send, std::move(message), std::move(outcome).take()));
                      }));
}

SendOutcome RunEngine::on_accepted(const Send& send, model::Message message, store::AcceptOutcome outcome) {
  if (auto* replay = std::get_if<store::Replay>(&outcome)) {
    SLUICE_CHECK(replay->run.has_value());
    return Sent{std::move(*replay->run), true};
  }
  if (std::holds_alternative<store::KeyConflict>(outcome)) {
    return problem_of(model::Slug::idempotency_key_conflict,
                      "This Idempotency-Key was used within 24 hours for a request with another body.");
  }
  if (std::holds_alternative<store::Archived>(outcome)) {
    return problem_of(model::Slug::conversation_archived, "The conversation is archived; nothing was created.");
  }
  if (auto* busy = std::get_if<store::Busy>(&outcome)) {
    auto problem = problem_of(model::Slug::conversation_busy,
                              "The conversation is answering another message; nothing was created.");
    problem.conflicting_resource_id = busy->run.id.text();
    return problem;
  }

  auto& accepted = std::get<store::Accepted>(outcome);
  figures_.accepted.add();
  auto& live = enter(accepted.run, std::move(message), send.request_id);
  live.keep_opening(std::move(accepted.events));

  const bool filler = send.message_filler.value_or(accepted.conversation.filler_enabled.value_or(send.tenant_filler));
  harness::Dispatch work{.run = accepted.run.id, .conversation = accepted.conversation.id};
  work.agent = std::move(accepted.agent);
  work.prompt = send.content;
  work.filler = filler && send.streamed;
  work.traceparent = send.traceparent;
  model::Message asked;
  asked.repository_id = send.repository_id;
  asked.skill_ids = send.skill_ids;
  asked.env = send.env;
  asked.env_name = send.env_name;
  const auto names = materials_named(work.agent, accepted.conversation.repository_id, asked);
  work.materials.variables = asked.env.value_or(std::map<std::string, std::string>{});
  start_work(accepted.run.id, std::move(work), names);
  return Sent{std::move(accepted.run), false};
}

LiveRun& RunEngine::enter(const model::Run& run, model::Message message, std::string request_id) {
  const LiveRun::Needs needs{*this, needs_.store, needs_.loop, figures_.first_event, options_.public_base_url};
  auto live = std::make_unique<LiveRun>(needs, run, std::move(message), std::move(request_id));
  auto& entered = *live;
  const bool fresh = live_.emplace(run.id, std::move(live)).second;
  SLUICE_CHECK(fresh);
  figures_.live.set(static_cast<int64_t>(live_.size()));
  return entered;
}

// ── runs tell the engine ────────────────────────────────────────────────────────────────────────

LiveRun* RunEngine::find(model::RunId run) {
  const auto found = live_.find(run);
  return found == live_.end() ? nullptr : found->second.get();
}

void RunEngine::on_dirty(model::RunId run) {
  dirty_.push_back(run);
  if (dirty_.size() == 1) needs_.loop.defer(while_alive([this] { flush_dirty(); }));
}

void RunEngine::flush_dirty() {
  for (const auto& run : std::exchange(dirty_, {})) {
    if (auto* live = find(run)) live->flush();
  }
}

void RunEngine::on_over(LiveRun& run) {
  const auto& record = run.run();
  auto& ended = record.state == RunState::completed ? figures_.completed
                : record.state == RunState::failed  ? figures_.failed
                                                    : figures_.cancelled;
  ended.add();
  figures_.duration.observe_us(needs_.loop.monotonic_us() - run.accepted_us());
  if (needs_.log.wants(world::LogLevel::info)) {
    needs_.log.write(world::LogLevel::info, "run ended",
                     {{"run", record.id.text()},
                      {"state", model::name_of(record.state)},
                      {"problem", run.problem_name().empty() ? "-" : run.problem_name()},
                      {"tenant", record.tenant_id.text()},
                      {"request_id", run.request_id()}});
  }
  const auto id = record.id;
  live_.erase(id);
  note_left();
}

void RunEngine::note_left() {
  figures_.live.set(static_cast<int64_t>(live_.size()));
  if (!draining_ || !live_.empty() || !drained_) return;
  drain_timer_.cancel();
  needs_.loop.defer(std::exchange(drained_, nullptr));
}

void RunEngine::on_lost(LiveRun& run, const Error& why) {
  needs_.log.write(world::LogLevel::error, "run cannot be written", {{"run", run.run().id.text()}, {"why", why.what}});
  if (why.kind == ErrorKind::unavailable) return store_fell_silent(why);
  // Fenced out: another server carries it on. Corrupt: a human must look. Either way not ours to tell.
  auto lost = std::move(live_.extract(run.run().id).mapped());
  lost->abandon(why);
  note_left();
}

// ── readers ─────────────────────────────────────────────────────────────────────────────────────

std::unique_ptr<Reading> RunEngine::read(const model::Run& run, wire::Format format, int64_t after, Reader& reader) {
  return std::make_unique<JournalReading>(JournalReading::Needs{*this, needs_.store, needs_.loop}, run, format, after,
                                          reader);
}

class RunEngine::EndWaiting final : public Waiting {
 public:
  explicit EndWaiting(std::shared_ptr<Callback<void(Result<wire::Ending>)>> waiter) : waiter_(std::move(waiter)) {}

 private:
  // Shared with whoever will call it; weakly there, so that dropping this is enough to be forgotten.
  std::shared_ptr<Callback<void(Result<wire::Ending>)>> waiter_;
};

std::unique_ptr<Waiting> RunEngine::wait_for_end(const model::Run& run, Callback<void(Result<wire::Ending>)> done) {
  auto waiter = std::make_shared<Callback<void(Result<wire::Ending>)>>(std::move(done));
  if (auto* live = find(run.id)) {
    live->wait_for_end(waiter);
  } else {
    needs_.store.run(
        run.tenant_id, run.id, while_alive([this, weak = std::weak_ptr(waiter)](Result<model::Run> found) {
          const auto still = weak.lock();
          if (!still) return;
          if (!found) return (*still)(found.error());
          if (auto* again = find(found.value().id)) return again->wait_for_end(still);
          if (!is_over(found.value().state)) {
            return (*still)(Error{ErrorKind::unavailable, "the run is not being carried on by this server"});
          }
          needs_.store.journal(
              found.value().id, {found.value().head.value - 1}, 1, [weak](Result<store::JournalPage> page) {
                const auto waiting = weak.lock();
                if (!waiting) return;
                if (!page) return (*waiting)(page.error());
                auto ending = page.value().events.empty() ? std::nullopt : wire::ending_of(page.value().events.back());
                if (!ending) return (*waiting)(Error{ErrorKind::corrupt, "a finished run's journal has no end"});
                (*waiting)(std::move(*ending));
              });
        }));
  }
  return std::make_unique<EndWaiting>(std::move(waiter));
}

void RunEngine::cancel(model::TenantId tenant, model::RunId run, Cancelled done) {
  needs_.store.run(tenant, run, while_alive([this, done = std::move(done)](Result<model::Run> found) mutable {
                     if (!found) return done(problem_of_store(found.error()));
                     cancel_found(std::move(found).take(), std::move(done), 1);
                   }));
}

void RunEngine::cancel_found(model::Run run, Cancelled done, int looks_left) {
  const auto answer = [](Cancelled& tell, const model::Run& ended) {
    if (ended.state == RunState::cancelled) return tell(ended);
    tell(problem_of(model::Slug::run_finished, "The run ended as " + std::string(model::name_of(ended.state)) + "."));
  };
  if (auto* live = find(run.id)) {
    return live->cancel([answer, done = std::move(done)](Result<model::Run> ended) mutable {
      if (!ended) return done(problem_of_store(ended.error()));
      answer(done, ended.value());
    });
  }
  if (is_over(run.state)) return answer(done, run);
  // It may have ended between the look at the disk and the look here.
  if (looks_left == 0) return done(unavailable("The run is not being carried on by this server right now."));
  needs_.store.run(run.tenant_id, run.id,
                   while_alive([this, looks_left, done = std::move(done)](Result<model::Run> found) mutable {
                     if (!found) return done(problem_of_store(found.error()));
                     cancel_found(std::move(found).take(), std::move(done), looks_left - 1);
                   }));
}

// ── the store falls silent; the server stops ────────────────────────────────────────────────────

void RunEngine::store_fell_silent(const Error& why) {
  if (std::exchange(store_silent_, true)) return;
  needs_.log.write(world::LogLevel::error, "store fell silent", {{"why", why.what}});
  // Not from inside a run's own callback: it would be dropped while it speaks.
  needs_.loop.defer(while_alive([this, why] {
    recovery_.reset();
    for (auto& [id, run] : std::exchange(live_, {})) run->abandon(why);
    note_left();
    reopen_later();
  }));
}

// At once the first time; later with growing patience, until a recovery has worked.
void RunEngine::reopen_later() {
  const int tries = reopen_tries_++;
  if (tries == 0) return reopen_store();
  const int64_t wait = std::min(reopen_ms_max, reopen_first_ms << std::min(tries, 10));
  reopen_timer_ = needs_.loop.after({wait}, [this] { reopen_store(); });
}

void RunEngine::reopen_store() {
  needs_.store.reopen(while_alive([this](Result<Unit> opened) {
    if (opened) {
      store_silent_ = false;
      return run_recovery();
    }
    needs_.log.write(world::LogLevel::error, "store cannot be reopened", {{"why", opened.error().what}});
    reopen_later();
  }));
}

void RunEngine::recover(Callback<void(Result<Unit>)> done) {
  recovered_ = std::move(done);
  run_recovery();
}

void RunEngine::run_recovery() {
  recovery_ = std::make_unique<Recovery>(*this);
  recovery_->start([this](Result<Unit> recovered) {
    if (!recovered && recovered.error().kind == ErrorKind::unavailable) return store_fell_silent(recovered.error());
    if (recovered) reopen_tries_ = 0;
    if (recovered_) std::exchange(recovered_, nullptr)(std::move(recovered));
  });
}

void RunEngine::drain(Millis deadline, Callback<void()> done) {
  draining_ = true;
  if (live_.empty()) return needs_.loop.defer(std::move(done));
  drained_ = std::move(done);
  drain_timer_ = needs_.loop.after(deadline, [this] { std::exchange(drained_, nullptr)(); });
}

}  // namespace sluice::engine
