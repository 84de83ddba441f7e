#include "api/answers/pages.h"
#include "api/handlers.h"
#include "api/inputs/decisions.h"
#include "api/request/waiting.h"

namespace sluice::api::integration {
namespace {

constexpr std::string_view decision_names[] = {"signature", "secrets", "note"};
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

// Empty: the decision is invalid, and the request has been answered.
std::optional<DecisionInput> read_decision(const RequestPtr& request, bool approve) {
  // A signature with an impossible time is an invalid signature, not a body that cannot be parsed.
  const auto body = read_body(request, Numbers::saturated);
  if (!body) return std::nullopt;
  Findings findings;
  const Fields fields(body->root(), "", decision_names, findings);
  if (!fields.given("signature")) fields.require("signature");
  DecisionInput out{.approve = approve, .signature = read_signature(fields), .note = read_note(fields)};
  if (approve) {
    out.secrets = read_secrets(fields);
  } else if (fields.given("secrets") && !fields.null("secrets")) {
    fields.refuse("secrets", "come with an approval; a denial needs none");
  }
  if (refused(request, findings)) return std::nullopt;
  return out;
}

Task<> take_decision(RequestPtr request, bool approve) {
  const auto id = request->path_id<model::ApprovalId>();
  if (!id) co_return request->not_found();
  auto input = read_decision(request, approve);
  if (!input) co_return;
  auto approval = co_await found<model::Approval>(request, &store::approval, request->tenant().id, *id);
  const auto outcome = co_await decide_on(request, std::move(approval), std::move(*input));
  if (const auto* problem = std::get_if<model::Problem>(&outcome)) co_return request->problem(*problem);
  request->answer_json(200, model::to_json(std::get<model::Approval>(outcome)));
}

}  // namespace

void list_approvals(const RequestPtr& request) {
  Findings findings;
  const Query query(request, list_parameters, findings);
  const auto page_query = read_page_query<model::ApprovalId>(query, findings);
  auto filter = read_filter(query);
  if (refused(request, findings)) return;
  const auto conversation = filter.conversation;
  store::approvals(request->database(), request->tenant().id, std::move(filter), page_query,
                   [request, page_query, conversation](const Result<store::Page<model::Approval>>& page) {
                     if (!conversation) return answer_page(request, page_query, page);
                     answer_page_of(request, page_query, page, [&](auto then) {
                       store::conversation(request->database(), request->tenant().id, *conversation, std::move(then));
                     });
                   });
}

void get_approval(const RequestPtr& request) { get_row<model::Approval>(request, &store::approval); }

void approve_approval(const RequestPtr& request) { start_unowned(take_decision(request, true)); }
void deny_approval(const RequestPtr& request) { start_unowned(take_decision(request, false)); }

}  // namespace sluice::api::integration
