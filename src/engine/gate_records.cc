#include "engine/gate_records.h"

#include <algorithm>

#include "engine/problems.h"

namespace sluice::engine {
namespace {

std::string detail_of(const model::Approval& approval) {
  std::string detail;
  json::Writer writer(detail);
  writer.begin_object().key("run_id").string(approval.run_id.text());
  if (approval.resolved_by) writer.key("resolved_by").string(*approval.resolved_by);
  writer.end_object();
  return detail;
}

// A gate that closed because its run ended is not one whose time was over, and the audit chain keeps them apart.
std::string action_of(const model::Approval& approval) {
  if (approval.status == model::ApprovalStatus::pending) return "approval.required";
  if (approval.resolved_by == "cancel") return "approval.cancelled";
  if (approval.resolved_by == "failure") return "approval.failed";
  return "approval." + std::string(model::name_of(approval.status));
}

std::string notice_body(const model::Notice& notice, const model::Approval& approval) {
  std::string body;
  json::Writer writer(body);
  writer.begin_object().key("object").string("notice").key("id").string(notice.id.text());
  writer.key("type").string(notice.kind).key("created_at").string(to_rfc3339(notice.created_at));
  writer.key("data").raw(model::to_json(approval)).end_object();
  return body;
}

}  // namespace

bool is_of_client(const model::Approval& approval) {
  const auto of_client = [](const model::RequestedItem& item) { return item.kind == model::ItemKind::client_tool; };
  return !approval.requested_items.empty() && std::ranges::all_of(approval.requested_items, of_client);
}

std::optional<model::Problem> refusal_of_results(const model::Approval& approval,
                                                 const std::vector<model::ClientResult>& results) {
  auto problem = problem_of(model::Slug::validation_error, "Every call that waits needs its result.");
  for (const auto& item : approval.requested_items) {
    if (item.kind != model::ItemKind::client_tool || !item.call) continue;
    if (std::ranges::find(results, item.call->id, &model::ClientResult::call_id) != results.end()) continue;
    problem.errors.push_back(
        {"/results", "There is none for the call " + item.call->id + " of " + item.call->name + "."});
  }
  if (problem.errors.empty()) return std::nullopt;
  return problem;
}

model::Approval approval_of(dispatch::Gate gate, const model::Run& run, model::ApprovalId id, Timestamp now,
                            int64_t lifetime_seconds) {
  model::Approval approval{.id = id, .tenant_id = run.tenant_id, .conversation_id = run.conversation_id};
  approval.message_id = run.message_id;
  approval.run_id = run.id;
  approval.reason = std::move(gate.reason);
  approval.requested_items = std::move(gate.items);
  approval.expires_at = {now.ms + lifetime_seconds * 1'000};
  approval.created_at = approval.updated_at = now;
  return approval;
}

GateRecords records_of(const model::Approval& approval, GateDeed deed, model::NoticeId notice) {
  const bool raised = approval.status == model::ApprovalStatus::pending;
  GateRecords records;
  records.approval = approval;
  if (is_of_client(approval)) return records;
  model::AuditEntry entry{.tenant_id = approval.tenant_id};
  entry.action = action_of(approval);
  entry.subject = approval.id.text();
  entry.actor = std::move(deed.actor);
  entry.detail = deed.detail.empty() ? detail_of(approval) : std::move(deed.detail);
  entry.at = deed.at;
  records.audit.push_back(std::move(entry));
  model::Notice news{.id = notice, .tenant_id = approval.tenant_id};
  news.kind = raised ? "approval.required" : "approval.resolved";
  news.created_at = deed.at;
  news.body = notice_body(news, approval);
  records.notices.push_back(std::move(news));
  return records;
}

bool is_repeated(const model::Approval& decided, const Decision& decision) {
  const auto verdict = decision.approve ? model::ApprovalStatus::approved : model::ApprovalStatus::denied;
  const bool is_by_key = decision.resolved_by.starts_with("approver_key:");
  const bool brings_more = decision.answers.agui_run_id.has_value() || !decision.answers.results.empty();
  const bool says_more = decision.note && decision.note != decided.note;
  return is_by_key && !brings_more && !says_more && decided.status == verdict &&
         decided.resolved_by == decision.resolved_by;
}

model::Problem not_open(const model::Approval& approval) {
  const auto by = approval.resolved_by.value_or("");
  return problem_of(model::Slug::approval_expired, by == "cancel" ? "The run was cancelled, and the approval with it."
                                                   : by == "failure" ? "The run failed, and the approval with it."
                                                   : by == "expiry"  ? std::string(expired_detail)
                                                                     : "The approval was decided already.");
}

}  // namespace sluice::engine
