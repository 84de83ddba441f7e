#include "store/executions.h"

#include <algorithm>

#include "model/cancelled.h"
#include "store/database.h"
#include "store/sql_parts.h"
#include "store/sql_rows.h"

namespace sluice::store {

namespace {

Error refused(std::string_view what) { return {ErrorKind::denied, std::string(what)}; }

std::vector<model::RunFile> read_files(Query& query) {
  std::vector<model::RunFile> files;
  while (query.next()) read_row(query, files.emplace_back());
  return files;
}

bool is_cancelled(Connection& db, const std::optional<model::RunId>& id) {
  if (!id) return false;
  const auto run = find_row<model::Run>(db, "SELECT * FROM runs WHERE id = ?", *id);
  return run && model::is_cancelled(run->state);
}

// Exactly so: a caller that does not know the outcome of its write repeats it.
bool is_made(Connection& db, const model::RunFile& file) {
  const auto found = find_row<model::RunFile>(db, "SELECT * FROM files WHERE id = ?", file.id);
  return found && found->tenant_id == file.tenant_id && found->run_id == file.run_id &&
         found->execution_id == file.execution_id && found->name == file.name && found->sha256 == file.sha256;
}

// The execution of a token that is good now.
Result<model::Execution> execution_of_token(Connection& db, model::ExecutionId execution, model::TokenPurpose purpose,
                                            const std::string& token_sha256, Timestamp now) {
  auto found = find_row<model::Execution>(
      db,
      "SELECT executions.number, executions.id, tenant_id, run_id, env_json, config_json, skill_ids, "
      "created_at, executions.expires_at "
      "FROM one_time_tokens JOIN executions ON executions.number = execution "
      "WHERE sha256 = ? AND executions.id = ? AND purpose = ? AND one_time_tokens.expires_at > ? "
      "AND redeemed_at IS NULL",
      Blob{token_sha256}, execution, purpose, now);
  if (!found) return refused("the token is not good, or not any more");
  if (is_cancelled(db, found->run_id)) return refused("the run of this token was cancelled");
  return *std::move(found);
}

}  // namespace

void create_execution(Database& database, model::Execution made, std::string bearer_sha256,
                      std::vector<model::OneTimeToken> tokens, Done<Unit> done) {
  const auto whose = made.tenant_id;
  database.write(whose, std::move(done),
                 [made = std::move(made), bearer_sha256 = std::move(bearer_sha256),
                  tokens = std::move(tokens)](Connection& db) -> Result<Unit> {
                   if (!has_tenant(db, made.tenant_id)) return no_such("tenant");
                   const auto number =
                       insert_numbered(db, "INSERT INTO executions VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?)", made.id,
                                       made.tenant_id, made.run_id, made.env_json, made.config_json, made.skill_ids,
                                       made.created_at, made.expires_at, Blob{bearer_sha256});
                   for (const auto& token : tokens) {
                     execute(db, "INSERT INTO one_time_tokens VALUES (?, ?, ?, ?, NULL)", Blob{token.sha256}, number,
                             token.purpose, token.expires_at);
                   }
                   return Unit{};
                 });
}

// The one writer makes it a race that somebody wins: between the look and the mark nobody else writes.
void redeem(Database& database, model::ExecutionId execution, model::TokenPurpose purpose, std::string token_sha256,
            Timestamp now, Done<Redeemed> done) {
  database.write(execution, std::move(done),
                 [execution, purpose, token_sha256 = std::move(token_sha256), now](Connection& db) -> Result<Redeemed> {
                   auto found = execution_of_token(db, execution, purpose, token_sha256, now);
                   if (!found) return found.error();
                   execute(db, "UPDATE one_time_tokens SET redeemed_at = ? WHERE sha256 = ?", now, Blob{token_sha256});
                   return Redeemed{std::move(found).take()};
                 });
}

void check_token(Database& database, model::ExecutionId execution, model::TokenPurpose purpose,
                 std::string token_sha256, Timestamp now, Done<Unit> done) {
  database.read(std::move(done),
                [execution, purpose, token_sha256 = std::move(token_sha256), now](Connection& db) -> Result<Unit> {
                  const auto found = execution_of_token(db, execution, purpose, token_sha256, now);
                  if (!found) return found.error();
                  return Unit{};
                });
}

void execution_of_bearer(Database& database, std::string bearer_sha256, Timestamp now, Done<model::Execution> done) {
  database.read(
      std::move(done), [bearer_sha256 = std::move(bearer_sha256), now](Connection& db) -> Result<model::Execution> {
        auto found = find_row<model::Execution>(
            db, "SELECT * FROM executions WHERE bearer_sha256 = ? AND expires_at > ?", Blob{bearer_sha256}, now);
        if (!found) return refused("the bearer is not good, or not any more");
        return *std::move(found);
      });
}

int sql::drop_executions(Connection& db, Timestamp expired_before, int limit) {
  execute(db,
          "DELETE FROM one_time_tokens WHERE execution IN "
          "(SELECT number FROM executions WHERE expires_at <= ? ORDER BY expires_at LIMIT ?)",
          expired_before, limit);
  execute(db,
          "DELETE FROM executions WHERE number IN "
          "(SELECT number FROM executions WHERE expires_at <= ? ORDER BY expires_at LIMIT ?)",
          expired_before, limit);
  return db.change_count();
}

void create_files(Database& database, std::vector<model::RunFile> made, Done<Unit> done) {
  const auto whose = made.empty() ? model::TenantId{} : made.front().tenant_id;
  database.write(whose, std::move(done), [made = std::move(made)](Connection& db) -> Result<Unit> {
    if (std::ranges::all_of(made, [&](const auto& file) { return is_made(db, file); })) return Unit{};
    for (const auto& file : made) {
      if (!has_tenant(db, file.tenant_id)) return no_such("tenant");
      if (find_number(db, "SELECT number FROM files WHERE id = ?", file.id)) {
        return Error{ErrorKind::conflict, "there is such a file already"};
      }
      if (is_cancelled(db, file.run_id)) return refused("the run was cancelled, and its files are not kept");
    }
    for (const auto& file : made) {
      execute(db, "INSERT INTO files VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?)", file.id, file.tenant_id, file.run_id,
              file.execution_id, file.name, file.size_bytes, file.sha256, file.created_at);
      sql::keep_in_bag(db, file);
    }
    return Unit{};
  });
}

void file(Database& database, model::TenantId tenant, model::FileId id, Done<model::RunFile> done) {
  database.read(tenant, std::move(done), [tenant, id](Connection& db) -> Result<model::RunFile> {
    auto found = find_row<model::RunFile>(db, "SELECT * FROM files WHERE id = ? AND tenant_id = ?", id, tenant);
    if (!found) return no_such("file");
    return *std::move(found);
  });
}

void files_of_run(Database& database, model::TenantId tenant, model::RunId run,
                  Done<std::vector<model::RunFile>> done) {
  database.read(tenant, std::move(done), [tenant, run](Connection& db) -> Result<std::vector<model::RunFile>> {
    if (!find_number(db, "SELECT number FROM runs WHERE id = ? AND tenant_id = ?", run, tenant)) return no_such("run");
    Query query(db, "SELECT * FROM files WHERE run_id = ? AND tenant_id = ? ORDER BY number", run, tenant);
    return read_files(query);
  });
}

void files_of_execution(Database& database, model::TenantId tenant, model::ExecutionId execution,
                        Done<std::vector<model::RunFile>> done) {
  database.read(tenant, std::move(done), [tenant, execution](Connection& db) -> Result<std::vector<model::RunFile>> {
    Query query(db, "SELECT * FROM files WHERE execution_id = ? AND tenant_id = ? ORDER BY number", execution, tenant);
    auto files = read_files(query);
    if (!files.empty()) return files;  // which outlive the execution's record
    if (!find_number(db, "SELECT number FROM executions WHERE id = ? AND tenant_id = ?", execution, tenant)) {
      return no_such("execution");
    }
    return files;
  });
}

}  // namespace sluice::store
