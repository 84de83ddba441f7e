#include "store/workflows.h"

#include "store/database.h"
#include "store/object_counts.h"
#include "store/sql_rows.h"

namespace sluice::store {
namespace {

int64_t read_row(Query& query, model::Workflow& workflow) {
  int64_t number = 0;
  query.read(number, workflow.id, workflow.tenant_id, workflow.name, workflow.description, workflow.definition,
             workflow.created_at, workflow.updated_at);
  return number;
}

int64_t read_row(Query& query, model::WorkflowRun& run) {
  int64_t number = 0;
  std::string blocks;
  std::optional<std::string> error;
  query.read(number, run.id, run.tenant_id, run.workflow_id, run.definition, run.inputs, run.status, run.outputs, error,
             blocks, run.head, run.created_at, run.ended_at, run.node);
  run.blocks = model::blocks_from_text(blocks);
  if (error) run.error = model::workflow_error_from_text(*error);
  return number;
}

template <typename Row, typename... Values>
std::optional<Row> find(Connection& db, std::string_view sql, const Values&... values) {
  Query query(db, sql, values...);
  if (!query.next()) return std::nullopt;
  Row row;
  read_row(query, row);
  return row;
}

std::optional<std::string> error_text(const model::WorkflowRun& run) {
  if (!run.error) return std::nullopt;
  return model::to_text(*run.error);
}

Result<model::Workflow> workflow_of(Connection& db, model::TenantId tenant, model::WorkflowId id) {
  auto found = find<model::Workflow>(db, "SELECT * FROM workflows WHERE id = ? AND tenant_id = ?", id, tenant);
  if (!found) return no_such("workflow");
  return *std::move(found);
}

std::optional<Error> refusal_of_name(Connection& db, const model::Workflow& workflow) {
  if (!has_tenant(db, workflow.tenant_id)) return no_such("tenant");
  const auto other = find<model::Workflow>(db, "SELECT * FROM workflows WHERE tenant_id = ? AND name = ?",
                                           workflow.tenant_id, workflow.name);
  if (!other || other->id == workflow.id) return std::nullopt;
  return Error{ErrorKind::conflict, "the name is that of workflow " + other->id.text()};
}

std::optional<Error> refusal(const WorkflowPatch& patch, const model::Workflow& workflow) {
  if (!patch.definition_before || *patch.definition_before == workflow.definition) return std::nullopt;
  return Error{ErrorKind::conflict, "the workflow's definition has changed"};
}

void apply(const WorkflowPatch& patch, Timestamp at, model::Workflow& workflow) {
  if (patch.name) workflow.name = *patch.name;
  if (patch.description) workflow.description = *patch.description;
  if (patch.definition) workflow.definition = *patch.definition;
  workflow.updated_at = at;
}

void apply(const WorkflowAppend& append, model::WorkflowRun& run) {
  run.status = append.run.status;
  run.outputs = append.run.outputs;
  run.error = append.run.error;
  run.blocks = append.run.blocks;
  run.ended_at = append.run.ended_at;
  run.head.value += append.bodies.size();
}

// Two who carry the same run are told apart here: the second finds that the first went on.
std::optional<Error> refusal(const WorkflowAppend& append, const model::WorkflowRun& run) {
  if (run.status != model::WorkflowRunStatus::running) return Error{ErrorKind::conflict, "the workflow run is over"};
  if (run.node != append.run.node) return Error{ErrorKind::conflict, "another server carries the workflow run"};
  if (run.head != append.run.head) return Error{ErrorKind::conflict, "the workflow run has gone on"};
  return std::nullopt;
}

std::optional<Error> refusal_of_takeover(const model::WorkflowRun& run, model::NodeId seen) {
  if (run.status != model::WorkflowRunStatus::running) return Error{ErrorKind::conflict, "the workflow run is over"};
  if (run.node != seen) return Error{ErrorKind::conflict, "somebody else has taken the workflow run over"};
  return std::nullopt;
}

void insert_bodies(Connection& db, int64_t run, uint64_t head, const std::vector<std::string>& bodies) {
  for (const auto& body : bodies) {
    execute(db, "INSERT INTO workflow_events VALUES (?, ?, ?)", run, ++head, body);
  }
}

// Newest first. `from` has what all rows of the list have in common, the scope as ?1 and `more` as ?4 and on;
// `cursor` is where it goes on, if the query has one.
template <typename Row, typename AnyId, typename Scope, typename... More>
Result<Page<Row>> newest_first(Connection& db, const std::string& from, const Scope& scope,
                               const PageQuery<AnyId>& query, std::optional<int64_t> cursor, const More&... more) {
  if (cursor_of(query) && !cursor) return no_such("object to go on from");
  const auto read = [](Query& row) {
    Row record;
    read_row(row, record);
    return record;
  };
  return page_by_number<Row>(db, "SELECT * FROM " + from, "number", scope, cursor, query.limit,
                             Walk::of(query, Order::descending), read, more...);
}

}  // namespace

void create_workflow(Database& database, model::Workflow made, Done<Unit> done) {
  const auto whose = made.tenant_id;
  database.write(whose, std::move(done), [made = std::move(made)](Connection& db) -> Result<Unit> {
    if (auto refused = refusal_of_name(db, made)) return *std::move(refused);
    if (auto refused = refusal_of_count(db, "workflows", made.tenant_id, limits::workflows_per_tenant_max)) {
      return *std::move(refused);
    }
    execute(db, "INSERT INTO workflows VALUES (NULL, ?, ?, ?, ?, ?, ?, ?)", made.id, made.tenant_id, made.name,
            made.description, made.definition, made.created_at, made.updated_at);
    return Unit{};
  });
}

void update_workflow(Database& database, model::TenantId tenant, model::WorkflowId id, WorkflowPatch patch,
                     Timestamp at, Done<model::Workflow> done) {
  database.write(
      tenant, std::move(done), [tenant, id, patch = std::move(patch), at](Connection& db) -> Result<model::Workflow> {
        auto found = workflow_of(db, tenant, id);
        if (!found) return found;
        auto& changed = found.value();
        if (auto refused = refusal(patch, changed)) return *std::move(refused);
        apply(patch, at, changed);
        if (auto refused = refusal_of_name(db, changed)) return *std::move(refused);
        execute(db, "UPDATE workflows SET name = ?, description = ?, definition = ?, updated_at = ? WHERE id = ?",
                changed.name, changed.description, changed.definition, changed.updated_at, id);
        return found;
      });
}

void delete_workflow(Database& database, model::TenantId tenant, model::WorkflowId id, Done<Unit> done) {
  database.write(tenant, std::move(done), [tenant, id](Connection& db) -> Result<Unit> {
    if (const auto found = workflow_of(db, tenant, id); !found) return found.error();
    execute(db, "DELETE FROM workflows WHERE id = ?", id);
    return Unit{};
  });
}

void workflow(Database& database, model::TenantId tenant, model::WorkflowId id, Done<model::Workflow> done) {
  database.read(tenant, std::move(done), [tenant, id](Connection& db) { return workflow_of(db, tenant, id); });
}

void workflows(Database& database, model::TenantId tenant, PageQuery<model::WorkflowId> query,
               Done<Page<model::Workflow>> done) {
  database.read(tenant, std::move(done), [tenant, query](Connection& db) -> Result<Page<model::Workflow>> {
    if (!has_tenant(db, tenant)) return no_such("tenant");
    const auto cursor =
        find_number(db, "SELECT number FROM workflows WHERE id = ? AND tenant_id = ?", cursor_of(query), tenant);
    return newest_first<model::Workflow>(db, "workflows WHERE tenant_id = ?1", tenant, query, cursor);
  });
}

void start_workflow_run(Database& database, WorkflowAppend made, Done<model::WorkflowRun> done) {
  const auto whose = made.run.tenant_id;
  database.write(whose, std::move(done), [made = std::move(made)](Connection& db) -> Result<model::WorkflowRun> {
    if (const auto found = workflow_of(db, made.run.tenant_id, made.run.workflow_id); !found) return found.error();
    auto run = made.run;
    run.head = {made.bodies.size()};
    if (find_number(db, "SELECT number FROM workflow_runs WHERE id = ?", run.id)) {
      return Error{ErrorKind::conflict, "there is such a workflow run already"};
    }
    const auto number = insert_numbered(
        db, "INSERT INTO workflow_runs VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", run.id, run.tenant_id,
        run.workflow_id, run.definition, run.inputs, run.status, run.outputs, error_text(run),
        model::to_text(run.blocks), run.head.value, run.created_at, run.ended_at, run.node);
    insert_bodies(db, number, 0, made.bodies);
    return run;
  });
}

void append_to_workflow_run(Database& database, WorkflowAppend append, Done<model::WorkflowRun> done) {
  const auto whose = append.run.tenant_id;
  database.write(whose, std::move(done), [append = std::move(append)](Connection& db) -> Result<model::WorkflowRun> {
    model::WorkflowRun run;
    int64_t number = 0;
    {
      Query query(db, "SELECT * FROM workflow_runs WHERE id = ?", append.run.id);
      if (!query.next()) return no_such("workflow run");
      number = read_row(query, run);
    }
    if (auto refused = refusal(append, run)) return *std::move(refused);
    insert_bodies(db, number, run.head.value, append.bodies);
    apply(append, run);
    execute(db,
            "UPDATE workflow_runs SET status = ?, outputs = ?, error = ?, blocks = ?, head = ?, ended_at = ? "
            "WHERE number = ?",
            run.status, run.outputs, error_text(run), model::to_text(run.blocks), run.head.value, run.ended_at, number);
    return run;
  });
}

void take_over_workflow_run(Database& database, model::WorkflowRunId id, model::NodeId seen, model::NodeId by,
                            Done<model::WorkflowRun> done) {
  database.write(std::move(done), [id, seen, by](Connection& db) -> Result<model::WorkflowRun> {
    auto run = find<model::WorkflowRun>(db, "SELECT * FROM workflow_runs WHERE id = ?", id);
    if (!run) return no_such("workflow run");
    if (auto refused = refusal_of_takeover(*run, seen)) return *std::move(refused);
    execute(db, "UPDATE workflow_runs SET node = ? WHERE id = ?", by, id);
    run->node = by;
    return *std::move(run);
  });
}

void workflow_run(Database& database, model::TenantId tenant, model::WorkflowRunId id, Done<model::WorkflowRun> done) {
  database.read(tenant, std::move(done), [tenant, id](Connection& db) -> Result<model::WorkflowRun> {
    auto found = find<model::WorkflowRun>(db, "SELECT * FROM workflow_runs WHERE id = ? AND tenant_id = ?", id, tenant);
    if (!found) return no_such("workflow run");
    return *std::move(found);
  });
}

void workflow_runs(Database& database, model::TenantId tenant, model::WorkflowId workflow,
                   PageQuery<model::WorkflowRunId> query, Done<Page<model::WorkflowRun>> done) {
  database.read(tenant, std::move(done), [tenant, workflow, query](Connection& db) {
    const auto cursor =
        find_number(db, "SELECT number FROM workflow_runs WHERE id = ? AND tenant_id = ? AND workflow_id = ?",
                    cursor_of(query), tenant, workflow);
    return newest_first<model::WorkflowRun>(db, "workflow_runs WHERE workflow_id = ?1 AND tenant_id = ?4", workflow,
                                            query, cursor, tenant);
  });
}

void workflow_journal(Database& database, model::WorkflowRunId run, model::Position after,
                      Done<WorkflowJournalPage> done) {
  database.read(run, std::move(done), [id = run, after](Connection& db) -> Result<WorkflowJournalPage> {
    Query found(db, "SELECT number, status FROM workflow_runs WHERE id = ?", id);
    if (!found.next()) return no_such("workflow run");
    int64_t number = 0;
    auto status = model::WorkflowRunStatus::running;
    found.read(number, status);
    WorkflowJournalPage page{.is_over = status != model::WorkflowRunStatus::running};
    Query query(db, "SELECT body FROM workflow_events WHERE run = ? AND position > ? ORDER BY position", number,
                after.value);
    Room room(std::numeric_limits<int>::max(), limits::page_bytes_max);
    while (query.next()) {
      std::string body;
      query.read(body);
      if (!room.take(body.size())) break;
      page.bodies.push_back(std::move(body));
    }
    return page;
  });
}

void unfinished_workflow_runs(Database& database, Done<std::vector<model::WorkflowRun>> done) {
  database.read(std::move(done), [](Connection& db) -> Result<std::vector<model::WorkflowRun>> {
    std::vector<model::WorkflowRun> unfinished;
    Query query(db, "SELECT * FROM workflow_runs WHERE status = 'running' ORDER BY number");
    while (query.next()) read_row(query, unfinished.emplace_back());
    return unfinished;
  });
}

}  // namespace sluice::store
