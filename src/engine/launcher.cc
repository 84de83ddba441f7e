#include "engine/launcher.h"

#include <algorithm>

#include "base/check.h"
#include "base/limits.h"
#include "engine/client_history.h"
#include "engine/log_events.h"
#include "engine/materials.h"
#include "engine/problems.h"

namespace sluice::engine {
namespace {

constexpr Millis read_again{500};

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

int64_t history_count_max(const dispatch::Dispatch& work) {
  // a chat's turn is answered from its last turns, on whichever surface it is answered.
  const auto turns_max = work.extras.chat ? limits::replay_turns_max : limits::history_messages_max;
  return std::min<int64_t>(work.agent.limits.max_history_messages, static_cast<int64_t>(turns_max));
}

}  // namespace

// ── duties ──────────────────────────────────────────────────────────────────────────────────────

void Launcher::on_step(const model::Run& run, const Row& row) {
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

// It has a slot: with what was kept for the launch, or with what its journal says.
void Launcher::launch(LiveRun& run) {
  if (needs_.draining.is_closed()) return;
  SLUICE_CHECK(!run.work().is_active());
  const auto kept = run.work().take_launch();
  if (!kept) return read_past_of(run);
  launch_with(run, std::move(*kept));
}

void Launcher::resume(LiveRun& run) {
  const auto id = run.run().id;
  if (needs_.draining.is_closed()) return needs_.draining.let_go(run);
  if (!run.work().is_active() && !needs_.admission.is_seated(id)) return needs_.admission.come_back(id);
  needs_.admission.unpark(id);
  if (!run.work().is_active()) return launch(run);
  needs_.secrets.refresh(run, [&run] {
    if (run.run().state == RunState::streaming && run.work().is_active()) run.resume_work();
  });
}

void Launcher::park(LiveRun& run, bool keeps_box) {
  needs_.admission.park(run.run().id, keeps_box);
  if (needs_.draining.has_begun()) needs_.draining.let_go(run);
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

void Launcher::try_again(LiveRun& live, Callback<void(LiveRun&)> step) {
  needs_.retries.later(live, read_again, [step = std::move(step)](LiveRun& later) mutable {
    if (later.run().state == RunState::streaming) step(later);
  });
}

// It waited for a human with nothing in memory.
void Launcher::read_past_of(LiveRun& live) {
  auto read = [this](LiveRun& still, const Result<std::shared_ptr<RunPast>>& past) {
    if (still.run().state == RunState::streaming) on_past(still, past);
  };
  read_past(needs_.store, needs_.log, live.run(), live.ref().guard(std::move(read)));
}

void Launcher::on_past(LiveRun& live, const Result<std::shared_ptr<RunPast>>& past) {
  if (!past && may_pass(past.error())) return try_again(live, [this](LiveRun& later) { read_past_of(later); });
  if (!past || past.value()->damaged) {
    return live.fail(problem_of(model::Slug::internal, "What was written of the run could not be read."));
  }
  if (!past.value()->agent) {
    return live.fail(problem_of(model::Slug::agent_misconfigured, "The run's agent no longer exists."));
  }
  launch_with(live, past.value()->to_launch());
}

void Launcher::launch_with(LiveRun& live, Launch launch) {
  SLUICE_CHECK(launch.work.run == live.run().id);
  const bool may_have_home =
      launch.runtime.mode == model::PlacementMode::sticky && needs_.dispatcher.keeps_boxes() && !needs_.cluster.alone();
  if (!may_have_home) return launch_here(live, std::move(launch));
  needs_.homes.find(
      live, [this, launch = std::move(launch)](LiveRun& still) mutable { launch_here(still, std::move(launch)); });
}

void Launcher::launch_here(LiveRun& live, Launch launch) {
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
  find_materials(live, std::move(work), launch.names);
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

void Launcher::find_materials(LiveRun& live, dispatch::Dispatch work, const store::MaterialNames& names) {
  if (!names.repository && names.skills.empty() && !names.environment) return find_secrets(live, std::move(work));
  auto found = [this, names, work = std::move(work)](LiveRun& still, Result<store::FoundMaterials> materials) mutable {
    if (!materials && may_pass(materials.error())) {
      return try_again(still, [this, names, work = std::move(work)](LiveRun& later) mutable {
        find_materials(later, std::move(work), names);
      });
    }
    if (!materials) {
      return still.fail(problem_of(model::Slug::internal, "What the run is to work with could not be read."));
    }
    if (!materials.value().missing.empty()) {
      return still.fail(problem_of(model::Slug::agent_misconfigured, "The run names what is not there any more: " +
                                                                         list_of(materials.value().missing) + "."));
    }
    give(std::move(materials).take(), work.materials);
    find_secrets(still, std::move(work));
  };
  store::materials(needs_.store.database(), live.run().tenant_id, names, live.ref().guard(std::move(found)));
}

void Launcher::find_secrets(LiveRun& live, dispatch::Dispatch work) {
  if (needs_.material_source != nullptr) give_builtin_skills(work.extras, *needs_.material_source, work.materials);
  work.materials.files.clear();  // it may be the second time
  give_attachments(work.extras, work.materials);
  auto read = [this, work = std::move(work)](LiveRun& still,
                                             const Result<std::vector<model::SealedSecret>>& sealed) mutable {
    if (!sealed && may_pass(sealed.error())) {
      return try_again(
          still, [this, work = std::move(work)](LiveRun& later) mutable { find_secrets(later, std::move(work)); });
    }
    if (!sealed) return still.fail(problem_of(model::Slug::internal, "The run's secrets could not be read."));
    work.secrets = std::make_shared<vault::Secrets>(secrets_looked_for(work));
    still.work().use_secrets(work.secrets);
    needs_.secrets.open(still, sealed.value(), false, [this, work = std::move(work)](LiveRun& ready) mutable {
      read_history(ready, std::move(work));
    });
  };
  needs_.secrets.read(live, live.ref().guard(std::move(read)));
}

void Launcher::read_history(LiveRun& live, dispatch::Dispatch work) {
  // What a runner of the message's own choice looks at is not known here.
  const bool is_read = !work.extras.sandbox_url.empty() || needs_.dispatcher.reads_history(work.agent);
  if (!is_read) return dispatch(live, std::move(work));
  const auto conversation = work.conversation;
  const auto count_max = history_count_max(work);
  auto read = [this, count_max, work = std::move(work)](LiveRun& still,
                                                        Result<std::vector<store::Turn>> turns) mutable {
    if (!turns && may_pass(turns.error())) {
      return try_again(
          still, [this, work = std::move(work)](LiveRun& later) mutable { read_history(later, std::move(work)); });
    }
    if (!turns) {
      return still.fail(problem_of(model::Slug::internal, "The conversation's history could not be read."));
    }
    give_history(work, std::move(turns).take(), count_max);
    dispatch(still, std::move(work));
  };
  store::history(needs_.store.database(), conversation, live.run().user_message_id, static_cast<int>(count_max),
                 live.ref().guard(std::move(read)));
}

void Launcher::give_history(dispatch::Dispatch& work, std::vector<store::Turn> turns, int64_t count_max) {
  for (auto& turn : turns) work.history.push_back({turn.role, std::move(turn.content), turn.at});
  // The first message of a thread may bring along what was said elsewhere.
  if (work.history.empty() && work.extras.agui) {
    work.history = client_history(work.extras.agui->messages, static_cast<std::size_t>(count_max));
  }
}

void Launcher::dispatch(LiveRun& live, dispatch::Dispatch work) {
  const bool from_checkpoint = !work.checkpoint.empty();
  const bool forsakes_mark = work.mark.empty() && live.progress().is_marked();
  if (!from_checkpoint && !forsakes_mark) return hand_over(live, std::move(work));
  auto written = [this, &live, work = std::move(work)]() mutable { hand_over(live, std::move(work)); };
  auto& progress = live.progress();
  from_checkpoint ? progress.use_up_checkpoint(std::move(written)) : progress.clear_mark(std::move(written));
}

void Launcher::hand_over(LiveRun& live, dispatch::Dispatch work) {
  auto begin = [this, work = std::move(work)](LiveRun& ready) mutable {
    if (ready.run().state != RunState::streaming) return;  // cancelled meanwhile
    SLUICE_CHECK(work.run == ready.run().id && !ready.work().is_active());
    // The server that recovers the run goes by the journal: what is not in it was not done.
    work.witness = std::make_shared<WrittenWitness>(ready);
    ready.begin_work(needs_.dispatcher.dispatch(std::move(work), ready));
  };
  needs_.suspension.is_on() ? needs_.suspension.keep(live, std::move(begin)) : begin(live);
}

}  // namespace sluice::engine
