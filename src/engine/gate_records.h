// What a gate's opening and closing leave beside the journal: the approval's row, the link of the
// audit chain, the news for the tenant's webhook. Values only.
#pragma once

#include <optional>
#include <string>
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
  std::optional<journal::AguiRun> agui;  // the AG-UI run that goes on from here
};

// It waits for the client's own tools: nobody is asked, so nobody is told and nothing is proven.
bool is_of_client(const model::Approval& approval);
// Why the run cannot go on with these results; empty when each call that it waits for has one.
std::optional<model::Problem> refusal_of_results(const model::Approval& approval,
                                                 const std::vector<model::ClientResult>& results);

// The approval that asks for what the gate needs.
model::Approval approval_of(dispatch::Gate gate, const model::Run& run, model::ApprovalId id, Timestamp now,
                            int64_t lifetime_seconds);

// Who opened or closed it, and when by the clock of this server, which also delivers the news of it.
struct GateDeed {
  std::string actor;
  std::string detail;  // JSON; empty: the run, and by what it was resolved
  Timestamp at;
};
// Of a client's gate only the approval.
GateRecords records_of(const model::Approval& approval, GateDeed deed, model::NoticeId notice);

// Why it cannot be decided any more.
model::Problem not_open(const model::Approval& approval);
// The same approver key said the same before: whoever was not answered asks again. One that comes with a client's
// results, names the run that goes on, or has another note, is no repetition: what it brings is not what was kept.
// Whether it has the secrets that were kept is for the caller to find out, who can open them.
bool is_repeated(const model::Approval& decided, const Decision& decision);

}  // namespace sluice::engine
