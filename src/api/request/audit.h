// Entries of the audit chain about requests: what the operator did, and what sandboxes changed that outlives them.
// Called from the loop's thread. What a service key changes is not recorded.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/request/request_context.h"

namespace sluice::api {

// Appends an entry and calls `then`, or answers that the entry could not be written.
void record(const RequestPtr& request, model::AuditEntry entry, Callback<void()> then);
// The same for something that the operator does.
void record_of_operator(const RequestPtr& request, model::AuditEntry entry, Callback<void()> then);

struct SandboxChange {
  std::string subject;
  std::string detail;  // JSON
};

// Call it before the change, so that no change lacks its entry; a change that fails then has an entry, too. Does
// nothing for requests that do not come from a sandbox. After very many changes by one sandbox, an entry stands for
// many.
void record_sandbox(const RequestPtr& request, std::string_view action, std::vector<SandboxChange> changes,
                    Callback<void()> then);
void record_sandbox(const RequestPtr& request, std::string_view action, std::string subject, std::string detail,
                    Callback<void()> then);
// For changes that a sandbox may make thousands of times: records only the first one that this server remembers.
void record_sandbox_once(const RequestPtr& request, std::string_view action, std::string subject, std::string detail,
                         Callback<void()> then);

}  // namespace sluice::api
