// POST: a new run, an answer to a run that waits, or the same request again from a client whose connection broke.
#include <algorithm>

#include "api/agui/agui.h"
#include "api/answers/streaming.h"
#include "api/handlers.h"
#include "api/inputs/message_input.h"
#include "api/request/reading.h"
#include "api/request/waiting.h"

namespace sluice::api::agui {
namespace {

constexpr int look_count_max = 20;
constexpr int64_t look_every_ms = 50;
constexpr int settled_runs_max = 50;

bool is_of_client(const model::Approval& approval) {
  const auto is_call = [](const model::RequestedItem& item) {
    return item.kind == model::ItemKind::client_tool && item.call;
  };
  return !approval.requested_items.empty() && std::ranges::all_of(approval.requested_items, is_call);
}

// The client's name for a call of the run that waits.
std::string call_id_of(const model::Approval& approval, const model::RequestedItem& item) {
  return wire::call_id_of({.message_id = approval.message_id}, item.call->id);
}

class Starting final {
 public:
  Starting(const RequestPtr& request, RunInput input, std::optional<model::AgentId> agent)
      : request_(request), input_(std::move(input)), format_(format_for(request, input_.peer)), agent_(agent) {}

  Task<> run() {
    Findings findings;
    if (const auto last = request_->header("Last-Event-ID")) {
      seen_ = read_seen(*last, input_.names().run_id, "Last-Event-ID", findings);
    }
    if (refused(request_, findings)) co_return;
    if (co_await streams_known_run()) co_return;
    if (seen_.is_named) {
      co_return request_->problem(model::Slug::not_found,
                                  "The thread has no run of that name to come back to. Leave Last-Event-ID out "
                                  "to start it.");
    }
    const auto thread = co_await found_if_any<model::ConversationId>(request_, &store::thread, request_->tenant().id,
                                                                     input_.names().thread_id);
    co_await (thread ? continue_thread(*thread) : start_thread());
  }

 private:
  // The same run again is the same stream again. Another request with the same words may have been quicker, too.
  Task<bool> streams_known_run() {
    const auto named = co_await found_if_any<journal::AguiRun>(request_, &store::agui_run, request_->tenant().id,
                                                               input_.names().thread_id, input_.names().run_id);
    if (named) co_await stream_named(request_, *named, format_, seen_.after);
    co_return named.has_value();
  }

  Task<> continue_thread(model::ConversationId id) {
    const auto tenant = request_->tenant().id;
    const auto conversation = co_await found<model::Conversation>(request_, &store::conversation, tenant, id);
    if (agent_ && *agent_ != conversation.agent_id) {
      co_return request_->invalid("agent", "is not the thread's, which is " + conversation.agent_id.text());
    }
    // Only the newest run of a conversation can be one that is not over.
    const auto page =
        co_await found<store::Page<model::Run>>(request_, &store::runs, tenant, store::RunFilter{.conversation = id},
                                                store::PageQuery<model::RunId>{.limit = 1});
    const auto& rows = page.rows;
    if (!rows.empty() && rows[0].state == model::RunState::parked) {
      const auto approval = co_await found_if_any<model::Approval>(request_, &store::open_approval, rows[0].id);
      if (approval) {
        co_await answer_waiting(*approval);
        co_return;
      }
    } else if (!says_something() && !rows.empty()) {
      co_await show_thread(rows[0]);
      co_return;
    }
    co_await send_to(id);
  }

  // ── something that waits ──
  Task<> answer_waiting(const model::Approval& approval) {
    if (input_.resume.empty() && input_.results.empty()) {
      co_return request_->problem(model::Slug::conversation_busy,
                                  "A run of this thread waits for an answer to " + approval.id.text() +
                                      ": resume it, or cancel it, before the next message.");
    }
    if (!input_.prompt.empty()) {
      // The first event of the run that waits has the messages that began it.
      const auto first = co_await read_first_event(request_, approval.run_id);
      if (!first.events.empty() && !is_prompt_of(first.events.front().event())) {
        co_return request_->invalid("/messages",
                                    "ends with a message of the user that the run which waits does not "
                                    "know; send it when that run is over");
      }
    }
    const auto decision = is_of_client(approval) ? results_for(approval) : decision_on(approval);
    if (decision) co_await decide(approval, *decision);
  }

  // Nothing is known of a run that no AG-UI client began, so the message may be its prompt.
  bool is_prompt_of(const model::RunEvent& accepted) const {
    const auto begun = model::event_as<model::events::Accepted>(accepted);
    if (!begun || !begun->extras.agui) return true;
    const auto messages = json::Document::parse(begun->extras.agui->messages);
    bool is_known = !messages;
    if (messages) {
      messages.value().root().each_element(
          [&](json::Value message) { is_known |= text_of(message, "id") == input_.prompt_id; });
    }
    return is_known;
  }

  // Empty: an answer is invalid or missing, and the request has been answered.
  std::optional<DecisionInput> results_for(const model::Approval& approval) {
    DecisionInput decision{.approve = true};
    decision.answers.agui_run_id = input_.names().run_id;
    Findings findings;
    for (const auto& item : approval.requested_items) {
      const auto call_id = call_id_of(approval, item);
      if (auto result = result_of(call_id)) {
        result->call_id = item.call->id;
        decision.answers.results.push_back(std::move(*result));
      } else {
        findings.refuse("/messages", "must end with the result of every call that waits; there is none for " + call_id +
                                         " (" + item.call->name + ")");
      }
    }
    refuse_unexpected(approval, findings);
    if (refused(request_, findings)) return std::nullopt;
    return decision;
  }

  std::optional<model::ClientResult> result_of(const std::string& call_id) const {
    for (const auto& entry : input_.resume) {
      if (entry.interrupt_id != std::string(client_tool_prefix) + call_id) continue;
      if (!entry.is_cancelled) return model::ClientResult{call_id, entry.payload, false};
      return model::ClientResult{call_id, entry.has_payload ? entry.payload : "The user declined to run the tool.",
                                 true};
    }
    const auto found = std::ranges::find(input_.results, call_id, &model::ClientResult::call_id);
    return found == input_.results.end() ? std::nullopt : std::optional(*found);
  }

  // The messages may contain results of other tools, which the client has from this server. If a result is missing, an
  // unexpected one is perhaps the missing one under a wrong name.
  void refuse_unexpected(const model::Approval& approval, Findings& findings) const {
    const auto waits = [&](std::string_view call_id) {
      return std::ranges::any_of(approval.requested_items, [&](const model::RequestedItem& item) {
        return call_id_of(approval, item) == call_id;
      });
    };
    const bool is_one_missing = !findings.errors.empty();
    for (const auto& result : input_.results) {
      if (is_one_missing && !waits(result.call_id)) {
        findings.refuse("/messages", "no call " + result.call_id + " waits for a result");
      }
    }
    for (std::size_t i = 0; i < input_.resume.size(); ++i) {
      std::string_view id = input_.resume[i].interrupt_id;
      if (!id.starts_with(client_tool_prefix) || !waits(id.substr(client_tool_prefix.size()))) {
        findings.refuse("/resume/" + std::to_string(i) + "/interruptId", "names nothing that waits for an answer");
      }
    }
  }

  // Empty: the request has been answered.
  std::optional<DecisionInput> decision_on(const model::Approval& approval) {
    Findings findings;
    const ResumeEntry* ours = nullptr;
    for (std::size_t i = 0; i < input_.resume.size(); ++i) {
      const auto at = "/resume/" + std::to_string(i);
      const auto& entry = input_.resume[i];
      if (entry.interrupt_id != approval.id.text()) {
        findings.refuse(at + "/interruptId", "names nothing that waits for an answer; " + approval.id.text() + " does");
      } else if (ours != nullptr) {
        findings.refuse(at + "/interruptId", "is answered twice");
      } else if (!entry.is_cancelled && !entry.approved) {
        findings.refuse(at + "/payload/approved", "is required: true or false");
      } else {
        ours = &entry;
      }
    }
    if (findings.errors.empty() && ours == nullptr) {
      findings.refuse("/resume", "must answer every interrupt that waits: " + approval.id.text());
    }
    if (refused(request_, findings)) return std::nullopt;
    if (!ours->signature && !request_->tenant().agui_unsigned_approvals) {
      request_->problem(model::Slug::approval_signature_invalid,
                        "This tenant's approvals must be signed: put the signature into the entry's "
                        "metadata.signature, or have the operator let answers count without one: sluice tenants "
                        "update " +
                            request_->tenant().id.text() + " --agui-unsigned-approvals yes");
      return std::nullopt;
    }
    DecisionInput decision{.approve = !ours->is_cancelled && *ours->approved,
                           .signature = ours->signature,
                           .secrets = ours->secrets,
                           .note = ours->note};
    if (ours->is_cancelled && !decision.note) decision.note = "The user declined to answer.";
    if (!decision.approve) decision.secrets.clear();
    decision.answers.agui_run_id = input_.names().run_id;
    return decision;
  }

  Task<> decide(const model::Approval& approval, DecisionInput decision) {
    decision.answers.agui_thread_id = input_.names().thread_id;
    const auto outcome = co_await decide_on(request_, approval, std::move(decision));
    const auto* problem = std::get_if<model::Problem>(&outcome);
    if (problem == nullptr) {
      // The decision is on disk, and with it the name of the run that continues.
      const auto named = co_await named_run(request_, input_.names().thread_id, input_.names().run_id);
      co_await stream_named(request_, named, format_, seen_.after);
      co_return;
    }
    // The same answer may be on its way from another connection: then it is that one's run, as soon as it is on disk.
    for (int looks_left = look_count_max;; --looks_left) {
      if (co_await streams_known_run()) co_return;
      if (problem->slug != model::Slug::approval_expired) co_return request_->problem(*problem);
      if (looks_left == 0) break;
      co_await pause(request_->services().needs.loop, Millis{look_every_ms});
    }
    co_await settle(approval.conversation_id);
  }

  // The interrupt is settled already; the client gets the thread as it is.
  Task<> settle(model::ConversationId conversation) {
    const auto now = co_await read_thread(request_, conversation, {.limit = settled_runs_max});
    answer_settled(now.messages);
  }

  void answer_settled(std::string_view messages) {
    const auto type = wire::is_sse(format_) ? "text/event-stream" : "application/x-ndjson";
    request_->answer(200, type, settled_stream(format_, input_.names(), messages));
  }

  // ── nothing new ──
  bool says_something() const { return input_.ends_with_user || !input_.resume.empty(); }

  // Clients run an agent without a message of the user to learn how the thread stands: when they connect, and after a
  // tool of theirs whose result was taken already.
  Task<> show_thread(const model::Run& newest) {
    if (!model::is_over(newest.state)) {
      model::Problem problem{.slug = model::Slug::conversation_busy,
                             .detail = "The thread is answering a message: join that run by GET, or wait for its end."};
      problem.conflicting_resource_id = newest.id.text();
      co_return request_->problem(problem);
    }
    const auto now = co_await read_thread(request_, newest.conversation_id, {.limit = settled_runs_max});
    Findings findings;
    for (const auto& result : input_.results) {
      std::string name;
      json::append_string(name, result.call_id);
      if (now.messages.find(R"("toolCallId":)" + name) == std::string::npos) refuse_result(result, findings);
    }
    if (!refused(request_, findings)) answer_settled(now.messages);
  }

  // Whether the thread asked for each of the answers once, and does not any more.
  Task<bool> are_settled(model::ConversationId conversation) {
    for (const auto& entry : input_.resume) {
      if (entry.interrupt_id.starts_with(client_tool_prefix)) continue;
      const auto id = model::ApprovalId::parse(entry.interrupt_id);
      if (!id) co_return false;
      const auto approval = co_await asked<model::Approval>(request_, &store::approval, request_->tenant().id, *id);
      if (!approval || approval.value().conversation_id != conversation) co_return false;
    }
    co_return true;
  }

  // ── something new ──
  Task<> start_thread() {
    if (!says_something() && input_.results.empty()) co_return show_new_thread();
    model::Conversation conversation;
    conversation.id = request_->ids().make<model::ConversationId>();
    conversation.tenant_id = request_->tenant().id;
    conversation.agent_id = agent_.value_or(model::AgentId{});
    conversation.created_at = conversation.updated_at = conversation.last_message_at = request_->now();
    co_await send(std::move(conversation), std::nullopt);
  }

  Task<> send_to(model::ConversationId conversation) {
    if (input_.resume.empty()) {
      // A message that the thread has already is to be answered anew, perhaps in other words.
      const auto replaced = co_await find_earlier_prompt(request_, conversation, input_.prompt_id);
      co_await send(conversation, replaced);
    } else if (!co_await are_settled(conversation)) {
      co_await send(conversation, std::nullopt);
    } else if (!co_await streams_known_run()) {
      co_await settle(conversation);
    }
  }

  Task<> send(std::variant<model::ConversationId, model::Conversation> conversation,
              std::optional<model::MessageId> replaced) {
    Findings findings;
    if (!input_.resume.empty()) findings.refuse("/resume/0/interruptId", "names nothing that waits for an answer");
    for (const auto& result : input_.results) refuse_result(result, findings);
    if (findings.errors.empty() && input_.prompt.empty()) {
      findings.refuse("/messages", "must end with a message of the user that says something");
    }
    if (refused(request_, findings)) co_return;
    auto send = send_of(request_, {.content = input_.prompt}, std::move(conversation));
    send.hold = input_.hold;
    send.extras = input_.extras;
    if (replaced) {
      send.extras.agui->replaces = replaced->text();
      send.extras.session_id.reset();  // it remembers what is replaced
    }
    const auto outcome = co_await answer<engine::SendOutcome>(
        [&](auto done) { request_->engine().send(std::move(send), std::move(done)); });
    if (const auto* sent = std::get_if<engine::Sent>(&outcome)) {
      co_await stream_named(request_, {.run = sent->run.id}, format_, seen_.after);
    } else if (!co_await streams_known_run()) {
      request_->problem(std::get<model::Problem>(outcome));
    }
  }

  static void refuse_result(const model::ClientResult& result, Findings& findings) {
    findings.refuse("/messages", "no call " + result.call_id + " waits for a result");
  }

  // The client itself has all messages of a thread that does not exist yet.
  void show_new_thread() {
    std::string_view messages = input_.names().messages;
    messages.remove_prefix(1);
    messages.remove_suffix(1);
    answer_settled(messages);
  }

  RequestPtr request_;
  const RunInput input_;
  const wire::Format format_;
  const std::optional<model::AgentId> agent_;  // empty: the thread's, or else the default
  Seen seen_;
};

Task<> start(RequestPtr request) {
  const auto agent = co_await agent_of_path(request);
  auto input = read_run_input(request);
  if (!input) co_return;
  Starting starting(request, std::move(*input), agent);
  co_await starting.run();
}

}  // namespace

void start_run(const RequestPtr& request) {
  if (!refused_while_draining(request)) start_unowned(start(request));
}

}  // namespace sluice::api::agui
