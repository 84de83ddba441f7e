#include "api/assistant/chats.h"

#include "api/answers/event_request.h"
#include "api/answers/streaming.h"
#include "api/assistant/assistant.h"
#include "api/request/reading.h"

namespace sluice::api::assistant {
namespace {

constexpr std::string_view follow_parameters[] = {"streamId", "after"};

// A client that reconnects, perhaps with the number of its last frame.
void follow(const RequestPtr& request, const TurnOpening& opening) {
  if (opening.after < 0) return open_turn_stream(request, opening);
  const StreamPosition position{wire::Format::assistant, opening.after};
  find_event(request, opening.run, position, [request, opening](Follows follows) {
    // An EventSource reconnects for ever, unless it gets 204.
    if (follows == Follows::nothing) return request->no_content();
    open_turn_stream(request, opening);
  });
}

}  // namespace

void open_turn_stream(const RequestPtr& request, const TurnOpening& opening) {
  auto& turns = request->services().turns;
  turns.join(opening.run, opening.keeps_on);
  StreamOpening stream{
      .run = opening.run, .format = wire::Format::assistant, .after = opening.after, .leaves_at_half_close = true};
  stream.headers.add("X-Chat-Id", opening.run.conversation_id.text());
  stream.headers.add("X-Stream-Id", opening.run.id.text());
  stream.ended = [&turns, run = opening.run.id](StreamEnd how) {
    turns.leave(run, how == StreamEnd::complete ? Turns::Why::over : Turns::Why::left);
  };
  open_stream(request, std::move(stream));
}

void with_chat(const RequestPtr& request, model::ConversationId id, Callback<void(const model::Conversation&)> then) {
  store::conversation(request->database(), request->tenant().id, id,
                      [request, then = std::move(then)](const Result<model::Conversation>& chat) mutable {
                        if (!chat) return request->fail(chat.error());
                        const bool is_chat = chat.value().kind == model::ConversationKind::chat;
                        const bool is_deleted = chat.value().status == model::ConversationStatus::archived;
                        if (!is_chat || is_deleted) return request->not_found();
                        then(chat.value());
                      });
}

void with_chat_of_path(const RequestPtr& request, Callback<void(const model::Conversation&)> then) {
  const auto id = request->path_id<model::ConversationId>();
  if (!id) return request->not_found();
  with_chat(request, *id, std::move(then));
}

void follow_turn(const RequestPtr& request) {
  Findings findings;
  const Query query(request, follow_parameters, findings);
  const auto named = query.find("streamId");
  const auto run = named ? model::RunId::parse(*named) : std::nullopt;
  if (!named) query.refuse("streamId", "is required: which turn");
  const auto after = read_after(request, query, findings);
  if (refused(request, findings)) return;
  if (!run) return request->not_found();
  request->store().read(*run, {}, 1, [request, after](const Result<journal::JournalPage>& page) {
    if (!page) return request->fail(page.error());
    if (page.value().run.tenant_id != request->tenant().id) return request->not_found();
    const auto turn = chat_turn_of(page.value().events);
    const TurnOpening opening{page.value().run, turn && turn->keep_on_disconnect, after};
    with_chat(request, opening.run.conversation_id,
              [request, opening](const model::Conversation&) { follow(request, opening); });
  });
}

}  // namespace sluice::api::assistant
