#include "journal/journal.h"

#include "base/check.h"

namespace sluice::journal {

CommittedBatch Journal::committed(std::vector<model::RunEvent> events, model::Position first) {
  SLUICE_CHECK(events.empty() || first.value >= 1);  // positions begin at 1
  CommittedBatch batch;
  batch.reserve(events.size());
  for (auto& event : events) batch.push_back(Committed(std::move(event), {first.value + batch.size()}));
  return batch;
}

}  // namespace sluice::journal
