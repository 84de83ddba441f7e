// The records that the launch of a run needs, in one read: part of the store's public header.
#pragma once

#include "store/questions.h"
#include "store/sql_connection.h"

namespace sluice::store {

// `not_found` when the run's message is not in its conversation. The newest turns count first, up to
// limits::history_bytes_max.
void launch_records(Database& database, const model::Run& run, LaunchQuestion question, Done<LaunchRecords> done);

namespace sql {

// The same inside the transaction that accepts the run. Empty when it is not to be read there: the history is so long
// that other writes would wait for it, or it is damaged, which is no reason to refuse the message.
std::optional<LaunchRecords> launch_records_at_once(Connection& db, const Accepted& accepted, const AskForLaunch& ask);

}  // namespace sql
}  // namespace sluice::store
