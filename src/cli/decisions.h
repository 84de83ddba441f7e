// A person's decision on an approval: it is shown, signed on this machine, and sent. The key never leaves the machine.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/approver_key_file.h"
#include "cli/commands.h"
#include "cli/secrets.h"
#include "model/gates.h"

namespace sluice::cli {

struct Decision {
  model::ApprovalId approval;
  bool approve = false;
  std::vector<model::RequestedItem> items;
  Secrets secrets;
  std::optional<std::string> note;
  int64_t valid_seconds = 300;
};

// The body of POST /v1/approvals/{id}/approve and …/deny. It always signs digests of the requested and the supplied
// items, because new tenants require them and other tenants accept them.
Result<std::string> signed_body(const Decision& decision, const ApproverKeyFile& key, Timestamp now);

// Asks the person at the terminal to decide a pending approval now; they may leave it waiting. Asks nothing if it is
// decided already.
void offer_decision(Context& context, const std::string& approval_id);

}  // namespace sluice::cli
