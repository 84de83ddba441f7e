// Workflows, their runs and what these tell. Part of the store's door: the errors, the threads and the transactions are
// those of store/store.h. All writes are boundaries.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/callback.h"
#include "base/result.h"
#include "model/model.h"
#include "store/questions.h"

namespace sluice::store {

struct WorkflowPatch {
  std::optional<std::string> name;
  std::optional<std::string> description;
  std::optional<std::string> definition;
  // The change was made of this one: `conflict` if the workflow has another definition now.
  std::optional<std::string> definition_before;
};

// Events to add to a workflow run's journal, and what the run is after them: its status, outputs, error, blocks and end
// count. They follow position `run.head`.
struct WorkflowAppend {
  model::WorkflowRun run;
  std::vector<std::string> bodies;  // model::to_body()
};

struct WorkflowJournalPage {
  std::vector<std::string> bodies;  // from position `after` + 1 on
  bool is_over = false;             // the run was over when it was read
};

class Workflows {
 public:
  template <typename T>
  using Answer = Callback<void(Result<T>)>;

  virtual ~Workflows() = default;

  // Names are unique within a tenant: `conflict`. Lists: newest first.
  virtual void create(model::Workflow made, Answer<Unit> done) = 0;
  virtual void update(model::TenantId tenant, model::WorkflowId id, WorkflowPatch patch, Timestamp at,
                      Answer<model::Workflow> done) = 0;
  // Its runs stay: each has its own copy of the definition.
  virtual void remove(model::TenantId tenant, model::WorkflowId id, Answer<Unit> done) = 0;
  virtual void workflow(model::TenantId tenant, model::WorkflowId id, Answer<model::Workflow> done) = 0;
  virtual void workflows(model::TenantId tenant, PageQuery<model::WorkflowId> query,
                         Answer<Page<model::Workflow>> done) = 0;

  // With its first events. `not_found` when the workflow is not the tenant's.
  virtual void start_run(WorkflowAppend made, Answer<model::WorkflowRun> done) = 0;
  // `conflict` unless the run stands at `append.run.head` and is `append.run.node`'s, and when it is over. Gives the
  // run as it is then.
  virtual void append(WorkflowAppend append, Answer<model::WorkflowRun> done) = 0;
  // From now on it is `by`'s. `conflict` unless it was `seen`'s, and when it is over.
  virtual void take_over(model::WorkflowRunId id, model::NodeId seen, model::NodeId by,
                         Answer<model::WorkflowRun> done) = 0;
  virtual void run(model::TenantId tenant, model::WorkflowRunId id, Answer<model::WorkflowRun> done) = 0;
  // Newest first. Of a workflow that was deleted, too.
  virtual void runs(model::TenantId tenant, model::WorkflowId workflow, PageQuery<model::WorkflowRunId> query,
                    Answer<Page<model::WorkflowRun>> done) = 0;
  // About limits::page_bytes_max of them, and at least one if there is one.
  virtual void journal(model::WorkflowRunId run, model::Position after, Answer<WorkflowJournalPage> done) = 0;
  // Every run that is not over, oldest first.
  virtual void unfinished_runs(Answer<std::vector<model::WorkflowRun>> done) = 0;
};

}  // namespace sluice::store
