// How a run that has its slot comes to be worked on, at first and after a human agreed.
#include <algorithm>

#include "base/limits.h"
#include "engine/client_history.h"
#include "engine/materials.h"
#include "engine/problems.h"
#include "engine/run_engine.h"
#include "engine/run_past.h"

namespace sluice::engine {
namespace {

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

}  // namespace

// ── with its slot ───────────────────────────────────────────────────────────────────────────────

void RunEngine::begin_work(LiveRun& live) {
  if (closed_) return;
  const auto kept = live.take_launch();
  if (!kept) return read_on(live.run().id);
  launch(live, std::move(*kept));
}

// It waited for a human with nothing in memory.
void RunEngine::read_on(model::RunId run) {
  auto go_on = [this, run](const Result<std::shared_ptr<RunPast>>& past) {
    auto* live = find(run);
    if (live == nullptr || live->run().state != RunState::streaming) return;
    if (!past && past.error().kind == ErrorKind::unavailable) return store_fell_silent(past.error());
    if (!past || past.value()->damaged) {
      return live->fail(problem_of(model::Slug::internal, "What was written of the run could not be read."));
    }
    if (!past.value()->agent) {
      return live->fail(problem_of(model::Slug::agent_misconfigured, "The run's agent no longer exists."));
    }
    launch(*live, past.value()->to_launch());
  };
  read_past(needs_.store, needs_.log, find(run)->run(), while_alive(std::move(go_on)));
}

void RunEngine::launch(LiveRun& live, Launch launch) {
  const auto run = live.run().id;
  auto work = std::move(launch.work);
  work.may_ask = !work.extras.inference;
  if (work.extras.inference) work.max_rounds = 1;
  if (launch.runtime.mode == model::PlacementMode::sticky) {
    const bool has_boxes = needs_.dispatcher.keeps_boxes();
    work.keeps_box = has_boxes && admission_.pin(run, launch.runtime.sticky_ttl_seconds);
    if (!work.keeps_box) {
      live.on_event(warning(needs_.loop.now(), has_boxes ? "As many conversations as may keep their sandbox do so "
                                                           "already; this one's goes with the run."
                                                         : "This server has no sandboxes of its own to keep; this "
                                                           "conversation's goes with the run."));
    }
  }
  start_work(run, std::move(work), launch.names);
}

void RunEngine::on_going(LiveRun& run) {
  const auto id = run.run().id;
  if (closed_) return let_go(run);
  if (!run.has_work() && !admission_.is_seated(id)) return admission_.come_back(id);
  admission_.unpark(id);
  if (!run.has_work()) return begin_work(run);
  refresh_secrets(id, [this, id] {
    auto* live = find(id);
    if (live != nullptr && live->run().state == RunState::streaming && live->has_work()) live->go_on();
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
    if (approval.value().status != model::ApprovalStatus::pending) return done(not_open(approval.value()));
    if (auto* live = find(approval.value().run_id)) return live->decide(std::move(decision), std::move(done));
    done(unavailable("The run is not being carried on by this server right now; nothing was decided."));
  };
  needs_.store.approval(tenant, id, while_alive(std::move(found)));
}

// ── what it is given ────────────────────────────────────────────────────────────────────────────

void RunEngine::start_work(model::RunId run, harness::Dispatch work, const store::MaterialNames& names) {
  const auto& record = find(run)->run();
  if (needs_.storeroom != nullptr) {
    work.supplies = needs_.storeroom->supplies_for(record);
    work.workspace = needs_.storeroom->workspace_for(record);
  }
  if (!names.repository && names.skills.empty() && !names.environment) return find_secrets(run, std::move(work));
  needs_.store.materials(
      record.tenant_id, names,
      while_alive([this, run, work = std::move(work)](Result<store::FoundMaterials> found) mutable {
        auto* live = find(run);
        if (live == nullptr) return;
        if (!found) {
          return live->fail(problem_of(model::Slug::internal, "What the run is to work with could not be read."));
        }
        if (!found.value().missing.empty()) {
          return live->fail(problem_of(model::Slug::agent_misconfigured, "The run names what is not there any more: " +
                                                                             list_of(found.value().missing) + "."));
        }
        give(std::move(found).take(), work.materials);
        find_secrets(run, std::move(work));
      }));
}

void RunEngine::find_secrets(model::RunId run, harness::Dispatch work) {
  if (needs_.storeroom != nullptr) give_builtin_skills(work.extras, *needs_.storeroom, work.materials);
  give_attachments(work.extras, work.materials);
  auto give_on = [this, run, work = std::move(work)](const Result<std::vector<model::SealedSecret>>& sealed) mutable {
    auto* live = find(run);
    if (live == nullptr) return;
    if (!sealed) return live->fail(problem_of(model::Slug::internal, "The run's secrets could not be read."));
    work.secrets = std::make_shared<vault::Secrets>();
    live->use_secrets(work.secrets);
    give_secrets(*live, sealed.value());
    read_history(run, std::move(work));
  };
  read_secrets(*find(run), while_alive(std::move(give_on)));
}

void RunEngine::read_secrets(const LiveRun& live, store::Done<std::vector<model::SealedSecret>> done) {
  const auto& run = live.run();
  needs_.store.secrets_in_reach({run.tenant_id, run.conversation_id, run.agent_id}, std::move(done));
}

void RunEngine::give_secrets(LiveRun& live, const std::vector<model::SealedSecret>& sealed) {
  std::vector<std::string> unreadable;
  live.secrets()->replace(vault::open_all(needs_.sealer, sealed, unreadable));
  if (unreadable.empty()) return;
  live.on_event(warning(needs_.loop.now(),
                        "Secrets that the server's keys do not open are left out: " + list_of(unreadable) + "."));
}

void RunEngine::refresh_secrets(model::RunId run, Callback<void()> then) {
  auto give = [this, run, then = std::move(then)](const Result<std::vector<model::SealedSecret>>& sealed) mutable {
    auto* live = find(run);
    if (live != nullptr && live->secrets() && sealed) give_secrets(*live, sealed.value());
    if (!sealed) {
      needs_.log.write(world::LogLevel::error, "secrets cannot be read",
                       {{"run", run.text()}, {"why", sealed.error().what}});
    }
    if (then) then();
  };
  read_secrets(*find(run), while_alive(std::move(give)));
}

void RunEngine::secrets_changed(model::TenantId tenant) {
  for (const auto& [id, live] : live_) {
    if (live->run().tenant_id == tenant && live->secrets()) refresh_secrets(id, nullptr);
  }
}

void RunEngine::read_history(model::RunId run, harness::Dispatch work) {
  // What a runner of the message's own choice looks at nobody knows.
  const bool is_read = !work.extras.sandbox_url.empty() || needs_.dispatcher.reads_history(work.agent);
  if (!is_read) return dispatch(run, std::move(work));
  const auto user_message = find(run)->run().user_message_id;
  const auto conversation = work.conversation;
  // a chat's turn is answered from its last turns, wherever it is answered.
  const auto turns_max = work.extras.chat ? limits::replay_turns_max : limits::history_messages_max;
  const auto count_max = std::min<int64_t>(work.agent.limits.max_history_messages, static_cast<int64_t>(turns_max));
  needs_.store.history(
      conversation, user_message, static_cast<int>(count_max),
      while_alive([this, run, count_max, work = std::move(work)](Result<std::vector<store::Turn>> turns) mutable {
        auto* found = find(run);
        if (found == nullptr) return;
        if (!turns) {
          return found->fail(problem_of(model::Slug::internal, "The conversation's history could not be read."));
        }
        for (auto& turn : turns.value()) work.history.push_back({turn.role, std::move(turn.content), turn.at});
        // The first message of a thread may bring along what was said elsewhere.
        if (work.history.empty() && work.extras.agui) {
          work.history = client_history(work.extras.agui->messages, static_cast<std::size_t>(count_max));
        }
        dispatch(run, std::move(work));
      }));
}

void RunEngine::dispatch(model::RunId run, harness::Dispatch work) {
  if (work.checkpoint.empty()) return hand_over(run, std::move(work));
  auto marked = [this, run, work = std::move(work)]() mutable { hand_over(run, std::move(work)); };
  find(run)->use_up_checkpoint(std::move(marked));
}

void RunEngine::hand_over(model::RunId run, harness::Dispatch work) {
  auto* live = find(run);
  if (live->run().state != RunState::streaming) return;  // cancelled meanwhile
  live->work_by(needs_.dispatcher.dispatch(std::move(work), *live));
}

}  // namespace sluice::engine
