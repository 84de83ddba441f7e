#include "api/assistant/bag_reading.h"
#include "api/assistant/chat_reading.h"
#include "api/assistant/handlers.h"
#include "api/assistant/turn_stream.h"
#include "api/pages.h"

namespace sluice::api::assistant {
namespace {

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
using ConversationPage = store::Page<model::Conversation>;
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

// `then` gets the chat's run that is not over, unless that cannot be told.
template <typename Then>
void with_running(const Asked& asked, model::ConversationId chat, Then then) {
  asked->engine().run_of(asked->tenant().id, chat,
                         [asked, then = std::move(then)](const Result<std::optional<model::RunId>>& running) mutable {
                           running ? then(running.value()) : asked->fail(running.error());
                         });
}

// One chat after the other, then all at once.
void tell_chats(const Asked& asked, store::PageQuery<model::ConversationId> query,
                std::shared_ptr<ConversationPage> page, store::Page<ShownChat> chats) {
  const auto next = chats.rows.size();
  if (next == page->rows.size()) return asked->answer_json(200, page_json(chats, query));
  with_running(asked, page->rows[next].id,
               [asked, query, page, chats = std::move(chats), next](std::optional<model::RunId> running) mutable {
                 chats.rows.push_back(shown(page->rows[next], running));
                 tell_chats(asked, query, page, std::move(chats));
               });
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

void tell_chat(const Asked& asked, const model::Conversation& chat, const ChatNow& now,
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
  asked->answer_json(200, std::move(out));
}

void end_turn(const Asked& asked, model::ConversationId chat, Callback<void()> then) {
  with_running(asked, chat, [asked, then = std::move(then)](std::optional<model::RunId> running) mutable {
    if (!running) return then();
    asked->engine().cancel(asked->tenant().id, *running, [then = std::move(then)](const auto&) mutable { then(); });
  });
}

void archive(const Asked& asked, model::ConversationId chat) {
  asked->store().update_conversation(asked->tenant().id, chat, {.status = model::ConversationStatus::archived},
                                     asked->now(), [asked](const Result<model::Conversation>& archived) {
                                       if (!archived) return asked->fail(archived.error());
                                       asked->engine().conversation_changed(archived.value());
                                       // One that was begun meanwhile; from now on none is.
                                       end_turn(asked, archived.value().id, [asked] { asked->no_content(); });
                                     });
}

}  // namespace

void list_chats(const Asked& asked) {
  const auto query = read_page_query<model::ConversationId>(asked);
  if (!query) return;
  asked->store().conversations(asked->tenant().id, {.kind = model::ConversationKind::chat, .active_only = true}, *query,
                               [asked, query = *query](const Result<store::Page<model::Conversation>>& page) {
                                 if (!page) return answer_page(asked, query, page);
                                 tell_chats(asked, query, std::make_shared<ConversationPage>(page.value()),
                                            {.has_more = page.value().has_more});
                               });
}

void get_chat(const Asked& asked) {
  Findings findings;
  const Query query(asked, get_parameters, findings);
  std::optional<model::MessageId> before;
  if (const auto named = query.find("before")) {
    before = model::MessageId::parse(*named);
    if (!before) query.refuse("before", "is not the id of a message of this chat");
  }
  if (refused(asked, findings)) return;
  with_chat_of_path(asked, [asked, before](const model::Conversation& chat) {
    read_chat(asked, chat.id, before, [asked, chat](const ChatNow& now) {
      read_bag(asked, chat.id, {},
               [asked, chat, now](const std::vector<model::BagFile>& files) { tell_chat(asked, chat, now, files); });
    });
  });
}

void rename_chat(const Asked& asked) {
  with_chat_of_path(asked, [asked](const model::Conversation& chat) {
    const auto body = read_body(asked);
    if (!body) return;
    Findings findings;
    const Fields fields(body->root(), "", rename_names, findings);
    fields.require("title");
    const auto title = fields.text("title", name_rule, Null::refused);
    if (refused(asked, findings)) return;
    asked->store().update_conversation(asked->tenant().id, chat.id, {.title = title}, asked->now(),
                                       [asked](const Result<model::Conversation>& renamed) {
                                         if (!renamed) return asked->fail(renamed.error());
                                         with_running(asked, renamed.value().id,
                                                      [asked, chat = renamed.value()](const auto& running) {
                                                        asked->answer_json(200, shown(chat, running).json);
                                                      });
                                       });
  });
}

// Its turn first, so that nothing writes into a chat that is gone.
void delete_chat(const Asked& asked) {
  with_chat_of_path(asked, [asked](const model::Conversation& chat) {
    end_turn(asked, chat.id, [asked, id = chat.id] { archive(asked, id); });
  });
}

void stop_chat(const Asked& asked) {
  with_chat_of_path(asked, [asked](const model::Conversation& chat) {
    with_running(asked, chat.id, [asked](std::optional<model::RunId> running) {
      if (!running) return asked->problem(model::Slug::run_finished, "No turn of this chat is under way.");
      asked->set_run(*running);
      asked->engine().cancel(asked->tenant().id, *running,
                             [asked](const std::variant<model::Run, model::Problem>& outcome) {
                               if (const auto* problem = std::get_if<model::Problem>(&outcome)) {
                                 return asked->problem(*problem);
                               }
                               const auto& run = std::get<model::Run>(outcome);
                               std::string body;
                               json::Writer writer(body);
                               writer.begin_object().key("streamId").string(run.id.text());
                               writer.key("status").string(model::name_of(run.state)).end_object();
                               asked->answer_json(200, std::move(body));
                             });
    });
  });
}

}  // namespace sluice::api::assistant
