// What a gate's opening and closing leave beside the journal: the approval's row, the link of the
// audit chain, the news for the tenant's webhook. Values only.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/harness.h"
#include "model/model.h"

namespace sluice::engine {

struct GateRecords {
  std::optional<model::Approval> approval;  // as it is now
  std::vector<model::SealedSecret> secrets;
  std::vector<model::AuditEntry> audit;
  std::vector<model::Notice> notices;
};

// The approval that asks for what the gate needs.
model::Approval approval_of(harness::Gate gate, const model::Run& run, model::ApprovalId id, Timestamp now,
                            int64_t lifetime_seconds);

// `detail` is JSON; empty: the run, and by what it was resolved.
GateRecords records_of(const model::Approval& approval, std::string actor, std::string detail, model::NoticeId notice);

// Why it cannot be decided any more.
model::Problem not_open(const model::Approval& approval);

}  // namespace sluice::engine
