// The workflows of a MemoryStore.
#pragma once

#include "store/memory_desk.h"

namespace sluice::store {

class MemoryWorkflows final : public Workflows {
 public:
  MemoryWorkflows(MemoryDisk& disk, MemoryDesk& desk) : disk_(disk), desk_(desk) {}

  void create(model::Workflow made, Done<Unit> done) override;
  void update(model::TenantId tenant, model::WorkflowId id, WorkflowPatch patch, Timestamp at,
              Done<model::Workflow> done) override;
  void remove(model::TenantId tenant, model::WorkflowId id, Done<Unit> done) override;
  void workflow(model::TenantId tenant, model::WorkflowId id, Done<model::Workflow> done) override;
  void workflows(model::TenantId tenant, PageQuery<model::WorkflowId> query, Done<Page<model::Workflow>> done) override;
  void start_run(WorkflowAppend made, Done<model::WorkflowRun> done) override;
  void append(WorkflowAppend append, Done<model::WorkflowRun> done) override;
  void take_over(model::WorkflowRunId id, model::NodeId seen, model::NodeId by, Done<model::WorkflowRun> done) override;
  void run(model::TenantId tenant, model::WorkflowRunId id, Done<model::WorkflowRun> done) override;
  void runs(model::TenantId tenant, model::WorkflowId workflow, PageQuery<model::WorkflowRunId> query,
            Done<Page<model::WorkflowRun>> done) override;
  void journal(model::WorkflowRunId run, model::Position after, Done<WorkflowJournalPage> done) override;
  void unfinished_runs(Done<std::vector<model::WorkflowRun>> done) override;

 private:
  model::Workflow* workflow_of(model::TenantId tenant, model::WorkflowId id);
  std::optional<Error> refusal_of_name(const model::Workflow& workflow);

  MemoryDisk& disk_;
  MemoryDesk& desk_;
};

}  // namespace sluice::store
