// What sandboxes change that outlives them, for the audit chain.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/request_context.h"

namespace sluice::api {

struct GuestDeed {
  std::string subject;
  std::string detail;  // JSON
};

// Before the change, so that there is none without its entry; one that fails then has an entry, too. What a service key
// changes is not recorded.
inline void record_guest(const Asked& asked, std::string_view action, std::vector<GuestDeed> deeds,
                         Callback<void()> then) {
  if (!asked->is_guest()) return then();
  std::vector<model::AuditEntry> entries;
  for (auto& deed : deeds) {
    entries.push_back({.tenant_id = asked->tenant().id,
                       .action = std::string(action),
                       .subject = std::move(deed.subject),
                       .actor = asked->actor(),
                       .detail = std::move(deed.detail),
                       .at = asked->now()});
  }
  asked->store().append_audit(std::move(entries), [asked, then = std::move(then)](const Result<Unit>& kept) mutable {
    kept ? then() : asked->fail(kept.error());
  });
}

inline void record_guest(const Asked& asked, std::string_view action, std::string subject, std::string detail,
                         Callback<void()> then) {
  record_guest(asked, action, std::vector<GuestDeed>{{std::move(subject), std::move(detail)}}, std::move(then));
}

// The same of what a sandbox may do thousands of times: only the first time, as far as this server remembers.
inline void record_guest_once(const Asked& asked, std::string_view action, std::string subject, std::string detail,
                              Callback<void()> then) {
  if (!asked->is_guest()) return then();
  auto& recorded = asked->surface().recorded_deeds;
  const auto deed = asked->actor() + ' ' + std::string(action) + ' ' + subject;
  if (recorded.has(deed)) return then();
  record_guest(asked, action, std::move(subject), std::move(detail),
               [&recorded, deed, then = std::move(then)]() mutable {
                 recorded.add(deed);
                 then();
               });
}

}  // namespace sluice::api
