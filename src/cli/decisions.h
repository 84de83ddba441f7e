// A human's decision on an approval: shown, signed here, and sent. The key never leaves the machine.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/approver_key_file.h"
#include "cli/commands.h"
#include "cli/secret_values.h"
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

// What POST /v1/approvals/{id}/approve and …/deny take. It always signs digests of what is asked for and of what is
// supplied, because new tenants require them and nobody else minds.
Result<std::string> signed_body(const Decision& decision, const ApproverKeyFile& key, Timestamp now);

// An approval as whoever decides must see it: all of it, and so that no line of it can pass for another.
std::string approval_text(json::Value approval);

// Asks whoever sits there to decide now, and does so with the key at hand. They may leave it waiting. Nothing is asked
// of what is decided already.
void offer_decision(Context& context, const std::string& approval_id);

}  // namespace sluice::cli
