// AG-UI clients' names for conversations and runs. Part of the store's door: the errors, the threads and the
// transactions are those of store/store.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/callback.h"
#include "base/result.h"
#include "model/model.h"

namespace sluice::store {

// One AG-UI run: a run of ours, or the part of it from one wait for a human to the next.
struct AguiRun {
  model::TenantId tenant_id;
  std::string thread_id;
  std::string run_id;  // the client's; unique within its thread
  model::ConversationId conversation_id;
  model::RunId run;
  int64_t segment = 0;
};

class Threads {
 public:
  template <typename T>
  using Answer = Callback<void(Result<T>)>;

  virtual ~Threads() = default;

  // A thread is made by the first accept() or append() that names it, and belongs to that conversation for ever, as the
  // conversation to it. One that names another thread than the conversation's, or an AG-UI run which the thread has, is
  // `invalid`: asked again with another name it may work, unlike one that was fenced out (`conflict`).
  // `not_found` when the tenant has no such thread.
  virtual void thread(model::TenantId tenant, std::string thread_id, Answer<model::ConversationId> done) = 0;
  // The thread that a conversation belongs to; empty when it has none.
  virtual void thread_of(model::ConversationId conversation, Answer<std::optional<std::string>> done) = 0;
  // `not_found` when the thread has no such run.
  virtual void agui_run(model::TenantId tenant, std::string thread_id, std::string run_id, Answer<AguiRun> done) = 0;
  // By the run's name alone: the newest of that name. For whoever comes back without the thread's.
  virtual void agui_run_named(model::TenantId tenant, std::string run_id, Answer<AguiRun> done) = 0;
  // Of one run of ours, in the order of their segments; runs that no AG-UI client started have none.
  virtual void agui_runs_of(model::RunId run, Answer<std::vector<AguiRun>> done) = 0;
};

}  // namespace sluice::store
