// The engine behind its interface: it makes the parts, passes each what it needs, and keeps what concerns all live runs
// at once: how one enters and leaves, and what becomes of them when they are dropped, recovered or let go.
//
// Called from the loop's thread.
#include <memory>
#include <string>
#include <vector>

#include "base/check.h"
#include "engine/acceptance.h"
#include "engine/following.h"
#include "engine/kept_workspaces.h"
#include "engine/launcher.h"
#include "engine/leftovers.h"
#include "engine/mail_words.h"
#include "engine/problems.h"
#include "engine/recoveries.h"
#include "engine/run_requests.h"

namespace sluice::engine {
namespace {

class RunEngine final : public Engine,
                        private RunOwner,
                        private Acceptance::Host,
                        private Cluster::Host,
                        private Launcher::Host,
                        private Recovery::Host,
                        private StoreOutage::Host {
 public:
  RunEngine(EngineNeeds needs, EngineOptions options);
  ~RunEngine() override;

  void recover(Callback<void(Result<Unit>)> done) override;
  void send(Send send, Callback<void(SendOutcome)> done) override;
  std::unique_ptr<Reading> read(const model::Run& run, const wire::View& view, Reader& reader) override;
  std::unique_ptr<Waiting> wait_for_end(const model::Run& run, Callback<void(Result<wire::Ending>)> done) override;
  void cancel(model::TenantId tenant, model::RunId run, RunRequests::Cancelled done) override;
  void decide(Decision decision, RunRequests::Decided done) override;
  void run_of(model::TenantId tenant, model::ConversationId conversation,
              Callback<void(Result<std::optional<model::RunId>>)> done) override;
  bool attends(model::RunId run) const override;
  Capacity capacity() const override { return cluster_.capacity(); }
  model::SandboxNow sandbox_of(model::ConversationId conversation) const override;
  std::optional<model::Problem> refusal_of_sticky(model::TenantId tenant,
                                                  const model::TenantLimits& limits) const override;
  void conversation_changed(const model::Conversation& conversation) override;
  void secrets_changed(model::TenantId tenant) override;
  void store_fell_silent(const Error& why) override { outage_.begin(why); }
  bool reaches_store() override { return cluster_.reaches_store(); }
  std::vector<journal::SeenNode> nodes() const override { return cluster_.nodes(); }
  bool is_gone(model::NodeId node) const override;
  void ask_node(model::NodeId node, std::string kind, std::string body,
                Callback<void(Result<std::string>)> done) override;
  void answer_nodes(std::string kind, NodeAnswerer answerer) override;
  void drain(Millis deadline, Callback<void()> done) override;

 private:
  struct Figures {
    explicit Figures(world::Metrics& metrics);
    world::Counter &completed, &failed, &cancelled;
    world::Histogram& duration;
    world::Counter& violations;
  };

  void on_dirty(model::RunId run) override { live_.flush_later(run); }
  void on_notice() override;
  void on_over(LiveRun& run) override;
  void on_unsure(LiveRun& run, const Error& why) override;
  void on_sure() override { outage_.on_answer(); }
  void on_lost(LiveRun& run, const Error& why) override;

  std::optional<model::Problem> refusal_now() const override;
  LiveRun& enter(const model::Run& run, model::Message message, std::string request_id) override;
  void lose_to_other(LiveRun& run, const Error& why) override;
  void note_left() override;
  void run_recovery() override { recoveries_.run(); }
  void end_recovery() override;
  void drop_all(const Error& why) override;

  void drop_runs(const Error& why);
  void end_drain();
  // What changed by this node's doing or another's.
  void apply_change(const model::Conversation& conversation);
  void on_change_elsewhere(const journal::Mail& mail, Postbox::Reply reply);

  EngineNeeds needs_;
  EngineOptions options_;
  Figures figures_;
  RunFigures run_figures_;
  Recovery::Figures recovery_figures_;
  StoreClock store_clock_;
  const RunNeeds run_needs_;
  LiveRuns live_;
  Launcher launcher_;
  Admission admission_;
  Draining draining_;
  Postbox postbox_;
  Suspension suspension_;
  StoreOutage outage_;
  Cluster cluster_;
  Recoveries recoveries_;
  RunSecrets secrets_;
  StickyHomes homes_;
  Acceptance acceptance_;
  EndWaiters end_waiters_;
  RunRequests requests_;
  Leftovers leftovers_;
  KeptWorkspaces kept_workspaces_;
  Lifetime lifetime_;
};

RunEngine::Figures::Figures(world::Metrics& metrics)
    : completed(metrics.counter("sluice_runs_ended_total", "Runs that are over.", R"(state="completed")")),
      failed(metrics.counter("sluice_runs_ended_total", "Runs that are over.", R"(state="failed")")),
      cancelled(metrics.counter("sluice_runs_ended_total", "Runs that are over.", R"(state="cancelled")")),
      duration(metrics.histogram("sluice_run_seconds", "From acceptance to the end.")),
      violations(metrics.counter("sluice_agui_violations_total",
                                 "Events that would have broken AG-UI's rules, by the streams that had them.")) {}

RunEngine::RunEngine(EngineNeeds needs, EngineOptions options)
    : needs_(needs),
      options_(std::move(options)),
      figures_(needs.metrics),
      run_figures_(needs.metrics),
      recovery_figures_(needs.metrics),
      store_clock_(needs.loop),
      run_needs_{*this, launcher_, needs.store, needs.loop, store_clock_, needs.ids, run_figures_, options_},
      live_(needs.loop, needs.metrics),
      launcher_({*this, live_, admission_, cluster_, recoveries_, homes_, secrets_, suspension_, draining_, needs.store,
                 needs.dispatcher, needs.material_source, needs.loop, needs.log}),
      admission_({launcher_, needs.loop, needs.metrics, needs.dispatcher}, options_),
      draining_(admission_, needs.loop),
      postbox_(needs.store.nodes(), needs.loop, needs.ids),
      suspension_({live_, needs.loop, needs.log, needs.metrics}),
      outage_({*this, live_, needs.store, needs.loop, needs.log}),
      cluster_({*this, recoveries_, live_, admission_, suspension_, outage_, draining_, postbox_, needs.store,
                needs.loop, needs.log, needs.metrics},
               options_),
      recoveries_({{*this, live_, admission_, cluster_.peers(), postbox_, store_clock_, recovery_figures_, needs.store,
                    needs.dispatcher, needs.loop, needs.log, options_},
                   outage_,
                   draining_,
                   needs.metrics}),
      secrets_({live_, needs.store, needs.loop, needs.log, needs.sealer, needs.workers}),
      homes_({cluster_, recoveries_, admission_, postbox_, needs.dispatcher, needs.store, needs.loop}),
      acceptance_({*this, live_, admission_, recoveries_, launcher_, needs.store, store_clock_, needs.loop, needs.ids,
                   needs.log, needs.metrics, needs.disk}),
      end_waiters_({live_, cluster_, draining_, needs.store, needs.loop}),
      requests_({live_, postbox_, needs.store, cluster_.alone()}),
      leftovers_({needs.dispatcher, needs.store, needs.loop, live_, cluster_.alone()}),
      kept_workspaces_(needs.store, needs.dispatcher, needs.loop,
                       [this](model::TenantId tenant, model::ConversationId conversation,
                              Callback<void(Result<std::optional<model::RunId>>)> done) {
                         run_of(tenant, conversation, std::move(done));
                       }) {
  for (const auto kind : {mail::conversation_changed, mail::secrets_changed}) {
    postbox_.answer(
        kind, [this](const journal::Mail& mail, Postbox::Reply reply) { on_change_elsewhere(mail, std::move(reply)); });
  }
}

// Runs go first: what works on them may still use the rest.
RunEngine::~RunEngine() { live_.take_all(); }

// ── requests ────────────────────────────────────────────────────────────────────────────────────

void RunEngine::send(Send send, Callback<void(SendOutcome)> done) {
  acceptance_.send(std::move(send), std::move(done));
}

std::optional<model::Problem> RunEngine::refusal_now() const {
  if (draining_.has_begun()) return unavailable("The server is stopping; nothing was created.");
  if (outage_.is_on()) return unavailable("The store is being reopened; nothing was created.");
  if (!cluster_.peers().takes_part()) return unavailable("The server cannot reach the store; nothing was created.");
  return std::nullopt;
}

std::unique_ptr<Reading> RunEngine::read(const model::Run& run, const wire::View& view, Reader& reader) {
  return std::make_unique<JournalReading>(
      JournalReading::Needs{live_, cluster_, draining_, needs_.store, needs_.loop, figures_.violations}, run, view,
      reader);
}

std::unique_ptr<Waiting> RunEngine::wait_for_end(const model::Run& run, Callback<void(Result<wire::Ending>)> done) {
  return end_waiters_.wait(run, std::move(done));
}

void RunEngine::cancel(model::TenantId tenant, model::RunId run, RunRequests::Cancelled done) {
  requests_.cancel(tenant, run, std::move(done));
}

void RunEngine::decide(Decision decision, RunRequests::Decided done) {
  requests_.decide(std::move(decision), std::move(done));
}

void RunEngine::run_of(model::TenantId tenant, model::ConversationId conversation,
                       Callback<void(Result<std::optional<model::RunId>>)> done) {
  cluster_.run_of(tenant, conversation, std::move(done));
}

bool RunEngine::attends(model::RunId run) const { return live_.find(run) != nullptr || admission_.knows(run); }

model::SandboxNow RunEngine::sandbox_of(model::ConversationId conversation) const {
  auto now = admission_.sandbox_of(conversation);
  if (now.state != model::SandboxState::parked) return now;
  auto* live = live_.find(*admission_.run_of(conversation));
  const auto* approval = live == nullptr ? nullptr : live->gate().approval();
  if (approval != nullptr) now.expires_at = approval->expires_at;
  return now;
}

std::optional<model::Problem> RunEngine::refusal_of_sticky(model::TenantId tenant,
                                                           const model::TenantLimits& limits) const {
  if (!needs_.dispatcher.keeps_boxes()) {
    auto problem = problem_of(model::Slug::validation_error, "The conversation cannot be placed like this here.");
    problem.errors.push_back({"/runtime/mode", "This server has no sandboxes of its own to keep."});
    return problem;
  }
  if (admission_.may_pin(tenant, limits)) return std::nullopt;
  auto problem = problem_of(model::Slug::capacity_exhausted, "No more conversations may keep their sandbox right now.");
  problem.retry_after_seconds = admission_.retry_hint_seconds();
  return problem;
}

// ── changes ─────────────────────────────────────────────────────────────────────────────────────

void RunEngine::conversation_changed(const model::Conversation& conversation) {
  cluster_.tell_others(mail::conversation_changed,
                       mail::object_of(conversation.tenant_id, "conversation", conversation.id.text()));
  apply_change(conversation);
}

void RunEngine::apply_change(const model::Conversation& conversation) {
  admission_.conversation_changed(conversation);
  if (conversation.status == model::ConversationStatus::archived) kept_workspaces_.on_archived(conversation.id);
  const auto run = admission_.run_of(conversation.id);
  auto* live = run ? live_.find(*run) : nullptr;
  if (live != nullptr && live->work().launch() != nullptr) live->work().launch()->runtime = conversation.runtime;
}

void RunEngine::secrets_changed(model::TenantId tenant) {
  cluster_.tell_others(mail::secrets_changed, mail::object_of("tenant", tenant.text()));
  secrets_.refresh_all(tenant);
}

void RunEngine::on_change_elsewhere(const journal::Mail& mail, Postbox::Reply reply) {
  const auto tenant = model::TenantId::parse(mail::text_in(mail.body, "tenant"));
  const auto conversation = model::ConversationId::parse(mail::text_in(mail.body, "conversation"));
  reply("{}");
  if (tenant && mail.kind == mail::secrets_changed) secrets_.refresh_all(*tenant);
  if (!tenant || !conversation) return;
  store::conversation(needs_.store.database(), *tenant, *conversation,
                      lifetime_.guard([this](const Result<model::Conversation>& found) {
                        if (found) apply_change(found.value());
                      }));
}

// ── nodes ───────────────────────────────────────────────────────────────────────────────────────

bool RunEngine::is_gone(model::NodeId node) const { return may_be_taken(cluster_.peers().fate_of(node), false); }

void RunEngine::ask_node(model::NodeId node, std::string kind, std::string body,
                         Callback<void(Result<std::string>)> done) {
  constexpr Millis patience{10'000};
  postbox_.ask({.to = node, .kind = std::move(kind), .body = std::move(body)}, patience, std::move(done));
}

void RunEngine::answer_nodes(std::string kind, NodeAnswerer answerer) {
  postbox_.answer(kind, [answerer = std::move(answerer)](const journal::Mail& mail, Postbox::Reply reply) mutable {
    answerer(mail.body, [reply = std::move(reply)](std::string answer) mutable { reply(std::move(answer)); });
  });
}

void RunEngine::lose_to_other(LiveRun& run, const Error& why) {
  const auto id = run.run().id;
  needs_.log.write(world::LogLevel::info, "run is carried on by another server", {{"run", id.text()}});
  const auto lost = live_.take(id);
  SLUICE_CHECK(lost.get() == &run);
  suspension_.forget(id);
  // It is stopped before its slot is given away, so that nothing of it acts beside the run that gets the slot.
  const auto waiters = lost->hand_over(why);
  for (const auto& waiter : waiters) end_waiters_.look_for_end(waiter);
  admission_.forsake(id);
  leftovers_.watch({id, lost->run().conversation_id});
  note_left();
}

// ── live runs ───────────────────────────────────────────────────────────────────────────────────

LiveRun& RunEngine::enter(const model::Run& run, model::Message message, std::string request_id) {
  auto& entered = live_.add(std::make_unique<LiveRun>(run_needs_, run, std::move(message), std::move(request_id)));
  cluster_.wake_followers(run.id);
  return entered;
}

void RunEngine::on_notice() {
  if (needs_.noticed != nullptr && *needs_.noticed) (*needs_.noticed)();
}

void RunEngine::on_over(LiveRun& run) {
  const auto& record = run.run();
  SLUICE_CHECK(is_over(record.state));
  auto& ended = record.state == RunState::completed ? figures_.completed
                : record.state == RunState::failed  ? figures_.failed
                                                    : figures_.cancelled;
  ended.add();
  figures_.duration.observe_us(needs_.loop.monotonic_us() - run.progress().accepted_us());
  if (needs_.log.wants(world::LogLevel::info)) {
    needs_.log.write(world::LogLevel::info, "run ended",
                     {{"run", record.id.text()},
                      {"state", model::name_of(record.state)},
                      {"problem", run.progress().problem_name().empty() ? "-" : run.progress().problem_name()},
                      {"tenant", record.tenant_id.text()},
                      {"request_id", run.progress().request_id()}});
  }
  const auto over = live_.take(record.id);
  SLUICE_CHECK(over.get() == &run);
  suspension_.forget(record.id);
  // A node that had the run before, or the work that was stopped, may have kept something for a gate that was never
  // written.
  const bool was_stopped = record.state == RunState::cancelled;
  if (run.gate().is_resumable() || was_stopped || record.epoch > model::Epoch{1}) {
    needs_.dispatcher.forget_parked(record.id, record.conversation_id);
  }
  admission_.leave(record.id, true);
  kept_workspaces_.on_run_over(record.conversation_id);
  note_left();
}

void RunEngine::on_unsure(LiveRun& run, const Error& why) {
  needs_.log.write(world::LogLevel::warn, "it is not known whether the run was written",
                   {{"run", run.run().id.text()}, {"why", why.what}});
  outage_.begin(why);
}

void RunEngine::on_lost(LiveRun& run, const Error& why) {
  if (why.kind == ErrorKind::conflict && !cluster_.alone()) return lose_to_other(run, why);
  const auto id = run.run().id;
  needs_.log.write(world::LogLevel::error, "run cannot be written", {{"run", id.text()}, {"why", why.what}});
  // Fenced out: another server carries it. Corrupt: an operator must look. Either way its end is not known here.
  const auto lost = live_.take(id);
  SLUICE_CHECK(lost.get() == &run);
  suspension_.forget(id);
  lost->abandon(why);
  admission_.forsake(id);
  note_left();
}

void RunEngine::note_left() {
  if (draining_.may_end()) return end_drain();
  if (cluster_.peers().held_elsewhere() && !admission_.lists_elsewhere()) cluster_.claims().look_if_free();
}

// ── recovery ────────────────────────────────────────────────────────────────────────────────────

void RunEngine::recover(Callback<void(Result<Unit>)> done) {
  cluster_.peers().start();
  outage_.start();
  leftovers_.find();
  kept_workspaces_.look_at_all();
  recoveries_.start(std::move(done));
}

void RunEngine::end_recovery() {
  cluster_.claims().drop();
  recoveries_.end();
}

void RunEngine::drop_all(const Error& why) {
  drop_runs(why);
  note_left();
}

// Nothing is written: the server that reads the store next recovers them. Where that may be another node, readers and
// waiters need not notice.
void RunEngine::drop_runs(const Error& why) {
  recoveries_.drop();
  suspension_.forget_all();
  const bool others_continue = !cluster_.alone() && !draining_.has_begun();
  for (auto& [id, run] : live_.take_all()) {
    leftovers_.watch({id, run->run().conversation_id});
    std::vector<Ref<EndWaiter>> waiters;
    others_continue ? waiters = run->hand_over(why) : (run->abandon(why), waiters);
    run.reset();
    admission_.forsake(id);
    for (const auto& waiter : waiters) end_waiters_.look_for_end(waiter);
  }
  cluster_.claims().drop();
}

// ── the server stops ────────────────────────────────────────────────────────────────────────────

void RunEngine::drain(Millis deadline, Callback<void()> done) {
  draining_.begin(deadline, std::move(done), [this] {
    // Work that is left must not see the sandboxes go: it would take that for an answer.
    drop_runs(Draining::why());
    end_drain();
  });
  // Runs that wait, for a slot or a human, are on disk as such: the next server carries them.
  std::vector<model::RunId> left;
  for (const auto& [id, run] : live_.all()) {
    if (draining_.leaves(id)) left.push_back(id);
  }
  for (const auto& id : left) {
    if (auto* run = live_.find(id)) run->let_go(draining_.let_go(run->run()));
  }
  cluster_.peers().ask([](const Result<Unit>&) {});
  note_left();
}

void RunEngine::end_drain() { cluster_.peers().leave(draining_.end()); }

}  // namespace

std::unique_ptr<Engine> make_engine(EngineNeeds needs, EngineOptions options) {
  return std::make_unique<RunEngine>(needs, std::move(options));
}

}  // namespace sluice::engine
