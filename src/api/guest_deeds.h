// What sandboxes change that outlives them, for the audit chain.
#pragma once

#include <string>
#include <utility>

#include "api/request_context.h"

namespace sluice::api {

// Before the change, so that there is none without its entry; one that fails then has an entry, too. What a service key
// changes is not recorded.
inline void record_guest(const Asked& asked, std::string action, std::string subject, std::string detail,
                         Callback<void()> then) {
  if (!asked->is_guest()) return then();
  model::AuditEntry entry{.tenant_id = asked->tenant().id,
                          .action = std::move(action),
                          .subject = std::move(subject),
                          .actor = asked->actor(),
                          .detail = std::move(detail),
                          .at = asked->now()};
  asked->store().append_audit({std::move(entry)}, [asked, then = std::move(then)](const Result<Unit>& kept) mutable {
    kept ? then() : asked->fail(kept.error());
  });
}

}  // namespace sluice::api
