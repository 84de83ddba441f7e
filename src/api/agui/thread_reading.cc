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
  ThreadReading(const Asked& asked, ThreadPart part, Callback<void(const ThreadNow&)> then)
      : asked_(asked), part_(part), then_(std::move(then)) {}

  void begin(model::ConversationId conversation) {
    asked_->store().runs(asked_->tenant().id, {.conversation = conversation},
                         {.limit = part_.limit, .starting_after = part_.before},
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
                              // A client sees what stands now.
                              if (stored.value().is_replaced) return self->pass_over();
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
          const bool is_first = !self->has_shown_ && self->now_.cursor.empty();
          self->has_shown_ = true;
          if (is_first) self->add(self->history_->earlier_messages());
          self->runs_[self->done_++] = run;
          // What goes on is added when it is known how a client joins it.
          if (!self->goes_on(run)) self->add(self->history_->messages());
          self->read_next();
        });
  }

  void pass_over() {
    runs_.erase(runs_.begin() + static_cast<std::ptrdiff_t>(done_));
    read_next();
  }

  // It is the thread's newest, and is not over.
  bool goes_on(const model::Run& run) const {
    return !part_.before && done_ == runs_.size() && !model::is_over(run.state);
  }

  void add(const std::string& messages) {
    if (!messages.empty()) now_.messages += (now_.messages.empty() ? "" : ",") + messages;
  }

  // The name of the newest run's last part, as the client knows it.
  void find_newest() {
    if (runs_.empty() || !goes_on(runs_.back())) return then_(now_);
    now_.newest_run = runs_.back().id.text();
    now_.waits = runs_.back().state == model::RunState::parked;
    now_.interrupts = history_->interrupts();
    asked_->store().agui_runs_of(
        runs_.back().id, [self = shared_from_this()](const Result<std::vector<store::AguiRun>>& named) {
          if (!named) return self->asked_->fail(named.error());
          const bool is_named = !named.value().empty();
          if (is_named) self->now_.newest_run = named.value().back().run_id;
          // Nobody joins a run that waits, or one without a name for it.
          const bool is_joined = self->part_.is_joined && is_named && !self->now_.waits;
          self->add(is_joined ? self->history_->messages_before_stream() : self->history_->messages());
          self->then_(self->now_);
        });
  }

  Asked asked_;
  const ThreadPart part_;
  Callback<void(const ThreadNow&)> then_;
  ThreadNow now_;
  std::vector<model::Run> runs_;
  std::size_t done_ = 0;
  bool has_shown_ = false;
  std::optional<wire::AguiHistory> history_;
};

}  // namespace

void read_thread(const Asked& asked, model::ConversationId conversation, ThreadPart part,
                 Callback<void(const ThreadNow&)> then) {
  std::make_shared<ThreadReading>(asked, part, std::move(then))->begin(conversation);
}

}  // namespace sluice::api::agui
