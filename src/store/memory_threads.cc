// The AG-UI names of a MemoryStore.
#include "store/memory_answer.h"
#include "store/memory_store.h"
#include "store/patch.h"

namespace sluice::store {

std::optional<Error> MemoryStore::refusal_of_names(const std::optional<AguiRun>& names) {
  if (!names) return std::nullopt;
  KnownNames known;
  for (const auto& run : disk_.agui_runs_) {
    if (run.conversation_id == names->conversation_id) known.thread = run.thread_id;
    if (run.tenant_id != names->tenant_id || run.thread_id != names->thread_id) continue;
    known.conversation = run.conversation_id;
    known.has_run |= run.run_id == names->run_id;
  }
  return refusal(*names, known);
}

void MemoryStore::keep_names(const std::optional<AguiRun>& names) {
  if (names) disk_.agui_runs_.push_back(*names);
}

void MemoryStore::thread(model::TenantId tenant, std::string thread_id, Done<model::ConversationId> done) {
  for (const auto& run : disk_.agui_runs_) {
    if (run.tenant_id != tenant || run.thread_id != thread_id) continue;
    return answer<model::ConversationId>(run.conversation_id, std::move(done));
  }
  answer<model::ConversationId>(no_such("thread"), std::move(done));
}

void MemoryStore::thread_of(model::ConversationId conversation, Done<std::optional<std::string>> done) {
  std::optional<std::string> found;
  for (const auto& run : disk_.agui_runs_) {
    if (run.conversation_id == conversation) found = run.thread_id;
  }
  answer<std::optional<std::string>>(std::move(found), std::move(done));
}

void MemoryStore::agui_run(model::TenantId tenant, std::string thread_id, std::string run_id, Done<AguiRun> done) {
  for (const auto& run : disk_.agui_runs_) {
    if (run.tenant_id != tenant || run.thread_id != thread_id || run.run_id != run_id) continue;
    return answer<AguiRun>(run, std::move(done));
  }
  answer<AguiRun>(no_such("AG-UI run"), std::move(done));
}

void MemoryStore::agui_run_named(model::TenantId tenant, std::string run_id, Done<AguiRun> done) {
  Result<AguiRun> found = no_such("AG-UI run");
  for (const auto& run : disk_.agui_runs_) {
    if (run.tenant_id == tenant && run.run_id == run_id) found = run;
  }
  answer<AguiRun>(std::move(found), std::move(done));
}

void MemoryStore::agui_runs_of(model::RunId run, Done<std::vector<AguiRun>> done) {
  std::vector<AguiRun> found;
  for (const auto& named : disk_.agui_runs_) {
    if (named.run == run) found.push_back(named);
  }
  std::ranges::stable_sort(found, {}, &AguiRun::segment);
  answer<std::vector<AguiRun>>(std::move(found), std::move(done));
}

}  // namespace sluice::store
