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

// The entry that stands for changes `number` and following.
inline GuestDeed sum_from(const Asked& asked, int64_t number, std::string_view action) {
  GuestDeed sum{.subject = asked->actor(), .detail = {}};
  json::Writer writer(sum.detail);
  writer.begin_object().key("from").integer(number).key("to").integer(number + DeedCounts::sum_of - 1);
  writer.key("first").string(action).end_object();
  return sum;
}

// Before the change, so that there is none without its entry; one that fails then has an entry, too. What a service key
// changes is not recorded. A sandbox that changes very much has one entry for many changes.
inline void record_guest(const Asked& asked, std::string_view action, std::vector<GuestDeed> deeds,
                         Callback<void()> then) {
  if (!asked->is_guest()) return then();
  std::vector<model::AuditEntry> entries;
  for (auto& deed : deeds) {
    auto entry_action = action;
    const auto number = asked->surface().deed_counts.next(asked->actor());
    if (!DeedCounts::has_own_entry(number)) {
      if (!DeedCounts::begins_sum(number)) continue;
      deed = sum_from(asked, number, action);
      entry_action = "workspace.changed_often";
    }
    entries.push_back({.tenant_id = asked->tenant().id,
                       .action = std::string(entry_action),
                       .subject = std::move(deed.subject),
                       .actor = asked->actor(),
                       .detail = std::move(deed.detail),
                       .at = asked->now()});
  }
  if (entries.empty()) return then();
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
