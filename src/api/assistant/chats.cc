#include "api/assistant/chats.h"

#include <algorithm>
#include <vector>

#include "api/answers/journal_walk.h"
#include "api/answers/pages.h"
#include "api/assistant/assistant.h"
#include "wire/wire.h"

namespace sluice::api::assistant {
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

// Kept alive by the answer it waits for.
class ChatReading final : public std::enable_shared_from_this<ChatReading> {
 public:
  ChatReading(const RequestPtr& request, model::ConversationId chat, Callback<void(const ChatNow&)> then)
      : request_(request), chat_(chat), then_(std::move(then)) {}

  void begin(std::optional<model::MessageId> before) { before ? find_turn(*before) : read_turns(std::nullopt); }

 private:
  // The turn of an answer, or of a question: then the answer is the message after it.
  void find_turn(model::MessageId message) {
    store::run_of_message(request_->database(), request_->tenant().id, message,
                          [self = shared_from_this(), message](const Result<model::Run>& run) {
                            if (run) return self->read_before(run.value());
                            if (run.error().kind != ErrorKind::not_found) return self->request_->fail(run.error());
                            self->find_answer_to(message);
                          });
  }

  void find_answer_to(model::MessageId question) {
    store::messages(request_->database(), request_->tenant().id, chat_, store::Order::ascending,
                    {.limit = 1, .starting_after = question},
                    [self = shared_from_this()](const Result<store::Page<store::StoredMessage>>& page) {
                      if (!page && page.error().kind != ErrorKind::not_found) {
                        return self->request_->fail(page.error());
                      }
                      if (!page || page.value().rows.empty()) return self->refuse_before();
                      self->find_turn_of_answer(page.value().rows.front().id);
                    });
  }

  void find_turn_of_answer(model::MessageId answer) {
    store::run_of_message(request_->database(), request_->tenant().id, answer,
                          [self = shared_from_this()](const Result<model::Run>& run) {
                            if (run) return self->read_before(run.value());
                            self->refuse_before();
                          });
  }

  void read_before(const model::Run& run) { run.conversation_id == chat_ ? read_turns(run.id) : refuse_before(); }

  void refuse_before() { request_->invalid("before", "is not the id of a message of this chat"); }

  void read_turns(std::optional<model::RunId> before) {
    store::runs(request_->database(), request_->tenant().id, {.conversation = chat_},
                {.limit = turns_max, .starting_after = before},
                [self = shared_from_this()](const Result<store::Page<model::Run>>& page) {
                  if (!page) return self->request_->fail(page.error());
                  self->runs_ = page.value().rows;
                  std::ranges::reverse(self->runs_);
                  self->now_.has_more = page.value().has_more;
                  self->read_next();
                });
  }

  void read_next() {
    if (done_ == runs_.size()) return then_(now_);
    history_.emplace(runs_[done_]);
    walk_journal(
        request_, runs_[done_].id, {},
        [self = shared_from_this()](const journal::Committed& news) {
          self->history_->apply(news);
          return true;
        },
        [self = shared_from_this()](const model::Run& run) {
          self->runs_[self->done_] = run;
          self->find_question();
        });
  }

  void find_question() {
    store::message(request_->database(), request_->tenant().id, runs_[done_].user_message_id,
                   [self = shared_from_this()](const Result<store::StoredMessage>& stored) {
                     if (!stored) return self->request_->fail(stored.error());
                     const auto message = model::message_from_json(stored.value().json);
                     if (!message) return self->request_->fail(message.error());
                     self->add_turn(message.value().content);
                     ++self->done_;
                     self->read_next();
                   });
  }

  void add_turn(std::string_view question) {
    const auto next = [&]() -> std::string& {
      if (!now_.messages.empty()) now_.messages += ',';
      return now_.messages;
    };
    json::Writer question_writer(next());
    history_->append_question(question_writer, question);
    if (!history_->ended()) {
      now_.running = ChatNow::Running{runs_[done_], history_->last_frame()};
      return;
    }
    json::Writer answer_writer(next());
    history_->append_answer(answer_writer);
  }

  RequestPtr request_;
  const model::ConversationId chat_;
  Callback<void(const ChatNow&)> then_;
  ChatNow now_;
  std::vector<model::Run> runs_;
  std::size_t done_ = 0;
  std::optional<wire::ChatHistory> history_;
};

// Reads the last turns, or those before the turn with the message `before`. Answers the request if something fails.
void read_chat(const RequestPtr& request, model::ConversationId chat, std::optional<model::MessageId> before,
               Callback<void(const ChatNow&)> then) {
  std::make_shared<ChatReading>(request, chat, std::move(then))->begin(before);
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

// Calls `then` with the run of the chat that is not over, if there is one; answers the request if that is not known.
template <typename Then>
void with_running(const RequestPtr& request, model::ConversationId chat, Then then) {
  request->engine().run_of(
      request->tenant().id, chat,
      [request, then = std::move(then)](const Result<std::optional<model::RunId>>& running) mutable {
        running ? then(running.value()) : request->fail(running.error());
      });
}

// One chat after the other, then all at once.
void answer_chats(const RequestPtr& request, store::PageQuery<model::ConversationId> query,
                  std::shared_ptr<ConversationPage> page, store::Page<ShownChat> chats) {
  const auto next = chats.rows.size();
  if (next == page->rows.size()) return request->answer_json(200, page_json(chats, query));
  with_running(request, page->rows[next].id,
               [request, query, page, chats = std::move(chats), next](std::optional<model::RunId> running) mutable {
                 chats.rows.push_back(shown(page->rows[next], running));
                 answer_chats(request, query, page, std::move(chats));
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

void tell_chat(const RequestPtr& request, const model::Conversation& chat, const ChatNow& now,
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

void end_turn(const RequestPtr& request, model::ConversationId chat, Callback<void()> then) {
  with_running(request, chat, [request, then = std::move(then)](std::optional<model::RunId> running) mutable {
    if (!running) return then();
    request->engine().cancel(request->tenant().id, *running, [then = std::move(then)](const auto&) mutable { then(); });
  });
}

void archive(const RequestPtr& request, model::ConversationId chat) {
  store::update_conversation(request->database(), request->tenant().id, chat,
                             {.status = model::ConversationStatus::archived}, request->now(),
                             [request](const Result<model::Conversation>& archived) {
                               if (!archived) return request->fail(archived.error());
                               request->engine().conversation_changed(archived.value());
                               // One that was begun meanwhile; from now on none is.
                               end_turn(request, archived.value().id, [request] { request->no_content(); });
                             });
}

}  // namespace

void list_chats(const RequestPtr& request) {
  const auto query = read_page_query<model::ConversationId>(request);
  if (!query) return;
  store::conversations(request->database(), request->tenant().id,
                       {.kind = model::ConversationKind::chat, .active_only = true}, *query,
                       [request, query = *query](const Result<store::Page<model::Conversation>>& page) {
                         if (!page) return answer_page(request, query, page);
                         answer_chats(request, query, std::make_shared<ConversationPage>(page.value()),
                                      {.has_more = page.value().has_more});
                       });
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
  with_chat_of_path(request, [request, before](const model::Conversation& chat) {
    read_chat(request, chat.id, before, [request, chat](const ChatNow& now) {
      read_files(request, chat.id, {}, [request, chat, now](const std::vector<model::BagFile>& files) {
        tell_chat(request, chat, now, files);
      });
    });
  });
}

void rename_chat(const RequestPtr& request) {
  with_chat_of_path(request, [request](const model::Conversation& chat) {
    const auto body = read_body(request);
    if (!body) return;
    Findings findings;
    const Fields fields(body->root(), "", rename_names, findings);
    fields.require("title");
    const auto title = fields.text("title", name_rule, Null::refused);
    if (refused(request, findings)) return;
    store::update_conversation(request->database(), request->tenant().id, chat.id, {.title = title}, request->now(),
                               [request](const Result<model::Conversation>& renamed) {
                                 if (!renamed) return request->fail(renamed.error());
                                 with_running(request, renamed.value().id,
                                              [request, chat = renamed.value()](const auto& running) {
                                                request->answer_json(200, shown(chat, running).json);
                                              });
                               });
  });
}

// Its turn first, so that nothing writes into a chat that is gone.
void delete_chat(const RequestPtr& request) {
  with_chat_of_path(request, [request](const model::Conversation& chat) {
    end_turn(request, chat.id, [request, id = chat.id] { archive(request, id); });
  });
}

void stop_chat(const RequestPtr& request) {
  with_chat_of_path(request, [request](const model::Conversation& chat) {
    with_running(request, chat.id, [request](std::optional<model::RunId> running) {
      if (!running) return request->problem(model::Slug::run_finished, "No turn of this chat is under way.");
      request->set_run(*running);
      request->engine().cancel(request->tenant().id, *running,
                               [request](const std::variant<model::Run, model::Problem>& outcome) {
                                 if (const auto* problem = std::get_if<model::Problem>(&outcome)) {
                                   return request->problem(*problem);
                                 }
                                 const auto& run = std::get<model::Run>(outcome);
                                 std::string body;
                                 json::Writer writer(body);
                                 writer.begin_object().key("streamId").string(run.id.text());
                                 writer.key("status").string(model::name_of(run.state)).end_object();
                                 request->answer_json(200, std::move(body));
                               });
    });
  });
}

}  // namespace sluice::api::assistant
