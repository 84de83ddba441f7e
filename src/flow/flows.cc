#include "flow/flows.h"

#include <algorithm>

namespace sluice::flow {
namespace {

// The problems with which workflow runs are refused.
model::Problem problem_of(model::Slug slug, std::string detail) { return {.slug = slug, .detail = std::move(detail)}; }

model::Problem unavailable(std::string detail) {
  auto problem = problem_of(model::Slug::unavailable, std::move(detail));
  problem.retry_after_seconds = 1;
  return problem;
}

model::Problem problem_of_store(const Error& error) {
  if (error.kind == ErrorKind::not_found) return problem_of(model::Slug::not_found, error.what);
  if (error.kind == ErrorKind::overloaded) return unavailable("The store cannot write right now; nothing was created.");
  if (error.kind == ErrorKind::unavailable) return unavailable("The store did not say whether the run was kept.");
  return problem_of(model::Slug::internal, "The store refused the workflow run.");
}

constexpr Millis take_up_again{1'000};
constexpr Millis recover_again{500};

Error server_stops() { return {ErrorKind::unavailable, "the server stops; the next one continues the workflow run"}; }

}  // namespace

model::FieldErrors faults_of_definition(json::Value definition, const std::string& at) {
  model::FieldErrors faults;
  static_cast<void>(make_plan(definition, at, faults));
  return faults;
}

std::unique_ptr<Flows> make_flows(FlowNeeds needs, FlowOptions options) {
  return std::make_unique<FlowService>(needs, std::move(options));
}

// ── a run begins ────────────────────────────────────────────────────────────────────────────────

void FlowService::start(Start start, Callback<void(RunOutcome)> done) {
  if (draining_) return done(unavailable("The server is stopping; nothing was created."));
  auto plan = plan_of(start.workflow.definition);
  if (!plan) return done(problem_of(model::Slug::internal, plan.error().what));
  model::FieldErrors faults;
  const auto given = json::Document::parse(start.inputs);
  auto inputs = given ? read_inputs(plan.value(), given.value().root(), "/inputs", faults) : std::nullopt;
  if (!inputs) {
    auto problem = model::validation_error(faults);
    if (!faults.has_more()) problem.detail = "The workflow cannot be run with these inputs.";
    return done(std::move(problem));
  }
  if (at_once_[start.tenant] >= options_.runs_at_once_max) {
    auto problem =
        problem_of(model::Slug::capacity_exhausted,
                   "As many workflows run already as may at once: " + std::to_string(options_.runs_at_once_max) + ".");
    problem.retry_after_seconds = 5;
    return done(std::move(problem));
  }
  ++at_once_[start.tenant];

  model::WorkflowRun run{.id = needs_.ids.make<model::WorkflowRunId>(),
                         .tenant_id = start.tenant,
                         .workflow_id = start.workflow.id,
                         .definition = std::move(start.workflow.definition),
                         .inputs = *std::move(inputs),
                         .created_at = needs_.loop.now(),
                         .node = self()};
  run.blocks = Progress(plan.value(), run.inputs).blocks();
  std::string shown;
  model::append_json(shown, run);
  const auto body = model::to_body({run.created_at, model::WorkflowStarted{std::move(shown)}});
  const auto tenant = run.tenant_id;
  auto on_kept = [this, tenant, plan = std::move(plan).take(),
                  done = std::move(done)](const Result<model::WorkflowRun>& kept) mutable {
    if (!kept) {
      --at_once_[tenant];
      if (kept.error().kind == ErrorKind::unavailable) needs_.engine.store_fell_silent(kept.error());
      return done(problem_of_store(kept.error()));
    }
    begin(kept.value(), std::move(plan));
    done(kept.value());
  };
  store::start_workflow_run(needs_.store.database(), {std::move(run), {body}}, lifetime_.guard(std::move(on_kept)));
}

void FlowService::begin(const model::WorkflowRun& run, Plan plan) {
  Carrier::Owner& owner = *this;
  auto& carrier = carriers_[run.id];
  carrier = std::make_unique<Carrier>(needs_, options_, owner, run, std::move(plan));
  needs_.loop.defer(lifetime_.guard([this, id = run.id] {
    if (const auto found = carriers_.find(id); found != carriers_.end()) found->second->go_on();
  }));
}

// ── a run is taken up ───────────────────────────────────────────────────────────────────────────

void FlowService::recover(Callback<void(Result<Unit>)> done) {
  if (is_shared()) {
    // Runs of an earlier process of this node are free soon; runs of other nodes belong to them.
    look_around_later();
    return needs_.loop.defer([done = std::move(done)]() mutable { done(Unit{}); });
  }
  auto take_all = [this, done = std::move(done)](const Result<std::vector<model::WorkflowRun>>& runs) mutable {
    if (!runs && runs.error().kind == ErrorKind::overloaded) return recover_later(runs.error(), std::move(done));
    if (!runs) return done(Error(runs.error()).in("recover workflow runs"));
    if (runs.value().empty()) return done(Unit{});
    needs_.log.write(world::LogLevel::info, "taking up workflow runs",
                     {{"count", static_cast<int64_t>(runs.value().size())}});
    const auto left = std::make_shared<std::size_t>(runs.value().size());
    const auto notify = std::make_shared<Callback<void(Result<Unit>)>>(std::move(done));
    for (const auto& run : runs.value()) {
      ++at_once_[run.tenant_id];
      take_up(run, [left, notify](const Result<Unit>&) {
        if (--*left == 0) (*notify)(Unit{});
      });
    }
  };
  store::unfinished_workflow_runs(needs_.store.database(), lifetime_.guard(std::move(take_all)));
}

void FlowService::recover_later(const Error& why, Callback<void(Result<Unit>)> done) {
  needs_.log.write(world::LogLevel::warn, "unfinished workflow runs cannot be listed; trying again",
                   {{"why", why.what}});
  look_timer_ =
      needs_.loop.after(recover_again, [this, done = std::move(done)]() mutable { recover(std::move(done)); });
}

void FlowService::take_up(model::WorkflowRun run, Callback<void(Result<Unit>)> done) {
  coming_.try_emplace(run.id);
  read_on(std::make_shared<model::WorkflowRun>(std::move(run)), std::make_shared<std::vector<std::string>>(),
          std::move(done));
}

void FlowService::read_on(std::shared_ptr<model::WorkflowRun> run, std::shared_ptr<std::vector<std::string>> bodies,
                          Callback<void(Result<Unit>)> done) {
  auto on_page = [this, run, bodies, done = std::move(done)](const Result<store::WorkflowJournalPage>& page) mutable {
    if (!page && page.error().kind != ErrorKind::corrupt) {
      take_up_later(run->tenant_id, run->id);
      return done(page.error());
    }
    if (page) bodies->insert(bodies->end(), page.value().bodies.begin(), page.value().bodies.end());
    if (page && bodies->size() < run->head.value && !page.value().bodies.empty()) {
      return read_on(run, bodies, std::move(done));
    }
    coming_.erase(run->id);
    auto taken = page ? carry_on(*run, *bodies) : Result<Unit>(page.error());
    if (!taken) {
      // One run's damage is no reason to leave the others lying.
      needs_.log.write(world::LogLevel::error, "workflow run cannot be taken up",
                       {{"run", run->id.text()}, {"why", taken.error().what}});
      --at_once_[run->tenant_id];
      let_readers_go(run->id, taken.error());
    }
    done(std::move(taken));
  };
  store::workflow_journal(needs_.store.database(), run->id, {bodies->size()}, lifetime_.guard(std::move(on_page)));
}

Result<Unit> FlowService::carry_on(const model::WorkflowRun& run, const std::vector<std::string>& bodies) {
  auto plan = plan_of(run.definition);
  if (!plan) return plan.error();
  begin(run, std::move(plan).take());
  auto remembered = carriers_.at(run.id)->remember(bodies);
  if (!remembered) carriers_.erase(run.id);
  return remembered;
}

// What is written of it is not known; the store is asked again until it says.
void FlowService::take_up_later(model::TenantId tenant, model::WorkflowRunId id) {
  coming_[id] = needs_.loop.after(take_up_again, [this, tenant, id] {
    store::workflow_run(needs_.store.database(), tenant, id,
                        lifetime_.guard([this, tenant, id](const Result<model::WorkflowRun>& run) {
                          if (!run) return take_up_later(tenant, id);
                          // Another server may have taken it over meanwhile.
                          const bool is_mine = !is_shared() || run.value().node == self();
                          if (is_mine && run.value().status == model::WorkflowRunStatus::running) {
                            return take_up(run.value(), [](Result<Unit>) {});
                          }
                          coming_.erase(id);
                          --at_once_[tenant];
                          const auto [first, last] = readings_.equal_range(id);
                          for (auto reading = first; reading != last; ++reading) reading->second->on_news();
                        }));
  });
}

// ── what the carriers say ───────────────────────────────────────────────────────────────────────

void FlowService::on_news(const Carrier& carrier) {
  const auto [first, last] = readings_.equal_range(carrier.run().id);
  for (auto reading = first; reading != last; ++reading) reading->second->on_news();
}

void FlowService::on_over(Carrier& carrier) {
  const auto& run = carrier.run();
  needs_.log.write(world::LogLevel::info, "workflow run ended",
                   {{"run", run.id.text()},
                    {"status", model::name_of(run.status)},
                    {"problem", run.error ? run.error->code : "-"},
                    {"tenant", run.tenant_id.text()}});
  --at_once_[run.tenant_id];
  drop(carrier);
}

void FlowService::on_left(Carrier& carrier) {
  const auto id = carrier.run().id;
  drop(carrier);
  let_readers_go(id, server_stops());
}

void FlowService::on_lost(Carrier& carrier, const Error& why) {
  const auto id = carrier.run().id;
  const auto tenant = carrier.run().tenant_id;
  needs_.log.write(world::LogLevel::error, "workflow run cannot be written", {{"run", id.text()}, {"why", why.what}});
  drop(carrier);
  if (why.kind == ErrorKind::unavailable) {
    needs_.engine.store_fell_silent(why);
    return take_up_later(tenant, id);
  }
  --at_once_[tenant];
  // Another server carries it: its readers look on.
  if (!is_shared() || why.kind != ErrorKind::conflict) let_readers_go(id, why);
}

void FlowService::drop(Carrier& carrier) {
  auto found = carriers_.extract(carrier.run().id);
  dropped_.push_back(std::move(found.mapped()));
  needs_.loop.defer(lifetime_.guard([this] {
    for (const auto& dropped : std::exchange(dropped_, {})) dropped->give_up();
  }));
  note_left();
}

void FlowService::let_readers_go(model::WorkflowRunId run, const Error& why) {
  std::vector<LineReading*> left;
  const auto [first, last] = readings_.equal_range(run);
  for (auto reading = first; reading != last; ++reading) left.push_back(reading->second);
  for (auto* reading : left) reading->on_left(why);
}

// ── from outside ────────────────────────────────────────────────────────────────────────────────

void FlowService::cancel(model::TenantId tenant, model::WorkflowRunId id, Callback<void(RunOutcome)> done) {
  auto found = [this, id, done = std::move(done)](const Result<model::WorkflowRun>& run) mutable {
    if (!run) return done(problem_of_store(run.error()));
    const auto status = run.value().status;
    if (const auto carried = carriers_.find(id); carried != carriers_.end()) {
      return carried->second->cancel(std::move(done));
    }
    if (status == model::WorkflowRunStatus::cancelled) return done(run.value());
    if (status == model::WorkflowRunStatus::running && is_shared() && run.value().node != self()) {
      return cancel_elsewhere(run.value(), std::move(done));
    }
    if (status == model::WorkflowRunStatus::running) {
      return done(unavailable("The workflow run is not being carried on by this server right now."));
    }
    done(problem_of(model::Slug::run_finished,
                    "The workflow run ended as " + std::string(model::name_of(status)) + "."));
  };
  store::workflow_run(needs_.store.database(), tenant, id, lifetime_.guard(std::move(found)));
}

std::unique_ptr<engine::Reading> FlowService::read(const model::WorkflowRun& run, LineView view,
                                                   engine::Reader& reader) {
  LineReading::Owner& owner = *this;
  return std::make_unique<LineReading>(needs_, owner, run, view, reader);
}

void FlowService::leave(model::WorkflowRunId run, LineReading& reading) {
  const auto [first, last] = readings_.equal_range(run);
  const auto found = std::find_if(first, last, [&](const auto& entry) { return entry.second == &reading; });
  if (found != last) readings_.erase(found);
}

void FlowService::drain(Millis deadline, Callback<void()> done) {
  draining_ = true;
  drained_ = std::move(done);
  std::vector<Carrier*> carried;
  for (const auto& [id, carrier] : carriers_) carried.push_back(carrier.get());
  for (auto* carrier : carried) carrier->drain();
  drain_timer_ = needs_.loop.after(deadline, [this] {
    if (drained_) std::exchange(drained_, nullptr)();
  });
  note_left();
}

void FlowService::note_left() {
  if (!drained_) return;
  for (const auto& [id, carrier] : carriers_) {
    if (carrier->is_at_work()) return;
  }
  drain_timer_.cancel();
  needs_.loop.defer(std::exchange(drained_, nullptr));
}

// ── other nodes ──

namespace {

constexpr Millis look_every{1'000};
constexpr std::string_view cancel_kind = "cancel workflow run";

}  // namespace

FlowService::FlowService(FlowNeeds needs, FlowOptions options) : needs_(needs), options_(std::move(options)) {
  if (!is_shared()) return;
  needs_.engine.answer_nodes(std::string(cancel_kind),
                             lifetime_.guard([this](const std::string& body, Callback<void(std::string)> reply) {
                               on_asked_to_cancel(body, std::move(reply));
                             }));
}

void FlowService::look_around_later() {
  if (draining_) return;
  look_timer_ = needs_.loop.after(look_every, [this] { look_around(); });
}

void FlowService::look_around() {
  for (const auto& [run, reading] : readings_) {
    if (!carriers_.contains(run)) reading->on_news();
  }
  auto on_runs = [this](const Result<std::vector<model::WorkflowRun>>& runs) {
    look_around_later();
    if (!runs || draining_) return;
    for (const auto& run : runs.value()) {
      const bool is_here = carriers_.contains(run.id) || coming_.contains(run.id);
      if (!is_here && (run.node == self() || needs_.engine.is_gone(run.node))) take_over(run);
    }
  };
  store::unfinished_workflow_runs(needs_.store.database(), lifetime_.guard(std::move(on_runs)));
}

void FlowService::take_over(const model::WorkflowRun& run) {
  coming_.try_emplace(run.id);
  auto on_taken = [this, id = run.id](const Result<model::WorkflowRun>& taken) {
    if (!taken) {
      coming_.erase(id);  // it is somebody else's now, or over; or the next look tries again
      return;
    }
    needs_.log.write(world::LogLevel::info, "workflow run taken over", {{"run", id.text()}});
    ++at_once_[taken.value().tenant_id];
    take_up(taken.value(), [](const Result<Unit>&) {});
  };
  store::take_over_workflow_run(needs_.store.database(), run.id, run.node, self(),
                                lifetime_.guard(std::move(on_taken)));
}

void FlowService::cancel_elsewhere(const model::WorkflowRun& run, Callback<void(RunOutcome)> done) {
  auto on_answer = [this, tenant = run.tenant_id, id = run.id,
                    done = std::move(done)](const Result<std::string>& answer) mutable {
    if (!answer) return done(unavailable("The server that carries the workflow run did not answer."));
    auto on_run = [done = std::move(done)](const Result<model::WorkflowRun>& ended) mutable {
      if (!ended) return done(problem_of_store(ended.error()));
      const auto status = ended.value().status;
      if (status == model::WorkflowRunStatus::cancelled) return done(ended.value());
      if (status == model::WorkflowRunStatus::running) {
        return done(unavailable("The workflow run could not be cancelled right now."));
      }
      done(problem_of(model::Slug::run_finished,
                      "The workflow run ended as " + std::string(model::name_of(status)) + "."));
    };
    store::workflow_run(needs_.store.database(), tenant, id, lifetime_.guard(std::move(on_run)));
  };
  needs_.engine.ask_node(run.node, std::string(cancel_kind), run.tenant_id.text() + " " + run.id.text(),
                         lifetime_.guard(std::move(on_answer)));
}

void FlowService::on_asked_to_cancel(std::string_view body, Callback<void(std::string)> reply) {
  const auto space = body.find(' ');
  const auto tenant = model::TenantId::parse(body.substr(0, space));
  const auto run = space == std::string_view::npos ? std::nullopt : model::WorkflowRunId::parse(body.substr(space + 1));
  // The outcome is in the store, where the caller reads it.
  if (!tenant || !run || !carriers_.contains(*run)) return reply("");
  cancel(*tenant, *run, [reply = std::move(reply)](const RunOutcome&) mutable { reply(""); });
}

}  // namespace sluice::flow
