// Executions with their one-time tokens, and the files that runs return. Part of the store's public header: errors,
// threads and transactions are those of journal/journal.h. All writes are boundaries.
#pragma once

#include <string>
#include <vector>

#include "model/model.h"
#include "store/questions.h"

namespace sluice::store {

// The token was valid, and cannot be used again.
struct Redeemed {
  model::Execution execution;
};

// ── executions and their tokens (S-3) ──
void create_execution(Database& database, model::Execution made, std::string bearer_sha256,
                      std::vector<model::OneTimeToken> tokens, Done<Unit> done);
// Of concurrent redemptions exactly one succeeds. The others are `denied`, and so is a token that is expired, belongs
// to another execution or purpose, or to a run that was cancelled.
void redeem(Database& database, model::ExecutionId execution, model::TokenPurpose purpose, std::string token_sha256,
            Timestamp now, Done<Redeemed> done);
// The result that redeem() would have now, without using the token up. Success is no promise: another caller may redeem
// the token in between.
void check_token(Database& database, model::ExecutionId execution, model::TokenPurpose purpose,
                 std::string token_sha256, Timestamp now, Done<Unit> done);
// By the asbx_ bearer, which is valid until the execution expires; then it is `denied`.
void execution_of_bearer(Database& database, std::string bearer_sha256, Timestamp now, Done<model::Execution> done);

// ── files that runs returned ──
// All or none, and once, however often they are made just like that. Those of a chat's run come into the chat's bag
// with it, under the same ids. `denied` when the run was cancelled, also while its work is still being stopped.
void create_files(Database& database, std::vector<model::RunFile> made, Done<Unit> done);
void file(Database& database, model::TenantId tenant, model::FileId id, Done<model::RunFile> done);
void files_of_run(Database& database, model::TenantId tenant, model::RunId run, Done<std::vector<model::RunFile>> done);
void files_of_execution(Database& database, model::TenantId tenant, model::ExecutionId execution,
                        Done<std::vector<model::RunFile>> done);

}  // namespace sluice::store
