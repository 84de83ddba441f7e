#include "store/memory_workflows.h"

#include <algorithm>

#include "store/memory_answer.h"
#include "store/workflow_rules.h"

namespace sluice::store {

model::Workflow* MemoryWorkflows::workflow_of(model::TenantId tenant, model::WorkflowId id) {
  auto* found = disk_.workflows_.find(id);
  return found != nullptr && found->tenant_id == tenant ? found : nullptr;
}

std::optional<Error> MemoryWorkflows::refusal_of_name(const model::Workflow& workflow) {
  if (disk_.tenants_.find(workflow.tenant_id) == nullptr) return no_such("tenant");
  for (auto& [number, other] : disk_.workflows_) {
    if (other.tenant_id == workflow.tenant_id && other.name == workflow.name && other.id != workflow.id) {
      return Error{ErrorKind::conflict, "the name is that of workflow " + other.id.text()};
    }
  }
  return std::nullopt;
}

void MemoryWorkflows::create(model::Workflow made, Done<Unit> done) {
  desk_.write<Unit>(std::move(done), [&]() -> Result<Unit> {
    if (auto refused = refusal_of_name(made)) return *std::move(refused);
    if (!disk_.workflows_.add(made.id, made)) return Error{ErrorKind::conflict, "there is such a workflow already"};
    return Unit{};
  });
}

void MemoryWorkflows::update(model::TenantId tenant, model::WorkflowId id, WorkflowPatch patch, Timestamp at,
                             Done<model::Workflow> done) {
  desk_.write<model::Workflow>(std::move(done), [&]() -> Result<model::Workflow> {
    auto* found = workflow_of(tenant, id);
    if (found == nullptr) return no_such("workflow");
    auto changed = *found;
    if (auto refused = refusal(patch, changed)) return *std::move(refused);
    apply(patch, at, changed);
    if (auto refused = refusal_of_name(changed)) return *std::move(refused);
    *found = changed;
    return changed;
  });
}

void MemoryWorkflows::remove(model::TenantId tenant, model::WorkflowId id, Done<Unit> done) {
  desk_.write<Unit>(std::move(done), [&]() -> Result<Unit> {
    if (workflow_of(tenant, id) == nullptr) return no_such("workflow");
    disk_.workflows_.remove(id);
    return Unit{};
  });
}

void MemoryWorkflows::workflow(model::TenantId tenant, model::WorkflowId id, Done<model::Workflow> done) {
  auto* found = workflow_of(tenant, id);
  if (found == nullptr) return desk_.answer<model::Workflow>(no_such("workflow"), std::move(done));
  desk_.answer<model::Workflow>(*found, std::move(done));
}

void MemoryWorkflows::workflows(model::TenantId tenant, PageQuery<model::WorkflowId> query,
                                Done<Page<model::Workflow>> done) {
  if (disk_.tenants_.find(tenant) == nullptr) {
    return desk_.answer<Page<model::Workflow>>(no_such("tenant"), std::move(done));
  }
  auto rows = rows_of<model::Workflow>(disk_.workflows_, tenant);
  std::ranges::reverse(rows);
  desk_.answer<Page<model::Workflow>>(cut_page(rows, query, id_of, all), std::move(done));
}

void MemoryWorkflows::start_run(WorkflowAppend made, Done<model::WorkflowRun> done) {
  desk_.write<model::WorkflowRun>(std::move(done), [&]() -> Result<model::WorkflowRun> {
    if (workflow_of(made.run.tenant_id, made.run.workflow_id) == nullptr) return no_such("workflow");
    auto run = made.run;
    run.head = {made.bodies.size()};
    if (!disk_.workflow_runs_.add(run.id, {run, made.bodies})) {
      return Error{ErrorKind::conflict, "there is such a workflow run already"};
    }
    return run;
  });
}

void MemoryWorkflows::append(WorkflowAppend append, Done<model::WorkflowRun> done) {
  desk_.write<model::WorkflowRun>(std::move(done), [&]() -> Result<model::WorkflowRun> {
    auto* found = disk_.workflow_runs_.find(append.run.id);
    if (found == nullptr) return no_such("workflow run");
    if (auto refused = refusal(append, found->run)) return *std::move(refused);
    apply(append, found->run);
    found->bodies.insert(found->bodies.end(), append.bodies.begin(), append.bodies.end());
    return found->run;
  });
}

void MemoryWorkflows::take_over(model::WorkflowRunId id, model::NodeId seen, model::NodeId by,
                                Done<model::WorkflowRun> done) {
  desk_.write<model::WorkflowRun>(std::move(done), [&]() -> Result<model::WorkflowRun> {
    auto* found = disk_.workflow_runs_.find(id);
    if (found == nullptr) return no_such("workflow run");
    if (auto refused = refusal_of_takeover(found->run, seen)) return *std::move(refused);
    found->run.node = by;
    return found->run;
  });
}

void MemoryWorkflows::run(model::TenantId tenant, model::WorkflowRunId id, Done<model::WorkflowRun> done) {
  auto* found = disk_.workflow_runs_.find(id);
  if (found == nullptr || found->run.tenant_id != tenant) {
    return desk_.answer<model::WorkflowRun>(no_such("workflow run"), std::move(done));
  }
  desk_.answer<model::WorkflowRun>(found->run, std::move(done));
}

void MemoryWorkflows::runs(model::TenantId tenant, model::WorkflowId workflow, PageQuery<model::WorkflowRunId> query,
                           Done<Page<model::WorkflowRun>> done) {
  std::vector<model::WorkflowRun> rows;
  for (auto& [number, row] : disk_.workflow_runs_) {
    if (row.run.tenant_id == tenant && row.run.workflow_id == workflow) rows.push_back(row.run);
  }
  std::ranges::reverse(rows);
  desk_.answer<Page<model::WorkflowRun>>(cut_page(rows, query, id_of, all), std::move(done));
}

void MemoryWorkflows::journal(model::WorkflowRunId run, model::Position after, Done<WorkflowJournalPage> done) {
  auto* found = disk_.workflow_runs_.find(run);
  if (found == nullptr) return desk_.answer<WorkflowJournalPage>(no_such("workflow run"), std::move(done));
  WorkflowJournalPage page{{}, found->run.status != model::WorkflowRunStatus::running};
  Room room(std::numeric_limits<int>::max(), limits::page_bytes_max);
  for (auto at = after.value; at < found->bodies.size() && room.take(found->bodies[at].size()); ++at) {
    page.bodies.push_back(found->bodies[at]);
  }
  desk_.answer<WorkflowJournalPage>(std::move(page), std::move(done));
}

void MemoryWorkflows::unfinished_runs(Done<std::vector<model::WorkflowRun>> done) {
  std::vector<model::WorkflowRun> unfinished;
  for (auto& [number, row] : disk_.workflow_runs_) {
    if (row.run.status == model::WorkflowRunStatus::running) unfinished.push_back(row.run);
  }
  desk_.answer<std::vector<model::WorkflowRun>>(std::move(unfinished), std::move(done));
}

}  // namespace sluice::store
