// The records that are written with a gate's opening and closing, beside the journal: the approval's row, the entry of
// the audit chain, the notice for the tenant's webhook; and the rules of decisions. Values only, for any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dispatch/dispatch.h"
#include "engine/engine.h"
#include "journal/journal.h"
#include "model/model.h"

namespace sluice::engine {

struct GateRecords {
  std::optional<model::Approval> approval;  // as it is now
  std::vector<model::SealedSecret> secrets;
  std::vector<model::AuditEntry> audit;
  std::vector<model::Notice> notices;
  std::optional<journal::AguiRun> agui;  // the AG-UI run that begins here
};

// The gate waits for the client's own tools. No human is asked, so there is no notice and no audit entry.
bool is_of_client(const model::Approval& approval);
// Why the run cannot continue with these results; empty when each call that it waits for has one.
std::optional<model::Problem> refusal_of_results(const model::Approval& approval,
                                                 const std::vector<model::ClientResult>& results);

// The approval for what the gate asks.
model::Approval approval_of(dispatch::Gate gate, const model::Run& run, model::ApprovalId id, Timestamp now,
                            int64_t lifetime_seconds);

// Who opened or closed a gate, and when by the clock of this server, which also delivers the notice of it.
struct GateDeed {
  std::string actor;
  std::string detail;  // JSON; empty: made of the run and of what resolved the approval
  Timestamp at;
};
// For a gate of the client's tools only the approval.
GateRecords records_of(const model::Approval& approval, GateDeed deed, model::NoticeId notice);

// Why the approval cannot be decided any more.
model::Problem not_open(const model::Approval& approval);
inline constexpr std::string_view expired_detail = "Nobody decided before the approval's time was over.";
// The same approver key decided the same before: a caller that got no answer asks again. A decision that brings results
// of a client's tools, names an AG-UI run, or has another note is no repetition, because what it brings was not kept.
// Whether it has the secrets that were kept is for the caller to find out, who can open them.
bool is_repeated(const model::Approval& decided, const Decision& decision);

}  // namespace sluice::engine
