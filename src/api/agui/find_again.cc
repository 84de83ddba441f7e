// GET: a run from any place of it (`runId` with `offset` or Last-Event-ID), or a thread as it is now (`threadId`).
// DELETE: the end of a run.
#include <algorithm>

#include "api/agui/handlers.h"
#include "api/agui/named_run.h"
#include "api/agui/run_input.h"
#include "api/agui/ui_messages.h"
#include "api/integration/journal_walk.h"

namespace sluice::api::agui {
namespace {

constexpr std::string_view find_parameters[] = {"runId", "offset", "threadId", "limit", "before", "protocolVersion"};
constexpr std::string_view cancel_parameters[] = {"runId", "threadId"};
constexpr int64_t runs_default = 50;
constexpr int64_t runs_max = 100;

// Reads a thread's runs, newest first as the store has them, and tells their messages, oldest first. Kept alive by the
// answer it waits for.
class Hydrating final : public std::enable_shared_from_this<Hydrating> {
 public:
  Hydrating(const Asked& asked, wire::Format format, int limit, std::optional<model::RunId> before)
      : asked_(asked), format_(format), limit_(limit), before_(before) {}

  void begin(std::string thread_id) {
    asked_->store().thread(asked_->tenant().id, std::move(thread_id),
                           [self = shared_from_this()](const Result<model::ConversationId>& conversation) {
                             if (conversation) return self->read_runs(conversation.value());
                             if (conversation.error().kind != ErrorKind::not_found) {
                               return self->asked_->fail(conversation.error());
                             }
                             self->tell();  // a thread that nobody has said anything in yet
                           });
  }

 private:
  void read_runs(model::ConversationId conversation) {
    asked_->store().runs(asked_->tenant().id, conversation, {.limit = limit_, .starting_after = before_},
                         [self = shared_from_this()](const Result<store::Page<model::Run>>& page) {
                           if (!page) return self->asked_->fail(page.error());
                           self->runs_ = page.value().rows;
                           self->has_more_ = page.value().has_more;
                           std::ranges::reverse(self->runs_);
                           self->read_next();
                         });
  }

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
          const auto more = self->history_->messages();
          if (!more.empty()) self->messages_ += (self->messages_.empty() ? "" : ",") + more;
          self->runs_[self->done_++] = run;
          self->read_next();
        });
  }

  // Names of the newest run's last part, as the client knows it.
  void find_newest() {
    if (runs_.empty() || before_ || model::is_over(runs_.back().state)) return tell();
    newest_ = runs_.back().id.text();
    asked_->store().agui_runs_of(runs_.back().id,
                                 [self = shared_from_this()](const Result<std::vector<store::AguiRun>>& named) {
                                   if (!named) return self->asked_->fail(named.error());
                                   if (!named.value().empty()) self->newest_ = named.value().back().run_id;
                                   self->tell();
                                 });
  }

  void tell() {
    const bool waits = !newest_.empty() && runs_.back().state == model::RunState::parked;
    const auto messages = "[" + messages_ + "]";
    const bool is_tanstack =
        format_ == wire::Format::agui_tanstack_sse || format_ == wire::Format::agui_tanstack_ndjson;
    std::string body = R"({"messages":)" + (is_tanstack ? ui_messages(messages) : messages) + R"(,"activeRun":)";
    json::Writer writer(body);
    if (newest_.empty() || waits) {
      writer.null();
    } else {
      writer.begin_object().key("runId").string(newest_).end_object();
    }
    body += R"(,"interrupts":)";
    if (waits) {
      body += R"({"runId":)";
      json::append_string(body, newest_);
      body += R"(,"pending":[)" + history_->interrupts() + "]}";
    } else {
      body += "null";
    }
    body += R"(,"page":{"truncated":)" +
            std::string(has_more_ ? R"(true,"cursor":")" + runs_.front().id.text() + '"' : "false");
    body += "}}";
    asked_->answer_json(200, std::move(body));
  }

  Asked asked_;
  const wire::Format format_;
  const int limit_;
  const std::optional<model::RunId> before_;
  std::vector<model::Run> runs_;
  bool has_more_ = false;
  std::size_t done_ = 0;
  std::optional<wire::AguiHistory> history_;
  std::string messages_;
  std::string newest_;
};

void hydrate(const Asked& asked, const Query& query, std::string thread_id, wire::Format format, Findings& findings) {
  const auto limit = query.integer("limit", 1, runs_max).value_or(runs_default);
  std::optional<model::RunId> before;
  if (const auto text = query.find("before")) {
    before = model::RunId::parse(*text);
    if (!before) query.refuse("before", "must be the `page.cursor` of the page before");
  }
  if (refused(asked, findings)) return;
  std::make_shared<Hydrating>(asked, format, static_cast<int>(limit), before)->begin(std::move(thread_id));
}

// Only TanStack's client comes by GET; one of AG-UI 1.0 says so.
void find_named(const Asked& asked) {
  Findings findings;
  const Query query(asked, find_parameters, findings);
  const auto format = format_for(asked, query.find("protocolVersion") ? Peer::current : Peer::tanstack);
  const std::string thread_id(query.find("threadId").value_or(""));
  const std::string run_id(query.find("runId").value_or(""));
  if (run_id.empty()) {
    if (!thread_id.empty()) return hydrate(asked, query, thread_id, format, findings);
    return asked->problem(model::Slug::malformed_request, "Name a run (runId, with offset) or a thread (threadId).");
  }
  const auto last = asked->header("Last-Event-ID");
  const auto offset = query.find("offset");
  if (!last && !offset) {
    return asked->problem(model::Slug::malformed_request,
                          "Say from where: offset=-1 for the whole run, or the id of the last frame you have, there or "
                          "in Last-Event-ID.");
  }
  const auto seen =
      last ? read_seen(*last, run_id, "Last-Event-ID", findings) : read_seen(*offset, run_id, "offset", findings);
  if (refused(asked, findings)) return;
  with_named_run(asked, thread_id, run_id, [asked, format, seen](const store::AguiRun& named) {
    stream_named(asked, named, format, seen.after);
  });
}

void cancel_named(const Asked& asked) {
  Findings findings;
  const Query query(asked, cancel_parameters, findings);
  const std::string run_id(query.find("runId").value_or(""));
  if (run_id.empty()) query.refuse("runId", "is required: the run to be cancelled");
  if (refused(asked, findings)) return;
  with_named_run(asked, std::string(query.find("threadId").value_or("")), run_id, [asked](const store::AguiRun& named) {
    asked->set_run(named.run);
    asked->engine().cancel(
        asked->tenant().id, named.run, [asked, named](const std::variant<model::Run, model::Problem>& outcome) {
          if (const auto* problem = std::get_if<model::Problem>(&outcome)) return asked->problem(*problem);
          std::string body;
          json::Writer writer(body);
          writer.begin_object().key("threadId").string(named.thread_id).key("runId").string(named.run_id);
          writer.key("status").string(model::name_of(std::get<model::Run>(outcome).state)).end_object();
          asked->answer_json(200, std::move(body));
        });
  });
}

}  // namespace

void find_again(const Asked& asked) {
  with_agent_of_path(asked, [asked](std::optional<model::AgentId>) { find_named(asked); });
}

void cancel(const Asked& asked) {
  with_agent_of_path(asked, [asked](std::optional<model::AgentId>) { cancel_named(asked); });
}

}  // namespace sluice::api::agui
