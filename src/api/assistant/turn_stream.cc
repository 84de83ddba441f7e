#include "api/assistant/turn_stream.h"

#include "api/assistant/handlers.h"
#include "api/integration/event_request.h"
#include "api/integration/streaming.h"

namespace sluice::api::assistant {
namespace {

constexpr std::string_view follow_parameters[] = {"streamId", "after"};

// Somebody who comes back, perhaps with a number.
void follow(const Asked& asked, const TurnOpening& opening) {
  if (opening.after < 0) return open_turn_stream(asked, opening);
  const integration::Wanted wanted{wire::Format::assistant, opening.after};
  integration::find_event(asked, opening.run, wanted, [asked, opening](integration::Follows follows) {
    // An EventSource comes back for ever, unless it is told that there is no content.
    if (follows == integration::Follows::nothing) return asked->no_content();
    open_turn_stream(asked, opening);
  });
}

}  // namespace

void open_turn_stream(const Asked& asked, const TurnOpening& opening) {
  auto& turns = asked->surface().turns;
  turns.join(opening.run, opening.keeps_on);
  integration::StreamOpening stream{
      .run = opening.run, .format = wire::Format::assistant, .after = opening.after, .leaves_at_half_close = true};
  stream.headers.add("X-Chat-Id", opening.run.conversation_id.text());
  stream.headers.add("X-Stream-Id", opening.run.id.text());
  stream.ended = [&turns, run = opening.run.id](integration::StreamEnd how) {
    turns.leave(run, how == integration::StreamEnd::complete ? Turns::Why::over : Turns::Why::left);
  };
  integration::open_stream(asked, std::move(stream));
}

void with_chat(const Asked& asked, model::ConversationId id, Callback<void(const model::Conversation&)> then) {
  asked->store().conversation(asked->tenant().id, id,
                              [asked, then = std::move(then)](const Result<model::Conversation>& chat) mutable {
                                if (!chat) return asked->fail(chat.error());
                                const bool is_chat = chat.value().kind == model::ConversationKind::chat;
                                const bool is_deleted = chat.value().status == model::ConversationStatus::archived;
                                if (!is_chat || is_deleted) return asked->not_found();
                                then(chat.value());
                              });
}

void with_chat_of_path(const Asked& asked, Callback<void(const model::Conversation&)> then) {
  const auto id = asked->path_id<model::ConversationId>();
  if (!id) return asked->not_found();
  with_chat(asked, *id, std::move(then));
}

void follow_turn(const Asked& asked) {
  Findings findings;
  const Query query(asked, follow_parameters, findings);
  const auto named = query.find("streamId");
  const auto run = named ? model::RunId::parse(*named) : std::nullopt;
  if (!named) query.refuse("streamId", "is required: which turn");
  const auto after = integration::read_after(asked, query, findings);
  if (refused(asked, findings)) return;
  if (!run) return asked->not_found();
  asked->store().journal(*run, {}, 1, [asked, after](const Result<store::JournalPage>& page) {
    if (!page) return asked->fail(page.error());
    if (page.value().run.tenant_id != asked->tenant().id) return asked->not_found();
    const auto turn = chat_turn_of(page.value().events);
    const TurnOpening opening{page.value().run, turn && turn->keep_on_disconnect, after};
    with_chat(asked, opening.run.conversation_id,
              [asked, opening](const model::Conversation&) { follow(asked, opening); });
  });
}

}  // namespace sluice::api::assistant
