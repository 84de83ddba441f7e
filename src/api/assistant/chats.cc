#include "api/assistant/chats.h"
#include "api/handlers.h"

#include <algorithm>
#include <vector>

#include "api/answers/pages.h"
#include "api/answers/streaming.h"
#include "wire/wire.h"

namespace sluice::api::assistant {

Task<model::Conversation> chat_named(const RequestPtr& request, std::optional<model::ConversationId> id) {
  if (id) {
    auto chat = co_await found<model::Conversation>(request, &store::conversation, request->tenant().id, *id);
    const bool is_deleted = chat.status == model::ConversationStatus::archived;
    if (chat.kind == model::ConversationKind::chat && !is_deleted) co_return chat;
  }
  request->not_found();
  co_await answered();
  co_return model::Conversation{};
}

Task<model::Conversation> chat_of_path(const RequestPtr& request) {
  return chat_named(request, request->path_id<model::ConversationId>());
}

namespace {

// A chat's messages, computed from the journals of its turns: what a reload shows.
struct ChatNow {
  struct Running {
    model::Run run;
    int64_t last_frame = -1;
  };
  std::string messages;   // oldest first: JSON objects with commas between them
  bool has_more = false;  // older messages
  std::optional<Running> running;
};

constexpr int turns_max = 50;

Task<model::RunId> refuse_before(const RequestPtr& request) {
  request->invalid("before", "is not the id of a message of this chat");
  co_await answered();
  co_return model::RunId{};
}

// The turn of an answer, or of a question: then the answer is the message after it.
Task<model::RunId> turn_of(const RequestPtr& request, model::ConversationId chat, model::MessageId message) {
  const auto tenant = request->tenant().id;
  auto run = co_await found_if_any<model::Run>(request, &store::run_of_message, tenant, message);
  if (!run) {
    const auto page = co_await found_if_any<store::Page<store::StoredMessage>>(
        request, &store::messages, tenant, chat, store::Order::ascending,
        store::PageQuery<model::MessageId>{.limit = 1, .starting_after = message});
    if (!page || page->rows.empty()) co_return co_await refuse_before(request);
    auto of_answer = co_await asked<model::Run>(request, &store::run_of_message, tenant, page->rows.front().id);
    if (of_answer) run = std::move(of_answer).take();
  }
  if (!run || run->conversation_id != chat) co_return co_await refuse_before(request);
  co_return run->id;
}

void add_turn(ChatNow& now, const wire::ChatHistory& history, const model::Run& run, std::string_view question) {
  const auto next = [&]() -> std::string& {
    if (!now.messages.empty()) now.messages += ',';
    return now.messages;
  };
  json::Writer question_writer(next());
  history.append_question(question_writer, question);
  if (!history.ended()) {
    now.running = ChatNow::Running{run, history.last_frame()};
    return;
  }
  json::Writer answer_writer(next());
  history.append_answer(answer_writer);
}

// The last turns, or those before the turn with the message `before`.
Task<ChatNow> read_chat(const RequestPtr& request, model::ConversationId chat, std::optional<model::MessageId> before) {
  const auto tenant = request->tenant().id;
  store::PageQuery<model::RunId> query{.limit = turns_max};
  if (before) query.starting_after = co_await turn_of(request, chat, *before);
  const auto page = co_await found<store::Page<model::Run>>(request, &store::runs, tenant,
                                                            store::RunFilter{.conversation = chat}, query);
  ChatNow now{.has_more = page.has_more};
  for (auto turn = page.rows.rbegin(); turn != page.rows.rend(); ++turn) {
    wire::ChatHistory history(*turn);
    const auto run = co_await walk_journal(request, turn->id, {}, [&](const journal::Committed& news) {
      history.apply(news);
      return true;
    });
    const auto stored = co_await found<store::StoredMessage>(request, &store::message, tenant, turn->user_message_id);
    const auto message = model::message_from_json(stored.json);
    if (!message) {
      request->fail(message.error());
      co_await answered();
    }
    add_turn(now, history, run, message.value().content);
  }
  co_return now;
}

constexpr std::string_view get_parameters[] = {"before"};
constexpr std::string_view rename_names[] = {"title"};

void append_members(json::Writer& writer, const model::Conversation& chat) {
  writer.key("id").string(chat.id.text()).key("object").string("chat");
  writer.key("title").string(chat.title.value_or("")).key("agentId").string(chat.agent_id.text());
  writer.key("createdAt").integer(chat.created_at.ms).key("updatedAt").integer(chat.last_message_at.ms);
}

// A chat as a row of a list.
struct ShownChat {
  model::ConversationId id;
  Timestamp last_message_at;
  std::string json;
};
void append_row(std::string& out, const ShownChat& chat) { out += chat.json; }
std::string cursor_of(const ShownChat& chat) { return api::cursor_of(chat.id, chat.last_message_at); }

ShownChat shown(const model::Conversation& chat, std::optional<model::RunId> running) {
  ShownChat out{chat.id, chat.last_message_at, {}};
  json::Writer writer(out.json);
  writer.begin_object();
  append_members(writer, chat);
  writer.key("running").string_or_null(running ? std::optional(running->text()) : std::nullopt).end_object();
  return out;
}

// The run of the chat that is not over, if there is one.
Task<std::optional<model::RunId>> running_in(const RequestPtr& request, model::ConversationId chat) {
  co_return co_await found<std::optional<model::RunId>>(request, [&request, chat](store::Database&, auto done) {
    request->engine().run_of(request->tenant().id, chat, std::move(done));
  });
}

using CancelOutcome = std::variant<model::Run, model::Problem>;

Task<CancelOutcome> cancelled(const RequestPtr& request, model::RunId run) {
  co_return co_await answer<CancelOutcome>(
      [&request, run](auto done) { request->engine().cancel(request->tenant().id, run, std::move(done)); });
}

void append_running(json::Writer& writer, const std::optional<ChatNow::Running>& running) {
  writer.key("running");
  if (!running) {
    writer.null();
    return;
  }
  writer.begin_object().key("streamId").string(running->run.id.text());
  writer.key("messageId").string(running->run.message_id.text());
  writer.key("lastEventId").integer(running->last_frame).end_object();
}

void answer_chat(const RequestPtr& request, const model::Conversation& chat, const ChatNow& now,
                 const std::vector<model::BagFile>& files) {
  std::string out;
  json::Writer writer(out);
  writer.begin_object();
  append_members(writer, chat);
  writer.key("messages").raw("[" + now.messages + "]").key("hasMore").boolean(now.has_more);
  writer.key("files").begin_array();
  for (const auto& file : files) model::append_chat_file(writer, file);
  writer.end_array();
  append_running(writer, now.running);
  writer.end_object();
  request->answer_json(200, std::move(out));
}

Task<> end_turn(const RequestPtr& request, model::ConversationId chat) {
  if (const auto running = co_await running_in(request, chat)) co_await cancelled(request, *running);
}

Task<> answer_chats(RequestPtr request, store::PageQuery<model::ConversationId> query) {
  const auto page = co_await asked<store::Page<model::Conversation>>(
      request, &store::conversations, request->tenant().id,
      store::ConversationFilter{.kind = model::ConversationKind::chat, .active_only = true}, query);
  if (!page) co_return answer_page(request, query, page);
  store::Page<ShownChat> chats{.has_more = page.value().has_more};
  for (const auto& chat : page.value().rows) {
    const auto running = co_await running_in(request, chat.id);
    chats.rows.push_back(shown(chat, running));
  }
  request->answer_json(200, page_json(chats, query));
}

Task<> answer_one(RequestPtr request, std::optional<model::MessageId> before) {
  const auto chat = co_await chat_of_path(request);
  const auto now = co_await read_chat(request, chat.id, before);
  answer_chat(request, chat, now, co_await read_files(request, chat.id));
}

Task<> rename(RequestPtr request) {
  const auto chat = co_await chat_of_path(request);
  const auto body = read_body(request);
  if (!body) co_return;
  Findings findings;
  const Fields fields(body->root(), "", rename_names, findings);
  fields.require("title");
  store::ConversationPatch patch{.title = fields.text("title", name_rule, Null::refused)};
  if (refused(request, findings)) co_return;
  const auto renamed = co_await found<model::Conversation>(request, &store::update_conversation, request->tenant().id,
                                                           chat.id, std::move(patch), request->now());
  const auto running = co_await running_in(request, renamed.id);
  request->answer_json(200, shown(renamed, running).json);
}

Task<> archive(RequestPtr request) {
  const auto chat = co_await chat_of_path(request);
  // Its turn first, so that nothing writes into a chat that is gone.
  co_await end_turn(request, chat.id);
  const auto archived = co_await found<model::Conversation>(
      request, &store::update_conversation, request->tenant().id, chat.id,
      store::ConversationPatch{.status = model::ConversationStatus::archived}, request->now());
  request->engine().conversation_changed(archived);
  // A turn may have begun meanwhile; from now on none does.
  co_await end_turn(request, archived.id);
  request->no_content();
}

Task<> stop(RequestPtr request) {
  const auto chat = co_await chat_of_path(request);
  const auto running = co_await running_in(request, chat.id);
  if (!running) co_return request->problem(model::Slug::run_finished, "No turn of this chat is under way.");
  request->set_run(*running);
  const auto outcome = co_await cancelled(request, *running);
  if (const auto* problem = std::get_if<model::Problem>(&outcome)) co_return request->problem(*problem);
  const auto& run = std::get<model::Run>(outcome);
  std::string body;
  json::Writer writer(body);
  writer.begin_object().key("streamId").string(run.id.text());
  writer.key("status").string(model::name_of(run.state)).end_object();
  request->answer_json(200, std::move(body));
}

}  // namespace

void list_chats(const RequestPtr& request) {
  if (const auto query = read_page_query<model::ConversationId>(request)) start_unowned(answer_chats(request, *query));
}

void get_chat(const RequestPtr& request) {
  Findings findings;
  const Query query(request, get_parameters, findings);
  std::optional<model::MessageId> before;
  if (const auto named = query.find("before")) {
    before = model::MessageId::parse(*named);
    if (!before) query.refuse("before", "is not the id of a message of this chat");
  }
  if (refused(request, findings)) return;
  start_unowned(answer_one(request, before));
}

void rename_chat(const RequestPtr& request) { start_unowned(rename(request)); }
void delete_chat(const RequestPtr& request) { start_unowned(archive(request)); }
void stop_chat(const RequestPtr& request) { start_unowned(stop(request)); }

}  // namespace sluice::api::assistant
