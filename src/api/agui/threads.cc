#include "api/agui/threads.h"

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "api/answers/journal_walk.h"
#include "base/json.h"
#include "wire/wire.h"

namespace sluice::api::agui {
namespace {

// Reads the runs, newest first as the store has them, and gathers their messages, oldest first. Kept alive by the
// answer it waits for.
class ThreadReading final : public std::enable_shared_from_this<ThreadReading> {
 public:
  ThreadReading(const RequestPtr& request, ThreadPart part, Callback<void(const ThreadNow&)> then)
      : request_(request), part_(part), then_(std::move(then)) {}

  void begin(model::ConversationId conversation) {
    store::runs(request_->database(), request_->tenant().id, {.conversation = conversation},
                {.limit = part_.limit, .starting_after = part_.before},
                [self = shared_from_this()](const Result<store::Page<model::Run>>& page) {
                  if (!page) return self->request_->fail(page.error());
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
    store::message(request_->database(), request_->tenant().id, runs_[done_].user_message_id,
                   [self = shared_from_this()](const Result<store::StoredMessage>& stored) {
                     if (!stored) return self->request_->fail(stored.error());
                     // A client sees what stands now.
                     if (stored.value().is_replaced) return self->pass_over();
                     const auto message = model::message_from_json(stored.value().json);
                     if (message) self->history_->set_user_text(message.value().content);
                     self->walk();
                   });
  }

  void walk() {
    walk_journal(
        request_, runs_[done_].id, {},
        [self = shared_from_this()](const journal::Committed& news) {
          self->history_->apply(news);
          return true;
        },
        [self = shared_from_this()](const model::Run& run) {
          const bool is_first = !self->has_shown_ && self->now_.cursor.empty();
          self->has_shown_ = true;
          if (is_first) self->add(self->history_->earlier_messages());
          self->runs_[self->done_++] = run;
          // An active run is added when it is known how a client joins it.
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
    store::agui_runs_of(request_->database(), runs_.back().id,
                        [self = shared_from_this()](const Result<std::vector<journal::AguiRun>>& named) {
                          if (!named) return self->request_->fail(named.error());
                          const bool is_named = !named.value().empty();
                          if (is_named) self->now_.newest_run = named.value().back().run_id;
                          // A client cannot join a run that waits, or one that has no name of a client.
                          const bool is_joined = self->part_.is_joined && is_named && !self->now_.waits;
                          self->add(is_joined ? self->history_->messages_before_stream() : self->history_->messages());
                          self->then_(self->now_);
                        });
  }

  RequestPtr request_;
  const ThreadPart part_;
  Callback<void(const ThreadNow&)> then_;
  ThreadNow now_;
  std::vector<model::Run> runs_;
  std::size_t done_ = 0;
  bool has_shown_ = false;
  std::optional<wire::AguiHistory> history_;
};

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
  const auto begun = model::event_as<model::events::Accepted>(accepted);
  if (!begun || !begun->extras.agui) return out;
  const auto messages = json::Document::parse(begun->extras.agui->messages);
  if (!messages) return out;
  out.is_of_client = true;
  messages.value().root().each_element([&](json::Value message) {
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
  PromptSearch(const RequestPtr& request, model::ConversationId conversation, std::string prompt_id,
               Callback<void(std::optional<model::MessageId>)> then)
      : request_(request), conversation_(conversation), prompt_id_(std::move(prompt_id)), then_(std::move(then)) {}

  void read_page(std::optional<model::RunId> after) {
    store::runs(request_->database(), request_->tenant().id, {.conversation = conversation_},
                {.limit = searched_page_max, .starting_after = after},
                [self = shared_from_this()](const Result<store::Page<model::Run>>& page) {
                  if (!page) return self->request_->fail(page.error());
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
    request_->store().read(
        runs_[index_].id, {}, 1, [self = shared_from_this()](const Result<journal::JournalPage>& page) {
          if (!page) return self->request_->fail(page.error());
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
    store::message(request_->database(), request_->tenant().id, *oldest_,
                   [self = shared_from_this()](const Result<store::StoredMessage>& message) {
                     if (!message) return self->request_->fail(message.error());
                     if (message.value().is_replaced) return self->look();
                     self->then_(self->oldest_);
                   });
  }

  RequestPtr request_;
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

class Frames {
 public:
  Frames(wire::Format format, const model::AguiNames& names) : format_(format), names_(names) {}

  void add(std::string_view event) {
    std::string id;
    json::append_string(id, names_.run_id + "-" + std::to_string(count_++));
    if (wire::is_sse(format_)) {
      out_.append("id: ").append(id, 1, id.size() - 2).append("\ndata: ").append(event).append("\n\n");
    } else if (format_ == wire::Format::agui_tanstack_ndjson) {
      out_.append(R"({"id":)").append(id).append(R"(,"chunk":)").append(event).append("}\n");
    } else {
      out_.append(event).append("\n");
    }
  }

  // An event of that type with the client's names in it, open for more members.
  std::string named(std::string_view type) const {
    std::string event = R"({"type":")" + std::string(type) + R"(","threadId":)";
    json::append_string(event, names_.thread_id);
    event += R"(,"runId":)";
    json::append_string(event, names_.run_id);
    return event;
  }

  std::string take() { return std::move(out_); }

 private:
  const wire::Format format_;
  const model::AguiNames& names_;
  int count_ = 0;
  std::string out_;
};

}  // namespace

void read_thread(const RequestPtr& request, model::ConversationId conversation, ThreadPart part,
                 Callback<void(const ThreadNow&)> then) {
  std::make_shared<ThreadReading>(request, part, std::move(then))->begin(conversation);
}

void find_earlier_prompt(const RequestPtr& request, model::ConversationId conversation, std::string prompt_id,
                         Callback<void(std::optional<model::MessageId>)> then) {
  std::make_shared<PromptSearch>(request, conversation, std::move(prompt_id), std::move(then))->read_page(std::nullopt);
}

std::string settled_stream(wire::Format format, const model::AguiNames& names, std::string_view messages) {
  Frames frames(format, names);
  frames.add(frames.named("RUN_STARTED") + R"(,"protocolVersion":"1.0"})");
  frames.add(R"({"type":"MESSAGES_SNAPSHOT","messages":[)" + std::string(messages) + "]}");
  const bool is_tanstack = format == wire::Format::agui_tanstack_sse || format == wire::Format::agui_tanstack_ndjson;
  frames.add(frames.named("RUN_FINISHED") + R"(,"outcome":{"type":"success"})" +
             (is_tanstack ? R"(,"metadata":{"tanstack":{"finishReason":"stop"}}})" : "}"));
  return frames.take();
}

}  // namespace sluice::api::agui
