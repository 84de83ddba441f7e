// The records of runs: one run, and the lists of them. Part of the store's public header: errors, threads and
// transactions are those of journal/journal.h.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/model.h"
#include "store/questions.h"

namespace sluice::store {

// The head of a run that is not over may lag behind its journal here, and in lists.
void run(Database& database, model::TenantId tenant, model::RunId id, Done<model::Run> done);
void run_of_message(Database& database, model::TenantId tenant, model::MessageId assistant_message,
                    Done<model::Run> done);
// Newest first.
void runs(Database& database, model::TenantId tenant, RunFilter filter, PageQuery<model::RunId> query,
          Done<Page<model::Run>> done);

}  // namespace sluice::store
