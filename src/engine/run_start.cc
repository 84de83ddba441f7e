// How a run that has its slot comes to be worked on, at first and after a human agreed.
#include <algorithm>

#include "base/limits.h"
#include "engine/client_history.h"
#include "engine/mail_words.h"
#include "engine/materials.h"
#include "engine/problems.h"
#include "engine/run_engine.h"
#include "engine/run_past.h"

namespace sluice::engine {
namespace {

constexpr Millis read_again{500};

std::string list_of(const std::vector<std::string>& words) {
  std::string out;
  for (const auto& word : words) out += (out.empty() ? "" : ", ") + word;
  return out;
}

model::RunEvent warning(Timestamp at, std::string_view text) {
  std::string body;
  json::Writer writer(body);
  writer.begin_object().key("level").string("warn").key("text").string(text).end_object();
  return {model::EventKind::log, at, std::move(body)};
}

// Sees what was told when it is on disk. The Work holds it, and the run the Work.
class Journalist final : public harness::Witness {
 public:
  explicit Journalist(const LiveRun& run) : run_(run.self()) {}
  void see(Callback<void()> seen) override {
    if (*run_ != nullptr) (*run_)->when_written(std::move(seen));
  }

 private:
  const std::shared_ptr<LiveRun*> run_;  // null once it is gone
};

}  // namespace

// ── with its slot ───────────────────────────────────────────────────────────────────────────────

// With what was kept for that, or with what its journal says.
void RunEngine::launch(LiveRun& run) {
  if (closed_) return;
  const auto kept = run.take_launch();
  if (!kept) return read_on(run);
  launch_with(run, std::move(*kept));
}

void RunEngine::try_again(LiveRun& live, Callback<void(LiveRun&)> then) {
  auto again = [this, then = std::move(then)](LiveRun& still) mutable {
    const auto timer = std::move(begin_retries_.extract(still.run().id).mapped());
    if (still.run().state == RunState::streaming) then(still);
  };
  begin_retries_[live.run().id] = needs_.loop.after(read_again, while_carried(live, std::move(again)));
}

// It waited for a human with nothing in memory.
void RunEngine::read_on(LiveRun& live) {
  auto go_on = [this](LiveRun& still, const Result<std::shared_ptr<RunPast>>& past) {
    if (still.run().state != RunState::streaming) return;
    if (!past && may_pass(past.error())) return try_again(still, [this](LiveRun& later) { read_on(later); });
    if (!past || past.value()->damaged) {
      return still.fail(problem_of(model::Slug::internal, "What was written of the run could not be read."));
    }
    if (!past.value()->agent) {
      return still.fail(problem_of(model::Slug::agent_misconfigured, "The run's agent no longer exists."));
    }
    launch_with(still, past.value()->to_launch());
  };
  read_past(needs_.store, needs_.log, live.run(), while_carried(live, std::move(go_on)));
}

void RunEngine::launch_with(LiveRun& live, Launch launch) {
  const bool may_have_home =
      launch.runtime.mode == model::PlacementMode::sticky && needs_.dispatcher.keeps_boxes() && !peers_.alone();
  if (may_have_home) return find_home(live, std::move(launch));
  launch_here(live, std::move(launch));
}

void RunEngine::launch_here(LiveRun& live, Launch launch) {
  auto work = std::move(launch.work);
  work.may_ask = !work.extras.inference;
  if (work.extras.inference) work.max_rounds = 1;
  if (launch.runtime.mode == model::PlacementMode::sticky) {
    const bool has_boxes = needs_.dispatcher.keeps_boxes();
    work.keeps_box = has_boxes && admission_.pin(live.run().id, launch.runtime.sticky_ttl_seconds);
    if (!work.keeps_box) {
      live.on_event(warning(needs_.loop.now(), has_boxes ? "As many conversations as may keep their sandbox do so "
                                                           "already; this one's goes with the run."
                                                         : "This server has no sandboxes of its own to keep; this "
                                                           "conversation's goes with the run."));
    }
  }
  start_work(live, std::move(work), launch.names);
}

void RunEngine::resume(LiveRun& run) {
  const auto id = run.run().id;
  if (closed_) return let_go(run);
  if (!run.has_work() && !admission_.is_seated(id)) return admission_.come_back(id);
  admission_.unpark(id);
  if (!run.has_work()) return launch(run);
  refresh_secrets(run, [&run] {
    if (run.run().state == RunState::streaming && run.has_work()) run.go_on();
  });
}

void RunEngine::on_parked(LiveRun& run, bool keeps_box) {
  admission_.park(run.run().id, keeps_box);
  if (draining_) let_go(run);
  note_left();
}

void RunEngine::on_notice() {
  if (needs_.noticed != nullptr && *needs_.noticed) (*needs_.noticed)();
}

void RunEngine::decide(Decision decision, Callback<void(DecideOutcome)> done) {
  const auto tenant = decision.tenant;
  const auto id = decision.approval;
  auto found = [this, decision = std::move(decision),
                done = std::move(done)](const Result<model::Approval>& approval) mutable {
    if (!approval) return done(problem_of_store(approval.error(), "decision"));
    if (is_repeated(approval.value(), decision)) return done(approval.value());
    if (approval.value().status != model::ApprovalStatus::pending) return done(not_open(approval.value()));
    auto* live = find(approval.value().run_id);
    if (live != nullptr && live->waits_for(decision.approval))
      return live->decide(std::move(decision), std::move(done));
    if (live == nullptr && !peers_.alone()) {
      return decide_elsewhere(approval.value().run_id, decision, std::move(done));
    }
    decide_late(std::move(decision), std::move(done));
  };
  needs_.store.approval(tenant, id, while_alive(std::move(found)));
}

// It was open when it was read, and nothing waits for it here any more.
void RunEngine::decide_late(Decision decision, Callback<void(DecideOutcome)> done) {
  const auto tenant = decision.tenant;
  const auto id = decision.approval;
  auto found = [decision = std::move(decision),
                done = std::move(done)](const Result<model::Approval>& approval) mutable {
    if (!approval) return done(problem_of_store(approval.error(), "decision"));
    if (is_repeated(approval.value(), decision)) return done(approval.value());
    if (approval.value().status != model::ApprovalStatus::pending) return done(not_open(approval.value()));
    done(unavailable("The run is not being carried on by this server right now; nothing was decided."));
  };
  needs_.store.approval(tenant, id, while_alive(std::move(found)));
}

// ── what it is given ────────────────────────────────────────────────────────────────────────────

void RunEngine::start_work(LiveRun& live, harness::Dispatch work, const store::MaterialNames& names) {
  const auto& record = live.run();
  if (needs_.storeroom != nullptr) {
    work.supplies = needs_.storeroom->supplies_for(record);
    const auto use = workspace_use_of(work.agent, work.extras);
    work.workspace =
        use == model::WorkspaceUse::none ? harness::WorkspaceAccess{} : needs_.storeroom->workspace_for(record, use);
  }
  if (!names.repository && names.skills.empty() && !names.environment) return find_secrets(live, std::move(work));
  needs_.store.materials(
      record.tenant_id, names,
      while_carried(live, [this, names, work = std::move(work)](LiveRun& still,
                                                                Result<store::FoundMaterials> found) mutable {
        if (!found && may_pass(found.error())) {
          return try_again(still, [this, names, work = std::move(work)](LiveRun& later) mutable {
            start_work(later, std::move(work), names);
          });
        }
        if (!found) {
          return still.fail(problem_of(model::Slug::internal, "What the run is to work with could not be read."));
        }
        if (!found.value().missing.empty()) {
          return still.fail(problem_of(model::Slug::agent_misconfigured, "The run names what is not there any more: " +
                                                                             list_of(found.value().missing) + "."));
        }
        give(std::move(found).take(), work.materials);
        find_secrets(still, std::move(work));
      }));
}

void RunEngine::find_secrets(LiveRun& live, harness::Dispatch work) {
  if (needs_.storeroom != nullptr) give_builtin_skills(work.extras, *needs_.storeroom, work.materials);
  work.materials.files.clear();  // it may be the second time
  give_attachments(work.extras, work.materials);
  auto give_on = [this, work = std::move(work)](LiveRun& still,
                                                const Result<std::vector<model::SealedSecret>>& sealed) mutable {
    if (!sealed && may_pass(sealed.error())) {
      return try_again(
          still, [this, work = std::move(work)](LiveRun& later) mutable { find_secrets(later, std::move(work)); });
    }
    if (!sealed) return still.fail(problem_of(model::Slug::internal, "The run's secrets could not be read."));
    work.secrets = std::make_shared<vault::Secrets>(secrets_looked_for(work));
    still.use_secrets(work.secrets);
    give_secrets(still, sealed.value(), false,
                 [this, work = std::move(work)](LiveRun& ready) mutable { read_history(ready, std::move(work)); });
  };
  read_secrets(live, while_carried(live, std::move(give_on)));
}

void RunEngine::read_secrets(const LiveRun& live, store::Done<std::vector<model::SealedSecret>> done) {
  const auto& run = live.run();
  needs_.store.secrets_in_reach({run.tenant_id, run.conversation_id, run.agent_id}, std::move(done));
}

void RunEngine::give_secrets(LiveRun& live, const std::vector<model::SealedSecret>& sealed, bool stands_still,
                             Callback<void(LiveRun&)> then) {
  std::vector<std::string> unreadable;
  auto opened = vault::open_all(needs_.sealer, sealed, unreadable);
  if (!unreadable.empty()) {
    live.on_event(warning(needs_.loop.now(),
                          "Secrets that the server's keys do not open are left out: " + list_of(unreadable) + "."));
  }
  auto is_wanted = [run = live.self()] { return *run != nullptr; };
  scrubbers_.replace({live.run().tenant_id, std::move(is_wanted), stands_still}, live.secrets(), std::move(opened),
                     while_carried(live, [then = std::move(then)](LiveRun& still) mutable { then(still); }));
}

void RunEngine::refresh_secrets(LiveRun& live, Callback<void()> then) {
  auto give = [this, then = std::move(then)](LiveRun& still,
                                             const Result<std::vector<model::SealedSecret>>& sealed) mutable {
    if (!sealed) {
      needs_.log.write(world::LogLevel::error, "secrets cannot be read",
                       {{"run", still.run().id.text()}, {"why", sealed.error().what}});
    }
    if (!still.secrets() || !sealed) return then ? then() : void();
    const bool stands_still = static_cast<bool>(then);
    give_secrets(still, sealed.value(), stands_still, [then = std::move(then)](LiveRun&) mutable {
      if (then) then();
    });
  };
  read_secrets(live, while_carried(live, std::move(give)));
}

void RunEngine::secrets_changed(model::TenantId tenant) {
  tell_others(mail::secrets_changed, mail::object_of("tenant", tenant.text()));
  renew_secrets(tenant);
}

void RunEngine::renew_secrets(model::TenantId tenant) {
  for (const auto& [id, live] : live_) {
    if (live->run().tenant_id == tenant && live->secrets()) refresh_secrets(*live, nullptr);
  }
}

void RunEngine::read_history(LiveRun& live, harness::Dispatch work) {
  // What a runner of the message's own choice looks at nobody knows.
  const bool is_read = !work.extras.sandbox_url.empty() || needs_.dispatcher.reads_history(work.agent);
  if (!is_read) return dispatch(live, std::move(work));
  const auto conversation = work.conversation;
  // a chat's turn is answered from its last turns, wherever it is answered.
  const auto turns_max = work.extras.chat ? limits::replay_turns_max : limits::history_messages_max;
  const auto count_max = std::min<int64_t>(work.agent.limits.max_history_messages, static_cast<int64_t>(turns_max));
  needs_.store.history(
      conversation, live.run().user_message_id, static_cast<int>(count_max),
      while_carried(live, [this, count_max, work = std::move(work)](LiveRun& still,
                                                                    Result<std::vector<store::Turn>> turns) mutable {
        if (!turns && may_pass(turns.error())) {
          return try_again(
              still, [this, work = std::move(work)](LiveRun& later) mutable { read_history(later, std::move(work)); });
        }
        if (!turns) {
          return still.fail(problem_of(model::Slug::internal, "The conversation's history could not be read."));
        }
        for (auto& turn : turns.value()) work.history.push_back({turn.role, std::move(turn.content), turn.at});
        // The first message of a thread may bring along what was said elsewhere.
        if (work.history.empty() && work.extras.agui) {
          work.history = client_history(work.extras.agui->messages, static_cast<std::size_t>(count_max));
        }
        dispatch(still, std::move(work));
      }));
}

void RunEngine::dispatch(LiveRun& live, harness::Dispatch work) {
  const bool from_checkpoint = !work.checkpoint.empty();
  const bool forsakes_mark = work.mark.empty() && live.marked();
  if (!from_checkpoint && !forsakes_mark) return hand_over(live, std::move(work));
  auto written = [this, &live, work = std::move(work)]() mutable { hand_over(live, std::move(work)); };
  from_checkpoint ? live.use_up_checkpoint(std::move(written)) : live.clear_mark(std::move(written));
}

void RunEngine::hand_over(LiveRun& live, harness::Dispatch work) {
  auto begin = [this, work = std::move(work)](LiveRun& ready) mutable {
    if (ready.run().state != RunState::streaming) return;  // cancelled meanwhile
    // Whoever takes the run up again goes by the journal: what is not in it was not done.
    work.witness = std::make_shared<Journalist>(ready);
    ready.work_by(needs_.dispatcher.dispatch(std::move(work), ready));
  };
  suspension_.is_on() ? suspension_.keep(live, std::move(begin)) : begin(live);
}

}  // namespace sluice::engine
