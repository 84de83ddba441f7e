#include "api/request/audit.h"

#include <utility>

#include "api/request/services.h"

namespace sluice::api {
namespace {

void append(const RequestPtr& request, std::vector<model::AuditEntry> entries, Callback<void()> then) {
  store::append_audit(request->database(), std::move(entries),
                      [request, then = std::move(then)](const Result<Unit>& kept) mutable {
                        kept ? then() : request->fail(kept.error());
                      });
}

// The entry that stands for changes `number` and following.
SandboxChange sum_from(const RequestPtr& request, int64_t number, std::string_view action) {
  SandboxChange sum{.subject = request->caller().actor(), .detail = {}};
  json::Writer writer(sum.detail);
  writer.begin_object().key("from").integer(number).key("to").integer(number + ChangeCounts::sum_of - 1);
  writer.key("first").string(action).end_object();
  return sum;
}

}  // namespace

void record(const RequestPtr& request, model::AuditEntry entry, Callback<void()> then) {
  entry.at = request->now();
  append(request, {std::move(entry)}, std::move(then));
}

void record_of_operator(const RequestPtr& request, model::AuditEntry entry, Callback<void()> then) {
  entry.actor = "admin";
  record(request, std::move(entry), std::move(then));
}

void record_sandbox(const RequestPtr& request, std::string_view action, std::vector<SandboxChange> changes,
                    Callback<void()> then) {
  if (!request->caller().is_sandbox()) return then();
  std::vector<model::AuditEntry> entries;
  for (auto& change : changes) {
    auto entry_action = action;
    const auto number = request->services().change_counts.next(request->caller().actor());
    if (!ChangeCounts::has_own_entry(number)) {
      if (!ChangeCounts::begins_sum(number)) continue;
      change = sum_from(request, number, action);
      entry_action = "workspace.changed_often";
    }
    entries.push_back({.tenant_id = request->tenant().id,
                       .action = std::string(entry_action),
                       .subject = std::move(change.subject),
                       .actor = request->caller().actor(),
                       .detail = std::move(change.detail),
                       .at = request->now()});
  }
  if (entries.empty()) return then();
  append(request, std::move(entries), std::move(then));
}

void record_sandbox(const RequestPtr& request, std::string_view action, std::string subject, std::string detail,
                    Callback<void()> then) {
  record_sandbox(request, action, std::vector<SandboxChange>{{std::move(subject), std::move(detail)}}, std::move(then));
}

void record_sandbox_once(const RequestPtr& request, std::string_view action, std::string subject, std::string detail,
                         Callback<void()> then) {
  if (!request->caller().is_sandbox()) return then();
  auto& recorded = request->services().recorded_changes;
  const auto change = request->caller().actor() + ' ' + std::string(action) + ' ' + subject;
  if (recorded.has(change)) return then();
  record_sandbox(request, action, std::move(subject), std::move(detail),
                 [&recorded, change, then = std::move(then)]() mutable {
                   recorded.add(change);
                   then();
                 });
}

}  // namespace sluice::api
