#include "api/integration/handlers.h"
#include "api/pages.h"
#include "api/run_cancel.h"

namespace sluice::api::integration {
namespace {

constexpr std::string_view list_parameters[] = {"conversation_id", "limit", "starting_after", "ending_before"};

}  // namespace

void list_runs(const Asked& asked) {
  Findings findings;
  const Query query(asked, list_parameters, findings);
  const auto page_query = read_page_query<model::RunId>(query, findings);
  std::optional<model::ConversationId> conversation;
  if (const auto given = query.find("conversation_id")) {
    conversation = model::ConversationId::parse(*given);
    if (!conversation) query.refuse("conversation_id", "is not the id of a conversation");
  }
  if (refused(asked, findings)) return;
  asked->store().runs(asked->tenant().id, conversation, page_query,
                      [asked, page_query, conversation](const Result<store::Page<model::Run>>& page) {
                        if (!conversation) return answer_page(asked, page_query, page);
                        answer_page_of(asked, page_query, page, [&](auto then) {
                          asked->store().conversation(asked->tenant().id, *conversation, std::move(then));
                        });
                      });
}

void get_run(const Asked& asked) {
  const auto id = asked->path_id<model::RunId>();
  if (!id) return asked->not_found();
  asked->store().run(asked->tenant().id, *id, [asked](const Result<model::Run>& run) {
    if (!run) return asked->fail(run.error());
    asked->set_run(run.value().id);
    asked->answer_json(200, model::to_json(run.value()));
  });
}

void cancel_run(const Asked& asked) {
  const auto id = asked->path_id<model::RunId>();
  if (!id) return asked->not_found();
  cancel_run_of(asked, asked->tenant().id, *id);
}

}  // namespace sluice::api::integration
