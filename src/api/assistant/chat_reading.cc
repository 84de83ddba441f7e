#include "api/assistant/chat_reading.h"

#include <algorithm>
#include <vector>

#include "api/integration/journal_walk.h"
#include "wire/wire.h"

namespace sluice::api::assistant {
namespace {

constexpr int turns_max = 50;

// Kept alive by the answer it waits for.
class ChatReading final : public std::enable_shared_from_this<ChatReading> {
 public:
  ChatReading(const Asked& asked, model::ConversationId chat, Callback<void(const ChatNow&)> then)
      : asked_(asked), chat_(chat), then_(std::move(then)) {}

  void begin(std::optional<model::MessageId> before) { before ? find_turn(*before) : read_turns(std::nullopt); }

 private:
  // The turn of an answer, or of a question: then the answer is the message after it.
  void find_turn(model::MessageId message) {
    asked_->store().run_of_message(asked_->tenant().id, message,
                                   [self = shared_from_this(), message](const Result<model::Run>& run) {
                                     if (run) return self->read_before(run.value());
                                     if (run.error().kind != ErrorKind::not_found)
                                       return self->asked_->fail(run.error());
                                     self->find_answer_to(message);
                                   });
  }

  void find_answer_to(model::MessageId question) {
    asked_->store().messages(asked_->tenant().id, chat_, store::Order::ascending,
                             {.limit = 1, .starting_after = question},
                             [self = shared_from_this()](const Result<store::Page<store::StoredMessage>>& page) {
                               if (!page && page.error().kind != ErrorKind::not_found) {
                                 return self->asked_->fail(page.error());
                               }
                               if (!page || page.value().rows.empty()) return self->refuse_before();
                               self->find_turn_of_answer(page.value().rows.front().id);
                             });
  }

  void find_turn_of_answer(model::MessageId answer) {
    asked_->store().run_of_message(asked_->tenant().id, answer,
                                   [self = shared_from_this()](const Result<model::Run>& run) {
                                     if (run) return self->read_before(run.value());
                                     self->refuse_before();
                                   });
  }

  void read_before(const model::Run& run) { run.conversation_id == chat_ ? read_turns(run.id) : refuse_before(); }

  void refuse_before() { asked_->invalid("before", "is not the id of a message of this chat"); }

  void read_turns(std::optional<model::RunId> before) {
    asked_->store().runs(asked_->tenant().id, {.conversation = chat_}, {.limit = turns_max, .starting_after = before},
                         [self = shared_from_this()](const Result<store::Page<model::Run>>& page) {
                           if (!page) return self->asked_->fail(page.error());
                           self->runs_ = page.value().rows;
                           std::ranges::reverse(self->runs_);
                           self->now_.has_more = page.value().has_more;
                           self->read_next();
                         });
  }

  void read_next() {
    if (done_ == runs_.size()) return then_(now_);
    history_.emplace(runs_[done_]);
    integration::walk_journal(
        asked_, runs_[done_].id, {},
        [self = shared_from_this()](const store::Committed& news) {
          self->history_->apply(news);
          return true;
        },
        [self = shared_from_this()](const model::Run& run) {
          self->runs_[self->done_] = run;
          self->find_question();
        });
  }

  void find_question() {
    asked_->store().message(asked_->tenant().id, runs_[done_].user_message_id,
                            [self = shared_from_this()](const Result<store::StoredMessage>& stored) {
                              if (!stored) return self->asked_->fail(stored.error());
                              const auto message = model::message_from_json(stored.value().json);
                              if (!message) return self->asked_->fail(message.error());
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

  Asked asked_;
  const model::ConversationId chat_;
  Callback<void(const ChatNow&)> then_;
  ChatNow now_;
  std::vector<model::Run> runs_;
  std::size_t done_ = 0;
  std::optional<wire::ChatHistory> history_;
};

}  // namespace

void read_chat(const Asked& asked, model::ConversationId chat, std::optional<model::MessageId> before,
               Callback<void(const ChatNow&)> then) {
  std::make_shared<ChatReading>(asked, chat, std::move(then))->begin(before);
}

}  // namespace sluice::api::assistant
