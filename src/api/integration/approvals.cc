#include "api/integration/handlers.h"
#include "api/rows.h"

namespace sluice::api::integration {
namespace {

constexpr std::string_view list_parameters[] = {"conversation_id", "user_id",        "status",
                                                "limit",           "starting_after", "ending_before"};

store::ApprovalFilter read_filter(const Query& query) {
  store::ApprovalFilter out;
  if (const auto given = query.find("conversation_id")) {
    out.conversation = model::ConversationId::parse(*given);
    if (!out.conversation) query.refuse("conversation_id", "is not the id of a conversation");
  }
  if (const auto given = query.find("user_id")) out.user_id = std::string(*given);
  if (const auto given = query.find("status")) {
    out.status = model::approval_status_named(*given);
    if (!out.status) query.refuse("status", "must be one of pending, approved, denied, expired");
  }
  return out;
}

}  // namespace

void list_approvals(const Asked& asked) {
  Findings findings;
  const Query query(asked, list_parameters, findings);
  const auto page_query = read_page_query<model::ApprovalId>(query, findings);
  auto filter = read_filter(query);
  if (refused(asked, findings)) return;
  const auto conversation = filter.conversation;
  asked->store().approvals(asked->tenant().id, std::move(filter), page_query,
                           [asked, page_query, conversation](const Result<store::Page<model::Approval>>& page) {
                             if (!conversation) return answer_page(asked, page_query, page);
                             answer_page_of(asked, page_query, page, [&](auto then) {
                               asked->store().conversation(asked->tenant().id, *conversation, std::move(then));
                             });
                           });
}

void get_approval(const Asked& asked) { get_row<model::Approval>(asked, &store::Store::approval); }

}  // namespace sluice::api::integration
