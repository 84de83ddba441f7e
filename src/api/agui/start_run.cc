// POST: a new run, an answer to a run that waits, or the same request again from a client whose connection broke.
#include <algorithm>

#include "api/agui/agui.h"
#include "api/agui/named_run.h"
#include "api/agui/run_input.h"
#include "api/agui/threads.h"
#include "api/inputs/message_input.h"
#include "api/request/reading.h"

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

// Kept alive by the answer it waits for.
class Starting final : public std::enable_shared_from_this<Starting> {
 public:
  Starting(const RequestPtr& request, RunInput input, std::optional<model::AgentId> agent)
      : request_(request), input_(std::move(input)), format_(format_for(request, input_.peer)), agent_(agent) {}

  void begin() {
    Findings findings;
    if (const auto last = request_->header("Last-Event-ID")) {
      seen_ = read_seen(*last, input_.names().run_id, "Last-Event-ID", findings);
    }
    if (!refused(request_, findings)) find_run();
  }

 private:
  template <typename Found, typename Missing>
  auto found_or(Found found, Missing missing) {
    return [self = shared_from_this(), found, missing](auto result) {
      if (result) return found(*self, std::move(result).take());
      if (result.error().kind != ErrorKind::not_found) return self->request_->fail(result.error());
      missing(*self);
    };
  }

  // The same run again is the same stream again.
  void find_run() {
    store::agui_run(request_->database(), request_->tenant().id, input_.names().thread_id, input_.names().run_id,
                    found_or([](Starting& self, const journal::AguiRun& named) { self.come_back(named); },
                             [](Starting& self) {
                               if (!self.seen_.is_named) return self.find_thread();
                               self.request_->problem(
                                   model::Slug::not_found,
                                   "The thread has no run of that name to come back to. Leave Last-Event-ID out "
                                   "to start it.");
                             }));
  }

  void come_back(const journal::AguiRun& named) { stream_named(request_, named, format_, seen_.after); }

  void find_thread() {
    store::thread(request_->database(), request_->tenant().id, input_.names().thread_id,
                  found_or([](Starting& self, model::ConversationId id) { self.find_conversation(id); },
                           [](Starting& self) { self.start_thread(); }));
  }

  void find_conversation(model::ConversationId id) {
    store::conversation(request_->database(), request_->tenant().id, id,
                        [self = shared_from_this()](const Result<model::Conversation>& conversation) {
                          if (!conversation) return self->request_->fail(conversation.error());
                          const auto& agent = conversation.value().agent_id;
                          if (self->agent_ && *self->agent_ != agent) {
                            return self->request_->invalid("agent", "is not the thread's, which is " + agent.text());
                          }
                          self->find_waiting(conversation.value().id);
                        });
  }

  // Only the newest run of a conversation can be one that is not over.
  void find_waiting(model::ConversationId conversation) {
    store::runs(request_->database(), request_->tenant().id, {.conversation = conversation}, {.limit = 1},
                [self = shared_from_this(), conversation](const Result<store::Page<model::Run>>& page) {
                  if (!page) return self->request_->fail(page.error());
                  const auto& rows = page.value().rows;
                  if (!rows.empty() && rows[0].state == model::RunState::parked) {
                    return self->find_approval(rows[0].id, conversation);
                  }
                  if (!self->says_something() && !rows.empty()) return self->show_thread(rows[0]);
                  self->send(conversation);
                });
  }

  void find_approval(model::RunId run, model::ConversationId conversation) {
    store::open_approval(request_->database(), run,
                         found_or([](Starting& self, const model::Approval& approval) { self.answer(approval); },
                                  [conversation](Starting& self) { self.send(conversation); }));
  }

  // ── something that waits ──
  void answer(const model::Approval& approval) {
    if (input_.resume.empty() && input_.results.empty()) {
      return request_->problem(model::Slug::conversation_busy,
                               "A run of this thread waits for an answer to " + approval.id.text() +
                                   ": resume it, or cancel it, before the next message.");
    }
    if (input_.prompt.empty()) return take_answer(approval);
    // The first event of the run that waits has the messages that began it.
    request_->store().read(
        approval.run_id, {}, 1, [self = shared_from_this(), approval](const Result<journal::JournalPage>& page) {
          if (!page) return self->request_->fail(page.error());
          const auto& events = page.value().events;
          if (events.empty() || self->is_prompt_of(events.front().event())) {
            return self->take_answer(approval);
          }
          self->request_->invalid("/messages",
                                  "ends with a message of the user that the run which waits does not "
                                  "know; send it when that run is over");
        });
  }

  // Of a run that no AG-UI client began nothing is known; then it may be.
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

  void take_answer(const model::Approval& approval) {
    is_of_client(approval) ? give_results(approval) : decide(approval);
  }

  void give_results(const model::Approval& approval) {
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
    if (refused(request_, findings)) return;
    hand_on(approval, std::move(decision));
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

  void decide(const model::Approval& approval) {
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
    if (refused(request_, findings)) return;
    if (!ours->signature && !request_->tenant().agui_unsigned_approvals) {
      return request_->problem(model::Slug::approval_signature_invalid,
                               "This tenant's approvals must be signed: put the signature into the entry's "
                               "metadata.signature, or have the operator let answers count without one: sluice tenants "
                               "update " +
                                   request_->tenant().id.text() + " --agui-unsigned-approvals yes");
    }
    DecisionInput decision{.approve = !ours->is_cancelled && *ours->approved,
                           .signature = ours->signature,
                           .secrets = ours->secrets,
                           .note = ours->note};
    if (ours->is_cancelled && !decision.note) decision.note = "The user declined to answer.";
    if (!decision.approve) decision.secrets.clear();
    decision.answers.agui_run_id = input_.names().run_id;
    hand_on(approval, std::move(decision));
  }

  void hand_on(const model::Approval& approval, DecisionInput decision) {
    decision.answers.agui_thread_id = input_.names().thread_id;
    decide_on(
        request_, approval, std::move(decision),
        [self = shared_from_this()](const model::Approval&) { self->follow(); },
        [self = shared_from_this(), conversation = approval.conversation_id](const model::Problem& problem) {
          self->was_late(problem, conversation, look_count_max);
        });
  }

  // The same answer may be on its way from another connection: then it is that one's run, as soon as it is on disk.
  void was_late(const model::Problem& problem, model::ConversationId conversation, int looks_left) {
    store::agui_run(request_->database(), request_->tenant().id, input_.names().thread_id, input_.names().run_id,
                    found_or([](Starting& self, const journal::AguiRun& named) { self.come_back(named); },
                             [problem, conversation, looks_left](Starting& self) {
                               if (problem.slug != model::Slug::approval_expired)
                                 return self.request_->problem(problem);
                               if (looks_left == 0) return self.settle(conversation);
                               self.look_again_ = self.request_->services().needs.loop.after(
                                   Millis{look_every_ms},
                                   [me = self.shared_from_this(), problem, conversation, looks_left] {
                                     me->was_late(problem, conversation, looks_left - 1);
                                   });
                             }));
  }

  // The interrupt is settled already; the client gets the thread as it is.
  void settle(model::ConversationId conversation) {
    read_thread(request_, conversation, {.limit = settled_runs_max},
                [self = shared_from_this()](const ThreadNow& now) { self->answer_settled(now.messages); });
  }

  void answer_settled(std::string_view messages) {
    const auto type = wire::is_sse(format_) ? "text/event-stream" : "application/x-ndjson";
    request_->answer(200, type, settled_stream(format_, input_.names(), messages));
  }

  // ── nothing new ──
  bool says_something() const { return input_.ends_with_user || !input_.resume.empty(); }

  // Clients run an agent without a message of the user to learn how the thread stands: when they connect, and after a
  // tool of theirs whose result was taken already.
  void show_thread(const model::Run& newest) {
    if (!model::is_over(newest.state)) {
      model::Problem problem{.slug = model::Slug::conversation_busy,
                             .detail = "The thread is answering a message: join that run by GET, or wait for its end."};
      problem.conflicting_resource_id = newest.id.text();
      return request_->problem(problem);
    }
    read_thread(request_, newest.conversation_id, {.limit = settled_runs_max},
                [self = shared_from_this()](const ThreadNow& now) {
                  Findings findings;
                  for (const auto& result : self->input_.results) {
                    std::string name;
                    json::append_string(name, result.call_id);
                    const bool is_known = now.messages.find(R"("toolCallId":)" + name) != std::string::npos;
                    if (!is_known) refuse_result(result, findings);
                  }
                  if (!refused(self->request_, findings)) self->answer_settled(now.messages);
                });
  }

  // Of a thread that is not there yet a client knows all there is.
  void show_new_thread() {
    std::string_view messages = input_.names().messages;
    messages.remove_prefix(1);
    messages.remove_suffix(1);
    answer_settled(messages);
  }

  static void refuse_result(const model::ClientResult& result, Findings& findings) {
    findings.refuse("/messages", "no call " + result.call_id + " waits for a result");
  }

  // The very same answer may have been quicker since the run was looked for.
  void find_answered(model::ConversationId conversation) {
    store::agui_run(request_->database(), request_->tenant().id, input_.names().thread_id, input_.names().run_id,
                    found_or([](Starting& self, const journal::AguiRun& named) { self.come_back(named); },
                             [conversation](Starting& self) { self.settle(conversation); }));
  }

  // Calls back with true when the thread asked for each of them once, and does not any more.
  void are_settled(model::ConversationId conversation, std::size_t index, Callback<void(bool)> then) {
    if (index == input_.resume.size()) return then(true);
    const auto& name = input_.resume[index].interrupt_id;
    if (name.starts_with(client_tool_prefix)) return are_settled(conversation, index + 1, std::move(then));
    const auto id = model::ApprovalId::parse(name);
    if (!id) return then(false);
    store::approval(request_->database(), request_->tenant().id, *id,
                    [self = shared_from_this(), conversation, index,
                     then = std::move(then)](const Result<model::Approval>& approval) mutable {
                      if (!approval || approval.value().conversation_id != conversation) return then(false);
                      self->are_settled(conversation, index + 1, std::move(then));
                    });
  }

  // The decision is on disk, and with it the name of the run that continues.
  void follow() {
    with_named_run(request_, input_.names().thread_id, input_.names().run_id,
                   [self = shared_from_this()](const journal::AguiRun& named) { self->come_back(named); });
  }

  // ── something new ──
  void start_thread() {
    if (!says_something() && input_.results.empty()) return show_new_thread();
    model::Conversation conversation;
    conversation.id = request_->ids().make<model::ConversationId>();
    conversation.tenant_id = request_->tenant().id;
    conversation.agent_id = agent_.value_or(model::AgentId{});
    conversation.created_at = conversation.updated_at = conversation.last_message_at = request_->now();
    send(std::move(conversation));
  }

  void send(std::variant<model::ConversationId, model::Conversation> conversation) {
    const auto* known = std::get_if<model::ConversationId>(&conversation);
    if (known == nullptr) return send_on(std::move(conversation), std::nullopt);
    if (input_.resume.empty()) return find_replaced(*known);
    are_settled(*known, 0, [self = shared_from_this(), id = *known](bool all) {
      all ? self->find_answered(id) : self->send_on(id, std::nullopt);
    });
  }

  // A message that the thread has already is to be answered anew, perhaps in other words.
  void find_replaced(model::ConversationId conversation) {
    find_earlier_prompt(request_, conversation, input_.prompt_id,
                        [self = shared_from_this(), conversation](std::optional<model::MessageId> first) {
                          self->send_on(conversation, first);
                        });
  }

  void send_on(std::variant<model::ConversationId, model::Conversation> conversation,
               std::optional<model::MessageId> replaced) {
    Findings findings;
    if (!input_.resume.empty()) findings.refuse("/resume/0/interruptId", "names nothing that waits for an answer");
    for (const auto& result : input_.results) refuse_result(result, findings);
    if (findings.errors.empty() && input_.prompt.empty()) {
      findings.refuse("/messages", "must end with a message of the user that says something");
    }
    if (refused(request_, findings)) return;
    auto send = send_of(request_, {.content = input_.prompt}, std::move(conversation));
    send.hold = input_.hold;
    send.extras = input_.extras;
    if (replaced) {
      send.extras.agui->replaces = replaced->text();
      send.extras.session_id.reset();  // it remembers what is replaced
    }
    request_->engine().send(std::move(send), [self = shared_from_this()](const engine::SendOutcome& outcome) {
      if (const auto* problem = std::get_if<model::Problem>(&outcome)) return self->look_again(*problem);
      self->come_back({.run = std::get<engine::Sent>(outcome).run.id});
    });
  }

  // Another request with the same words may have been quicker: then it is that one's run.
  void look_again(const model::Problem& problem) {
    store::agui_run(request_->database(), request_->tenant().id, input_.names().thread_id, input_.names().run_id,
                    found_or([](Starting& self, const journal::AguiRun& named) { self.come_back(named); },
                             [problem](Starting& self) { self.request_->problem(problem); }));
  }

  RequestPtr request_;
  const RunInput input_;
  const wire::Format format_;
  const std::optional<model::AgentId> agent_;  // empty: the thread's, or else the default
  Seen seen_;
  world::Timer look_again_;
};

}  // namespace

void start_run(const RequestPtr& request) {
  if (refused_while_draining(request)) return;
  with_agent_of_path(request, [request](std::optional<model::AgentId> agent) {
    auto input = read_run_input(request);
    if (input) std::make_shared<Starting>(request, std::move(*input), agent)->begin();
  });
}

}  // namespace sluice::api::agui
