// The queue of runs that wait for a slot, as the servers that share one PostgreSQL database see it of each other.
#pragma once

#include <vector>

#include "store/pg_session.h"
#include "store/questions.h"

namespace sluice::store::pg {

// Nodes::held_elsewhere() and Nodes::claim(). Both leave what went wrong with the session.
std::vector<HeldElsewhere> held_elsewhere(PgSession& session, model::NodeId self);
std::vector<model::Run> claim(PgSession& session, model::NodeId self, const std::vector<HeldRun>& wanted);

}  // namespace sluice::store::pg
