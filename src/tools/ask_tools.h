// The tools by which an agent asks a human: for leave to do something, or for a secret that it will only know by its
// alias. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "egress/egress.h"
#include "model/model.h"
#include "models/models.h"

namespace sluice::tools {

// What a human is asked.
struct ApprovalRequest {
  std::string reason;
  std::vector<model::RequestedItem> items;
  int64_t lifetime_seconds = 0;  // 0: as long as the server lets it wait
};

std::vector<models::ToolSpec> ask_tool_specs();
bool is_ask_tool(std::string_view name);

// `call.name` is one of them. `invalid`, in words for the model, which may try again.
Result<ApprovalRequest> plan_approval_request(const models::ToolCall& call);

// How the model uses a secret that is on file.
std::string alias_words(std::string_view alias);
// What the model is answered once a human agreed.
std::string approved_words(const std::vector<model::RequestedItem>& items);

// ── a request that waits at the sandbox's way out ──
// What a human is asked about it, and what it is refused with where no human is asked.
ApprovalRequest approval_request_for(const egress::Question& question);
// No human can be asked.
std::string unasked_words(const egress::Question& question);
// One can be, but only `when`: "for a command that is waited for".
std::string untimely_words(const egress::Question& question, std::string_view when);

}  // namespace sluice::tools
