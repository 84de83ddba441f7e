// Workflows, their runs and the events of these. Part of the store's public header: errors, threads and transactions
// are those of journal/journal.h. All writes are boundaries.
#pragma once

#include <optional>
#include <string>
#include <vector>

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

// Names are unique within a tenant: `conflict`. Lists: newest first.
void create_workflow(Database& database, model::Workflow made, Done<Unit> done);
void update_workflow(Database& database, model::TenantId tenant, model::WorkflowId id, WorkflowPatch patch,
                     Timestamp at, Done<model::Workflow> done);
// Its runs stay: each has its own copy of the definition.
void delete_workflow(Database& database, model::TenantId tenant, model::WorkflowId id, Done<Unit> done);
void workflow(Database& database, model::TenantId tenant, model::WorkflowId id, Done<model::Workflow> done);
void workflows(Database& database, model::TenantId tenant, PageQuery<model::WorkflowId> query,
               Done<Page<model::Workflow>> done);

// With its first events. `not_found` when the workflow is not the tenant's.
void start_workflow_run(Database& database, WorkflowAppend made, Done<model::WorkflowRun> done);
// `conflict` unless the run stands at `append.run.head` and is `append.run.node`'s, and when it is over. Gives the
// run as it is then.
void append_to_workflow_run(Database& database, WorkflowAppend append, Done<model::WorkflowRun> done);
// From now on it is `by`'s. `conflict` unless it was `seen`'s, and when it is over.
void take_over_workflow_run(Database& database, model::WorkflowRunId id, model::NodeId seen, model::NodeId by,
                            Done<model::WorkflowRun> done);
void workflow_run(Database& database, model::TenantId tenant, model::WorkflowRunId id, Done<model::WorkflowRun> done);
// Newest first. Of a workflow that was deleted, too.
void workflow_runs(Database& database, model::TenantId tenant, model::WorkflowId workflow,
                   PageQuery<model::WorkflowRunId> query, Done<Page<model::WorkflowRun>> done);
// About limits::page_bytes_max of them, and at least one if there is one.
void workflow_journal(Database& database, model::WorkflowRunId run, model::Position after,
                      Done<WorkflowJournalPage> done);
// Every run that is not over, oldest first.
void unfinished_workflow_runs(Database& database, Done<std::vector<model::WorkflowRun>> done);

}  // namespace sluice::store
