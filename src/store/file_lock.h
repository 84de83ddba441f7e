// A lock on a file, held until its owner goes, however the process ends.
#pragma once

#include <string>

#include "base/fd.h"
#include "base/result.h"

namespace sluice::store {

// PATH.lock, which whoever writes to the database file PATH holds: what it remembers of the runs holds for one process
// only. Readers need no lock. `conflict` when somebody else holds it.
Result<OwnedFd> lock_database(const std::string& path);

}  // namespace sluice::store
