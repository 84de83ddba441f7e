#include "api/agui/thread_reading.h"

#include <algorithm>
#include <vector>

#include "api/integration/journal_walk.h"
#include "wire/wire.h"

namespace sluice::api::agui {
namespace {

// Reads the runs, newest first as the store has them, and gathers their messages, oldest first. Kept alive by the
// answer it waits for.
class ThreadReading final : public std::enable_shared_from_this<ThreadReading> {
 public:
  ThreadReading(const Asked& asked, bool is_newest_page, Callback<void(const ThreadNow&)> then)
      : asked_(asked), is_newest_page_(is_newest_page), then_(std::move(then)) {}

  void begin(model::ConversationId conversation, int limit, std::optional<model::RunId> before) {
    asked_->store().runs(asked_->tenant().id, {.conversation = conversation},
                         {.limit = limit, .starting_after = before},
                         [self = shared_from_this()](const Result<store::Page<model::Run>>& page) {
                           if (!page) return self->asked_->fail(page.error());
                           self->runs_ = page.value().rows;
                           std::ranges::reverse(self->runs_);
                           if (page.value().has_more) self->now_.cursor = self->runs_.front().id.text();
                           self->read_next();
                         });
  }

 private:
  void read_next() {
    if (done_ == runs_.size()) return find_newest();
    history_.emplace(runs_[done_]);
    asked_->store().message(asked_->tenant().id, runs_[done_].user_message_id,
                            [self = shared_from_this()](const Result<store::StoredMessage>& stored) {
                              if (!stored) return self->asked_->fail(stored.error());
                              const auto message = model::message_from_json(stored.value().json);
                              if (message) self->history_->set_user_text(message.value().content);
                              self->walk();
                            });
  }

  void walk() {
    integration::walk_journal(
        asked_, runs_[done_].id, {},
        [self = shared_from_this()](const store::Committed& news) {
          self->history_->apply(news);
          return true;
        },
        [self = shared_from_this()](const model::Run& run) {
          const bool is_first = self->done_ == 0 && self->now_.cursor.empty();
          if (is_first) self->add(self->history_->earlier_messages());
          self->add(self->history_->messages());
          self->runs_[self->done_++] = run;
          self->read_next();
        });
  }

  void add(const std::string& messages) {
    if (!messages.empty()) now_.messages += (now_.messages.empty() ? "" : ",") + messages;
  }

  // The name of the newest run's last part, as the client knows it.
  void find_newest() {
    if (runs_.empty() || !is_newest_page_ || model::is_over(runs_.back().state)) return then_(now_);
    now_.newest_run = runs_.back().id.text();
    now_.waits = runs_.back().state == model::RunState::parked;
    now_.interrupts = history_->interrupts();
    asked_->store().agui_runs_of(runs_.back().id,
                                 [self = shared_from_this()](const Result<std::vector<store::AguiRun>>& named) {
                                   if (!named) return self->asked_->fail(named.error());
                                   if (!named.value().empty()) self->now_.newest_run = named.value().back().run_id;
                                   self->then_(self->now_);
                                 });
  }

  Asked asked_;
  const bool is_newest_page_;
  Callback<void(const ThreadNow&)> then_;
  ThreadNow now_;
  std::vector<model::Run> runs_;
  std::size_t done_ = 0;
  std::optional<wire::AguiHistory> history_;
};

}  // namespace

void read_thread(const Asked& asked, model::ConversationId conversation, int limit, std::optional<model::RunId> before,
                 Callback<void(const ThreadNow&)> then) {
  std::make_shared<ThreadReading>(asked, !before, std::move(then))->begin(conversation, limit, before);
}

}  // namespace sluice::api::agui
