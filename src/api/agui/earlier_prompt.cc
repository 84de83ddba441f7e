#include "api/agui/earlier_prompt.h"

#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"

namespace sluice::api::agui {
namespace {

constexpr int searched_page_max = 50;
constexpr int searched_runs_max = 1'000;
constexpr int runs_of_brief_clients_max = 100;  // that send the last message only

// What an AG-UI run began with.
struct PromptBeginning {
  bool is_of_client = false;
  bool knows = false;  // a message of the user with that id is among its messages
  bool asks = false;   // and is the last of them
  int prompts = 0;     // messages of the user
};

PromptBeginning beginning_of(const model::RunEvent& accepted, std::string_view prompt_id) {
  PromptBeginning out;
  const auto body = json::Document::parse(accepted.body);
  const auto agui = body ? body.value().root().find("agui") : std::nullopt;
  const auto messages = agui ? agui->find("messages") : std::nullopt;
  if (!messages) return out;
  out.is_of_client = true;
  messages->each_element([&](json::Value message) {
    const auto role = message.find("role");
    const auto id = message.find("id");
    if (!role || role->string() != "user" || !id) return;
    ++out.prompts;
    out.asks = id->string() == prompt_id;
    out.knows |= out.asks;
  });
  return out;
}

// Looks through the runs, newest first. The newest that a client began has all messages of the user that count, where
// the client sends what it shows: if that does not know the id, no run is looked at besides. Kept alive by the answer
// it waits for.
class PromptSearch final : public std::enable_shared_from_this<PromptSearch> {
 public:
  PromptSearch(const Asked& asked, model::ConversationId conversation, std::string prompt_id,
               Callback<void(std::optional<model::MessageId>)> then)
      : asked_(asked), conversation_(conversation), prompt_id_(std::move(prompt_id)), then_(std::move(then)) {}

  void read_page(std::optional<model::RunId> after) {
    asked_->store().runs(asked_->tenant().id, {.conversation = conversation_},
                         {.limit = searched_page_max, .starting_after = after},
                         [self = shared_from_this()](const Result<store::Page<model::Run>>& page) {
                           if (!page) return self->asked_->fail(page.error());
                           self->runs_ = page.value().rows;
                           self->has_more_ = page.value().has_more;
                           self->index_ = 0;
                           self->look();
                         });
  }

 private:
  void look() {
    if (index_ == runs_.size()) {
      if (has_more_ && seen_ < (is_known_ ? searched_runs_max : runs_of_brief_clients_max))
        return read_page(runs_.back().id);
      // It came with a history that the thread began with: then all runs are about what follows it.
      return then_(is_known_ ? oldest_ : std::nullopt);
    }
    asked_->store().journal(
        runs_[index_].id, {}, 1, [self = shared_from_this()](const Result<store::JournalPage>& page) {
          if (!page) return self->asked_->fail(page.error());
          const auto& events = page.value().events;
          self->see(events.empty() ? PromptBeginning{} : beginning_of(events.front().event(), self->prompt_id_));
        });
  }

  void see(const PromptBeginning& beginning) {
    oldest_ = runs_[index_++].user_message_id;
    ++seen_;
    if (beginning.asks) return check_found();
    const bool is_brief = beginning.prompts <= 1;
    if (beginning.is_of_client && !is_known_ && !beginning.knows && !is_brief) return then_(std::nullopt);
    is_known_ |= beginning.knows;
    look();
  }

  // What was replaced already is not what the client shows.
  void check_found() {
    asked_->store().message(asked_->tenant().id, *oldest_,
                            [self = shared_from_this()](const Result<store::StoredMessage>& message) {
                              if (!message) return self->asked_->fail(message.error());
                              if (message.value().is_replaced) return self->look();
                              self->then_(self->oldest_);
                            });
  }

  Asked asked_;
  const model::ConversationId conversation_;
  const std::string prompt_id_;
  Callback<void(std::optional<model::MessageId>)> then_;
  std::vector<model::Run> runs_;
  std::size_t index_ = 0;
  int seen_ = 0;
  bool has_more_ = false;
  bool is_known_ = false;
  std::optional<model::MessageId> oldest_;
};

}  // namespace

void find_earlier_prompt(const Asked& asked, model::ConversationId conversation, std::string prompt_id,
                         Callback<void(std::optional<model::MessageId>)> then) {
  std::make_shared<PromptSearch>(asked, conversation, std::move(prompt_id), std::move(then))->read_page(std::nullopt);
}

}  // namespace sluice::api::agui
