// How a run that was accepted, or taken up again, comes to be worked on.
#include <algorithm>

#include "base/limits.h"
#include "engine/materials.h"
#include "engine/run_engine.h"

namespace sluice::engine {
namespace {

std::string list_of(const std::vector<std::string>& words) {
  std::string out;
  for (const auto& word : words) out += (out.empty() ? "" : ", ") + word;
  return out;
}

}  // namespace

void RunEngine::start_work(model::RunId run, harness::Dispatch work, const store::MaterialNames& names) {
  const auto& record = find(run)->run();
  if (needs_.storeroom != nullptr) work.supplies = needs_.storeroom->supplies_for(record);
  if (!names.repository && names.skills.empty() && !names.environment) return read_history(run, std::move(work));
  needs_.store.materials(record.tenant_id, names,
                         while_alive([this, run, work = std::move(work)](Result<store::FoundMaterials> found) mutable {
                           auto* live = find(run);
                           if (live == nullptr) return;
                           model::Problem problem{.slug = model::Slug::agent_misconfigured};
                           if (!found) {
                             problem.slug = model::Slug::internal;
                             problem.detail = "What the run is to work with could not be read.";
                             return live->fail(std::move(problem));
                           }
                           if (!found.value().missing.empty()) {
                             problem.detail =
                                 "The run names what is not there any more: " + list_of(found.value().missing) + ".";
                             return live->fail(std::move(problem));
                           }
                           give(std::move(found).take(), work.materials);
                           read_history(run, std::move(work));
                         }));
}

void RunEngine::read_history(model::RunId run, harness::Dispatch work) {
  if (!needs_.dispatcher.reads_history(work.agent)) return dispatch(run, std::move(work));
  const auto user_message = find(run)->run().user_message_id;
  const auto conversation = work.conversation;
  const auto count_max =
      std::min<int64_t>(work.agent.limits.max_history_messages, static_cast<int64_t>(limits::history_messages_max));
  needs_.store.history(conversation, user_message, static_cast<int>(count_max),
                       while_alive([this, run, work = std::move(work)](Result<std::vector<store::Turn>> turns) mutable {
                         auto* found = find(run);
                         if (found == nullptr) return;
                         if (!turns) {
                           model::Problem problem;
                           problem.detail = "The conversation's history could not be read.";
                           return found->fail(std::move(problem));
                         }
                         for (auto& turn : turns.value()) work.history.push_back({turn.role, std::move(turn.content)});
                         dispatch(run, std::move(work));
                       }));
}

void RunEngine::dispatch(model::RunId run, harness::Dispatch work) {
  auto* live = find(run);
  live->work_by(needs_.dispatcher.dispatch(std::move(work), *live));
}

}  // namespace sluice::engine
