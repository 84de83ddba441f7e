#include "engine/launcher.h"

#include "base/check.h"
#include "engine/client_history.h"
#include "engine/log_events.h"
#include "engine/materials.h"
#include "engine/patience.h"

namespace sluice::engine {
namespace {

constexpr Millis ask_again{50};

// Calls back when all that was reported so far is on disk. The Work holds it, and the run the Work.
class WrittenWitness final : public dispatch::Witness {
 public:
  explicit WrittenWitness(LiveRun& run) : run_(run.ref()) {}
  void see(Callback<void()> seen) override {
    if (auto* run = run_.get()) run->writer().when_written(std::move(seen));
  }

 private:
  const Ref<LiveRun> run_;
};

}  // namespace

// ── duties ──────────────────────────────────────────────────────────────────────────────────────

void Launcher::on_step(const model::Run& run, const Row& row) {
  auto* live = needs_.live.find(run.id);
  if (live != nullptr && row.to != RunState::streaming) live->work().launching().drop();
  if (!needs_.log.wants(world::LogLevel::debug)) return;
  needs_.log.write(world::LogLevel::debug, "run stepped",
                   {{"run", run.id.text()},
                    {"from", model::name_of(row.from)},
                    {"when", name_of(row.when)},
                    {"to", model::name_of(row.to)}});
}

void Launcher::admit(LiveRun& run) {
  const auto id = run.run().id;
  SLUICE_CHECK(needs_.admission.knows(id));
  if (needs_.admission.has_only_entered(id)) {
    if (!needs_.admission.begin_kept(id)) needs_.recoveries.queue_later(run);
    return;
  }
  // A slot may have become free while its acceptance was being written.
  if (needs_.admission.is_seated(id)) on_turn(id);
}

// The run has a slot.
void Launcher::launch(LiveRun& run) {
  if (needs_.draining.is_closed()) return;
  SLUICE_CHECK(!run.work().is_active());
  run.work().launching().start(prepare(run),
                               [this, &run](Prepared prepared) { on_prepared(run, std::move(prepared)); });
}

void Launcher::resume(LiveRun& run) {
  const auto id = run.run().id;
  if (needs_.draining.is_closed()) return run.let_go(needs_.draining.let_go(run.run()));
  if (!run.work().is_active() && !needs_.admission.is_seated(id)) return needs_.admission.come_back(id);
  needs_.admission.unpark(id);
  if (!run.work().is_active()) return launch(run);
  needs_.secrets.refresh(run, [&run] {
    if (run.run().state == RunState::streaming && run.work().is_active()) run.resume_work();
  });
}

void Launcher::park(LiveRun& run, bool keeps_box) {
  needs_.admission.park(run.run().id, keeps_box);
  if (needs_.draining.has_begun()) run.let_go(needs_.draining.let_go(run.run()));
  needs_.host.note_left();
}

// ── slots ───────────────────────────────────────────────────────────────────────────────────────

void Launcher::on_turn(model::RunId run) {
  auto* live = needs_.live.find(run);
  if (live == nullptr) return;
  SLUICE_CHECK(needs_.admission.is_seated(run));
  if (live->run().state == RunState::held) return live->start();
  if (live->run().state == RunState::streaming) live->perform(Duty::launch);
}

bool Launcher::on_moved_up(model::RunId run, Place place) {
  auto* live = needs_.live.find(run);
  return live != nullptr && live->report_position(place);
}

void Launcher::on_held_too_long(model::RunId run) {
  if (auto* live = needs_.live.find(run)) live->end_hold();
}

// ── the launch ──────────────────────────────────────────────────────────────────────────────────

Task<Launcher::Prepared> Launcher::prepare(LiveRun& live) {
  auto found = co_await find_launch(live);
  if (auto* problem = std::get_if<model::Problem>(&found)) co_return std::move(*problem);
  auto& launch = std::get<Launch>(found);
  SLUICE_CHECK(launch.work.run == live.run().id);
  const bool may_have_home =
      launch.runtime.mode == model::PlacementMode::sticky && needs_.dispatcher.keeps_boxes() && !needs_.cluster.alone();
  if (may_have_home && co_await needs_.homes.find(live) == StickyHomes::Home::elsewhere) co_return TakenByOther{};
  auto work = begin_work(live, launch);
  if (auto problem = co_await find_records(live, launch, work)) co_return *std::move(problem);
  co_await write_first(live, work);
  co_await make_sure_of(live);
  co_return std::move(work);
}

// Outside of the sequence, because each of these may be the end of the run.
void Launcher::on_prepared(LiveRun& live, Prepared prepared) {
  SLUICE_CHECK(live.run().state == RunState::streaming && !live.work().is_active());
  if (auto* problem = std::get_if<model::Problem>(&prepared)) return live.fail(std::move(*problem));
  if (std::holds_alternative<TakenByOther>(prepared)) return needs_.host.lose_to_other(live, Cluster::taken_by_other());
  auto& work = std::get<dispatch::Dispatch>(prepared);
  SLUICE_CHECK(work.run == live.run().id);
  // The server that recovers the run goes by the journal: what is not in it was not done.
  work.witness = std::make_shared<WrittenWitness>(live);
  live.begin_work(needs_.dispatcher.dispatch(std::move(work), live));
}

// What was kept for the launch. A run that waited for a human has kept nothing in memory: then what its journal says.
Task<std::variant<Launch, model::Problem>> Launcher::find_launch(LiveRun& live) {
  if (auto kept = live.work().take_launch()) co_return std::move(*kept);
  auto past = co_await read_past(needs_.store, needs_.log, live.run());
  while (!past && may_pass(past.error())) {
    co_await pause(needs_.loop, read_again);
    past = co_await read_past(needs_.store, needs_.log, live.run());
  }
  if (!past || past.value().damaged) {
    co_return problem_of(model::Slug::internal, "What was written of the run could not be read.");
  }
  if (!past.value().agent) co_return problem_of(model::Slug::agent_misconfigured, "The run's agent no longer exists.");
  co_return past.value().to_launch();
}

dispatch::Dispatch Launcher::begin_work(LiveRun& live, Launch& launch) {
  auto work = std::move(launch.work);
  work.may_ask = !work.extras.inference;
  if (work.extras.inference) work.max_rounds = 1;
  if (launch.runtime.mode == model::PlacementMode::sticky) keep_sandbox(live, work, launch.runtime.sticky_ttl_seconds);
  if (needs_.material_source != nullptr) {
    work.supplies = needs_.material_source->supplies_for(live.run());
    const auto use = workspace_use_of(work.agent, work.extras);
    work.workspace = use == model::WorkspaceUse::none ? dispatch::WorkspaceAccess{}
                                                      : needs_.material_source->workspace_for(live.run(), use);
  }
  return work;
}

void Launcher::keep_sandbox(LiveRun& live, dispatch::Dispatch& work, int64_t ttl_seconds) {
  const bool has_boxes = needs_.dispatcher.keeps_boxes();
  work.keeps_box = has_boxes && needs_.admission.pin(live.run().id, ttl_seconds);
  if (work.keeps_box) return;
  live.progress().report(warning(needs_.loop.now(), has_boxes ? "As many conversations as may keep their sandbox do so "
                                                                "already; this one's goes with the run."
                                                              : "This server has no sandboxes of its own to keep; this "
                                                                "conversation's goes with the run."));
}

Task<std::optional<model::Problem>> Launcher::find_records(LiveRun& live, Launch& launch, dispatch::Dispatch& work) {
  SLUICE_CHECK(work.history.empty() && work.materials.files.empty() && !work.secrets);
  auto records = std::move(launch.records);
  if (!records) {
    const store::LaunchQuestion question{launch.names, history_turns_max(work.agent, work.extras)};
    auto read = co_await patiently<store::LaunchRecords>(needs_.loop, [&](auto done) {
      store::launch_records(needs_.store.database(), live.run(), question, std::move(done));
    });
    if (!read) co_return problem_of(model::Slug::internal, "The conversation's history could not be read.");
    records = std::move(read).take();
  }
  if (!records->materials.missing.empty()) {
    co_return problem_of(model::Slug::agent_misconfigured,
                         "The run names what is not there any more: " + list_of(records->materials.missing) + ".");
  }
  give(std::move(records->materials), work.materials);
  if (needs_.material_source != nullptr) give_builtin_skills(work.extras, *needs_.material_source, work.materials);
  give_attachments(work.extras, work.materials);
  give_history(work, std::move(records->history));
  work.secrets = std::make_shared<vault::Secrets>(secrets_looked_for(work));
  live.work().use_secrets(work.secrets);
  co_await answer<Unit>([&](auto done) {
    needs_.secrets.open(live, records->secrets, false, [done](LiveRun&) mutable { done(Unit{}); });
  });
  co_return std::nullopt;
}

void Launcher::give_history(dispatch::Dispatch& work, std::vector<store::Turn> turns) {
  // What a runner of the message's own choice looks at is not known here.
  if (work.extras.sandbox_url.empty() && !needs_.dispatcher.reads_history(work.agent)) return;
  for (auto& turn : turns) work.history.push_back({turn.role, std::move(turn.content), turn.at});
  // The first message of a thread may bring along what was said elsewhere.
  if (work.history.empty() && work.extras.agui) {
    const auto turns_max = history_turns_max(work.agent, work.extras);
    work.history = client_history(work.extras.agui->messages, static_cast<std::size_t>(turns_max));
  }
}

// Write, then act: from a checkpoint only once it is written that it cannot be used again.
Task<> Launcher::write_first(LiveRun& live, const dispatch::Dispatch& work) {
  const bool from_checkpoint = !work.checkpoint.empty();
  const bool forsakes_mark = work.mark.empty() && live.progress().is_marked();
  if (!from_checkpoint && !forsakes_mark) co_return;
  co_await answer<Unit>([&](auto done) {
    auto written = [done]() mutable { done(Unit{}); };
    auto& progress = live.progress();
    from_checkpoint ? progress.use_up_checkpoint(std::move(written)) : progress.clear_mark(std::move(written));
  });
}

// While this node was cut off from the store, or was frozen, another one may have taken the run and ended it.
Task<> Launcher::make_sure_of(LiveRun& live) {
  bool is_sure = true;
  while (true) {
    const bool takes_part = needs_.cluster.takes_part_now();
    if (needs_.suspension.is_on()) {
      co_await answer<Unit>(
          [&](auto done) { needs_.suspension.keep(live, [done](LiveRun&) mutable { done(Unit{}); }); });
      is_sure = true;  // it has the epoch of a moment ago
    } else if (!takes_part) {
      is_sure = false;
      co_await pause(needs_.loop, ask_again);
    } else if (!is_sure) {
      co_await renew(needs_.loop, live);
      is_sure = true;
    } else {
      co_return;
    }
  }
}

}  // namespace sluice::engine
