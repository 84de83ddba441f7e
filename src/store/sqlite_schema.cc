#include "store/sqlite_schema.h"

#include <array>

#include "store/sql_query.h"

namespace sluice::store {

namespace {

constexpr int64_t application_id = 0x534C5543;  // "SLUC"; on disk, never changes

// Each step is run once, in a transaction of its own. A step that was released is never edited: the
// next change is another step.
//
// `number` is the order in which rows were made, and what rows of other tables refer to. Columns are
// read and written in the order they have here.
constexpr std::array<const char*, 6> steps = {R"sql(
CREATE TABLE tenants (
  number INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE, name TEXT NOT NULL, status TEXT NOT NULL,
  filler_enabled INTEGER NOT NULL, metadata TEXT NOT NULL, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL
) STRICT;

CREATE TABLE service_keys (
  number INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE, tenant_id BLOB NOT NULL, name TEXT NOT NULL,
  secret_sha256 BLOB NOT NULL UNIQUE, hint TEXT NOT NULL, created_at INTEGER NOT NULL, revoked_at INTEGER
) STRICT;
CREATE INDEX service_keys_of_tenant ON service_keys (tenant_id);

CREATE TABLE approver_keys (
  number INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE, tenant_id BLOB NOT NULL, name TEXT NOT NULL,
  algorithm TEXT NOT NULL, material BLOB NOT NULL, created_at INTEGER NOT NULL, revoked_at INTEGER
) STRICT;
CREATE INDEX approver_keys_of_tenant ON approver_keys (tenant_id);

CREATE TABLE agents (
  number INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE, tenant_id BLOB NOT NULL, name TEXT NOT NULL,
  system_prompt TEXT NOT NULL, model_provider TEXT NOT NULL, model_name TEXT NOT NULL, model_base_url TEXT,
  max_output_tokens INTEGER NOT NULL, max_runtime_seconds INTEGER NOT NULL, max_history_messages INTEGER NOT NULL,
  is_default INTEGER NOT NULL, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL,
  UNIQUE (tenant_id, name)
) STRICT;
CREATE INDEX agents_of_tenant ON agents (tenant_id);
CREATE UNIQUE INDEX default_agents ON agents (tenant_id) WHERE is_default;

CREATE TABLE conversations (
  number INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE, tenant_id BLOB NOT NULL, agent_id BLOB NOT NULL,
  user_id TEXT, title TEXT, metadata TEXT NOT NULL, filler_enabled INTEGER, repository_id TEXT, status TEXT NOT NULL,
  last_message_at INTEGER NOT NULL, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL
) STRICT;
CREATE INDEX conversations_latest ON conversations (tenant_id, last_message_at);
CREATE INDEX conversations_of_user ON conversations (tenant_id, user_id, last_message_at) WHERE user_id IS NOT NULL;
CREATE INDEX conversations_of_agent ON conversations (agent_id) WHERE status = 'active';

CREATE TABLE messages (
  number INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE, conversation INTEGER NOT NULL,
  run INTEGER,  -- that produces it; empty for the user's
  status TEXT NOT NULL, json TEXT NOT NULL
) STRICT;
CREATE INDEX messages_of_conversation ON messages (conversation);

CREATE TABLE runs (
  number INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE, tenant_id BLOB NOT NULL, conversation_id BLOB NOT NULL,
  user_message_id BLOB NOT NULL, message_id BLOB NOT NULL, agent_id BLOB NOT NULL, state TEXT NOT NULL,
  epoch INTEGER NOT NULL, head INTEGER NOT NULL, created_at INTEGER NOT NULL, ended_at INTEGER,
  conversation INTEGER NOT NULL, message INTEGER NOT NULL,
  journal_rows BLOB  -- where its journal is, as of the last write of this row; empty once it is sealed
) STRICT;
CREATE INDEX runs_of_tenant ON runs (tenant_id);
CREATE INDEX runs_to_seal ON runs (ended_at) WHERE ended_at IS NOT NULL AND journal_rows IS NOT NULL;

-- The runs that are not over. Its key is why a conversation has at most one.
CREATE TABLE flights (conversation INTEGER PRIMARY KEY, run INTEGER NOT NULL) STRICT;

-- A row is a batch of events, up to and including position `last`. Rows are appended and found by
-- their number (see journal_rows.h); they leave for sealed_journals, compressed, some time after
-- their run is over.
CREATE TABLE journal (number INTEGER PRIMARY KEY, run INTEGER NOT NULL, last INTEGER NOT NULL, batch BLOB NOT NULL) STRICT;
CREATE TABLE sealed_journals (
  number INTEGER PRIMARY KEY, run INTEGER NOT NULL, last INTEGER NOT NULL, batch_zstd BLOB NOT NULL
) STRICT;
CREATE UNIQUE INDEX sealed_journal_of_run ON sealed_journals (run, last);

CREATE TABLE idempotency_keys (
  principal BLOB NOT NULL, operation TEXT NOT NULL, key TEXT NOT NULL, request_sha256 BLOB NOT NULL,
  run INTEGER, response_body TEXT, created_at INTEGER NOT NULL,
  PRIMARY KEY (principal, operation, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX idempotency_keys_by_age ON idempotency_keys (created_at);
)sql",
                                              R"sql(
ALTER TABLE agents ADD COLUMN skill_ids BLOB NOT NULL DEFAULT x'';
ALTER TABLE agents ADD COLUMN environment_id BLOB;

CREATE TABLE repositories (
  number INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE, tenant_id BLOB NOT NULL, name TEXT NOT NULL,
  url TEXT NOT NULL, ref TEXT NOT NULL, depth INTEGER NOT NULL, credential_alias TEXT,
  created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL, UNIQUE (tenant_id, name)
) STRICT;
CREATE INDEX repositories_of_tenant ON repositories (tenant_id);

CREATE TABLE skills (
  number INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE, tenant_id BLOB NOT NULL, name TEXT NOT NULL,
  description TEXT NOT NULL, sha256 TEXT NOT NULL, size_bytes INTEGER NOT NULL, file_count INTEGER NOT NULL,
  created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL, UNIQUE (tenant_id, name)
) STRICT;
CREATE INDEX skills_of_tenant ON skills (tenant_id);

CREATE TABLE environments (
  number INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE, tenant_id BLOB NOT NULL, name TEXT NOT NULL,
  variables TEXT NOT NULL, script TEXT NOT NULL, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL,
  UNIQUE (tenant_id, name)
) STRICT;
CREATE INDEX environments_of_tenant ON environments (tenant_id);

CREATE TABLE executions (
  number INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE, tenant_id BLOB NOT NULL, run_id BLOB, env_json TEXT NOT NULL,
  config_json TEXT NOT NULL, skill_ids BLOB NOT NULL, created_at INTEGER NOT NULL, expires_at INTEGER NOT NULL,
  bearer_sha256 BLOB NOT NULL UNIQUE
) STRICT;
CREATE INDEX executions_by_expiry ON executions (expires_at);

CREATE TABLE one_time_tokens (
  sha256 BLOB PRIMARY KEY, execution INTEGER NOT NULL, purpose TEXT NOT NULL, expires_at INTEGER NOT NULL,
  redeemed_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX tokens_of_execution ON one_time_tokens (execution);

-- Names of contents, which are kept outside, by their digest.
CREATE TABLE files (
  number INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE, tenant_id BLOB NOT NULL, run_id BLOB, execution_id BLOB,
  name TEXT NOT NULL, size_bytes INTEGER NOT NULL, sha256 TEXT NOT NULL, created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX files_of_run ON files (run_id) WHERE run_id IS NOT NULL;
CREATE INDEX files_of_execution ON files (execution_id) WHERE execution_id IS NOT NULL;
)sql",
                                              R"sql(
ALTER TABLE tenants ADD COLUMN weight INTEGER NOT NULL DEFAULT 1;
ALTER TABLE tenants ADD COLUMN max_running INTEGER NOT NULL DEFAULT 0;
ALTER TABLE tenants ADD COLUMN max_held INTEGER NOT NULL DEFAULT 0;
ALTER TABLE tenants ADD COLUMN max_concurrent_sticky INTEGER NOT NULL DEFAULT 5;
ALTER TABLE tenants ADD COLUMN max_sticky_ttl_seconds INTEGER NOT NULL DEFAULT 3600;
ALTER TABLE tenants ADD COLUMN require_bound_decisions INTEGER NOT NULL DEFAULT 0;
ALTER TABLE tenants ADD COLUMN webhook_url TEXT;

ALTER TABLE agents ADD COLUMN policy TEXT NOT NULL DEFAULT '[]';
ALTER TABLE agents ADD COLUMN model_key_alias TEXT;

ALTER TABLE conversations ADD COLUMN agent_type TEXT NOT NULL DEFAULT 'native';
ALTER TABLE conversations ADD COLUMN mode TEXT NOT NULL DEFAULT 'pooled';
ALTER TABLE conversations ADD COLUMN sticky_ttl_seconds INTEGER NOT NULL DEFAULT 900;

CREATE TABLE approvals (
  number INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE, tenant_id BLOB NOT NULL, conversation_id BLOB NOT NULL,
  message_id BLOB NOT NULL, run_id BLOB NOT NULL, status TEXT NOT NULL, reason TEXT NOT NULL,
  requested_items TEXT NOT NULL, note TEXT, resolved_by TEXT, resolved_at INTEGER, expires_at INTEGER NOT NULL,
  created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL
) STRICT;
CREATE INDEX approvals_of_tenant ON approvals (tenant_id);
CREATE INDEX approvals_by_status ON approvals (tenant_id, status);
CREATE INDEX approvals_of_conversation ON approvals (conversation_id);
-- Why a run waits for one thing at a time.
CREATE UNIQUE INDEX open_approvals ON approvals (run_id) WHERE status = 'pending';

-- `sealed` can be read only with the operator's key, which is not in here.
CREATE TABLE secrets (
  number INTEGER PRIMARY KEY, tenant_id BLOB NOT NULL, scope TEXT NOT NULL, owner BLOB NOT NULL, alias TEXT NOT NULL,
  hosts TEXT NOT NULL, places INTEGER NOT NULL, sealed BLOB NOT NULL,
  created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL, UNIQUE (scope, owner, alias)
) STRICT;

-- Numbers have no gaps, and each hash covers the one before it: what is taken out or changed shows.
CREATE TABLE audit (
  number INTEGER PRIMARY KEY, tenant_id BLOB, action TEXT NOT NULL, subject TEXT NOT NULL, actor TEXT NOT NULL,
  detail TEXT NOT NULL, at INTEGER NOT NULL, previous_sha256 BLOB NOT NULL, sha256 BLOB NOT NULL
) STRICT;
CREATE INDEX audit_of_tenant ON audit (tenant_id) WHERE tenant_id IS NOT NULL;

-- News that no webhook has taken yet.
CREATE TABLE notices (
  number INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE, tenant_id BLOB NOT NULL, kind TEXT NOT NULL, body TEXT NOT NULL,
  created_at INTEGER NOT NULL, due_at INTEGER NOT NULL, attempts INTEGER NOT NULL
) STRICT;
CREATE INDEX notices_by_due_time ON notices (due_at);
)sql",
                                              R"sql(
ALTER TABLE tenants ADD COLUMN agui_unsigned_approvals INTEGER NOT NULL DEFAULT 0;
ALTER TABLE agents ADD COLUMN kit TEXT NOT NULL DEFAULT '{}';

-- What AG-UI clients call our conversations and runs.
CREATE TABLE threads (
  number INTEGER PRIMARY KEY, tenant_id BLOB NOT NULL, thread_id TEXT NOT NULL, conversation_id BLOB NOT NULL UNIQUE,
  UNIQUE (tenant_id, thread_id)
) STRICT;
CREATE TABLE agui_runs (
  number INTEGER PRIMARY KEY, tenant_id BLOB NOT NULL, thread_id TEXT NOT NULL, run_id TEXT NOT NULL,
  conversation_id BLOB NOT NULL, run BLOB NOT NULL, segment INTEGER NOT NULL, UNIQUE (tenant_id, thread_id, run_id)
) STRICT;
CREATE INDEX agui_runs_by_name ON agui_runs (tenant_id, run_id);
CREATE INDEX agui_runs_of_run ON agui_runs (run, segment);
)sql",
                                              R"sql(
-- The list of runs, newest first, and its filters. Runs that are not over are found by their flights.
DROP INDEX runs_of_tenant;
CREATE INDEX runs_latest ON runs (tenant_id, created_at);
CREATE INDEX runs_of_agent ON runs (agent_id, created_at);
CREATE INDEX runs_ended ON runs (tenant_id, state, created_at, number, agent_id) WHERE ended_at IS NOT NULL;

-- A conversation of a person with the Assistant is a chat; its files are in its bag.
ALTER TABLE conversations ADD COLUMN kind TEXT NOT NULL DEFAULT 'plain';
DROP INDEX conversations_latest;
CREATE INDEX conversations_latest ON conversations (tenant_id, kind, last_message_at);
CREATE TABLE bag_files (
  number INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE, tenant_id BLOB NOT NULL, chat_id BLOB, run_id BLOB,
  name TEXT NOT NULL, type TEXT NOT NULL, size_bytes INTEGER NOT NULL, sha256 TEXT NOT NULL, source TEXT NOT NULL,
  created_at INTEGER NOT NULL, deleted_at INTEGER
) STRICT;
CREATE INDEX bag_files_of_tenant ON bag_files (tenant_id) WHERE deleted_at IS NULL;
CREATE INDEX bag_bytes_of_tenant ON bag_files (tenant_id, size_bytes) WHERE deleted_at IS NULL;
CREATE INDEX bag_files_of_chat ON bag_files (chat_id) WHERE deleted_at IS NULL AND chat_id IS NOT NULL;

-- What agents say of the endpoint besides its name are copies, changed with it.
ALTER TABLE agents ADD COLUMN model_endpoint BLOB;
CREATE TABLE model_endpoints (
  number INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE, tenant_id BLOB NOT NULL, name TEXT NOT NULL,
  provider TEXT NOT NULL, base_url TEXT, key_alias TEXT, models TEXT NOT NULL,
  created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL, UNIQUE (tenant_id, name)
) STRICT;

CREATE TABLE user_tables (
  number INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE, tenant_id BLOB NOT NULL, name TEXT NOT NULL,
  columns TEXT NOT NULL, row_count INTEGER NOT NULL, size_bytes INTEGER NOT NULL,
  created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL, UNIQUE (tenant_id, name)
) STRICT;
CREATE TABLE user_rows (
  number INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE, table_number INTEGER NOT NULL, cells TEXT NOT NULL,
  created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL
) STRICT;
CREATE INDEX rows_of_user_table ON user_rows (table_number);

CREATE TABLE workflows (
  number INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE, tenant_id BLOB NOT NULL, name TEXT NOT NULL,
  description TEXT NOT NULL, definition TEXT NOT NULL, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL,
  UNIQUE (tenant_id, name)
) STRICT;
CREATE INDEX workflows_of_tenant ON workflows (tenant_id);
CREATE TABLE workflow_runs (
  number INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE, tenant_id BLOB NOT NULL, workflow_id BLOB NOT NULL,
  definition TEXT NOT NULL, inputs TEXT NOT NULL, status TEXT NOT NULL, outputs TEXT NOT NULL, error TEXT,
  blocks TEXT NOT NULL, head INTEGER NOT NULL, created_at INTEGER NOT NULL, ended_at INTEGER
) STRICT;
CREATE INDEX runs_of_workflow ON workflow_runs (workflow_id);
CREATE INDEX unfinished_workflow_runs ON workflow_runs (number) WHERE status = 'running';
CREATE TABLE workflow_events (
  run INTEGER NOT NULL, position INTEGER NOT NULL, body TEXT NOT NULL, PRIMARY KEY (run, position)
) STRICT;
)sql",
                                              R"sql(
-- As the statements say it, which must also be understood where truth is no number.
DROP INDEX default_agents;
CREATE UNIQUE INDEX default_agents ON agents (tenant_id) WHERE is_default <> 0;

-- There is only one server here, which has no number.
ALTER TABLE workflow_runs ADD COLUMN node BLOB NOT NULL DEFAULT x'00000000000000000000000000000000';
)sql"};

int64_t number_of(Connection& db, std::string_view sql) {
  Query query(db, sql);
  int64_t value = 0;
  if (query.next()) query.read(value);
  return value;
}

}  // namespace

int64_t application_mark() { return application_id; }
int64_t schema_version() { return static_cast<int64_t>(steps.size()); }

Result<Unit> migrate(Connection& db) {
  const int64_t owner = number_of(db, "PRAGMA application_id");
  const int64_t version = number_of(db, "PRAGMA user_version");
  const int64_t table_count = number_of(db, "SELECT count(*) FROM sqlite_schema");
  if (db.failure()) return error_of(*db.failure());
  if (owner != application_id && (owner != 0 || table_count != 0)) {
    return Error{ErrorKind::invalid, "this is the database of another program"};
  }
  const auto known = schema_version();
  if (version > known) {
    return Error{ErrorKind::invalid, "the database has schema " + std::to_string(version) +
                                         ", but this program knows only " + std::to_string(known) +
                                         ": use the newer sluice that wrote it"};
  }
  for (int64_t step = version; step < known; ++step) {
    const std::string stamp = "PRAGMA user_version = " + std::to_string(step + 1) +
                              "; PRAGMA application_id = " + std::to_string(application_id);
    db.run("BEGIN IMMEDIATE");
    db.run(steps[static_cast<std::size_t>(step)]);
    db.run(stamp.c_str());
    db.run("COMMIT");
    if (db.failure()) return error_of(*db.failure()).in("migrate to schema " + std::to_string(step + 1));
  }
  return Unit{};
}

}  // namespace sluice::store
