// POST: the next turn of a chat, or its first, which makes the chat.
#include "api/assistant/assistant.h"
#include "api/assistant/chats.h"
#include "api/assistant/turn_input.h"
#include "api/inputs/message_input.h"

namespace sluice::api::assistant {
namespace {

constexpr std::string_view sandbox_variable = "SANDBOX_URL";
// A turn without a reader makes way. A client that loses the chat to others every time is answered that it is busy.
constexpr int tries_max = 3;

// Kept alive by the answer it waits for.
class TurnSending final : public std::enable_shared_from_this<TurnSending> {
 public:
  TurnSending(const RequestPtr& request, TurnInput input) : request_(request), input_(std::move(input)) {
    turn_.keep_on_disconnect = input_.keeps_on;
  }

  void begin() {
    if (!input_.chat) return begin_chat();
    with_chat(request_, *input_.chat, [self = shared_from_this()](const model::Conversation& chat) {
      if (self->input_.agent && *self->input_.agent != chat.agent_id) {
        return self->request_->invalid("/agentId", "is not the chat's agent, which is " + chat.agent_id.text());
      }
      self->chat_ = chat;
      self->find_attachment();
    });
  }

 private:
  void begin_chat() {
    chat_.id = request_->ids().make<model::ConversationId>();
    chat_.tenant_id = request_->tenant().id;
    chat_.agent_id = input_.agent.value_or(model::AgentId{});
    chat_.kind = model::ConversationKind::chat;
    chat_.title = title_of(input_.message);
    chat_.created_at = chat_.updated_at = chat_.last_message_at = request_->now();
    find_attachment();
  }

  // One by one, so that a wrong one can be pointed at.
  void find_attachment() {
    const auto index = turn_.attachments.size();
    if (index == input_.attachments.size()) return find_agent();
    store::bag_file(request_->database(), request_->tenant().id, input_.attachments[index],
                    [self = shared_from_this(), index](const Result<model::BagFile>& file) {
                      if (!file && file.error().kind != ErrorKind::not_found) {
                        return self->request_->fail(file.error());
                      }
                      const bool fits = file && (!file.value().chat_id || self->is_own(file.value()));
                      if (!fits) {
                        return self->request_->invalid("/attachmentIds/" + std::to_string(index),
                                                       "names no file of this chat, nor one without a chat");
                      }
                      self->attach(file.value());
                      self->find_attachment();
                    });
  }

  bool is_own(const model::BagFile& file) const { return file.chat_id == chat_.id; }

  void attach(const model::BagFile& file) {
    turn_.attachments.push_back({file.id.text(), file.name, file.type, file.size_bytes, file.sha256, file.created_at.ms,
                                 std::string(model::name_of(file.source))});
  }

  // S-8: the caller's word on the runner, then the agent's environment, then the server's own.
  void find_agent() {
    if (!input_.sandbox_url.empty()) return send(tries_max);
    auto found = [self = shared_from_this()](const Result<model::Agent>& agent) {
      if (!agent && agent.error().kind != ErrorKind::not_found) return self->request_->fail(agent.error());
      if (!agent) return self->refuse_agent();
      const auto& environment = agent.value().environment_id;
      environment ? self->find_sandbox(*environment) : self->send(tries_max);
    };
    if (chat_.agent_id == model::AgentId{})
      return store::default_agent(request_->database(), request_->tenant().id, std::move(found));
    store::agent(request_->database(), request_->tenant().id, chat_.agent_id, std::move(found));
  }

  void find_sandbox(model::EnvironmentId environment) {
    store::environment(request_->database(), request_->tenant().id, environment,
                       [self = shared_from_this()](const Result<model::Environment>& found) {
                         if (!found) return self->request_->fail(found.error());
                         const auto& variables = found.value().variables;
                         const auto named = variables.find(std::string(sandbox_variable));
                         if (named == variables.end()) return self->send(tries_max);
                         const auto fault = fault_of_sandbox_url(self->request_, named->second);
                         if (!fault.empty()) {
                           return self->request_->invalid("/agentId", "SANDBOX_URL of its environment " + fault);
                         }
                         self->input_.sandbox_url = named->second;
                         self->send(tries_max);
                       });
  }

  void refuse_agent() { request_->invalid("/agentId", "names no agent of this workspace"); }

  // ── it is all there ──

  bool has_sandbox() const { return request_->services().options.has_sandbox || !input_.sandbox_url.empty(); }

  void send(int tries_left) {
    if (!has_sandbox() && !turn_.attachments.empty()) {
      return request_->problem(
          model::Slug::runner_unavailable,
          "Files need a sandbox: this server has none, and no runner was named (sandboxUrl, SANDBOX_URL "
          "of the agent's environment, or runner.urls of the server). Nothing was created.");
    }
    turn_.title = chat_.title.value_or("");
    turn_.created_at_ms = chat_.created_at.ms;
    std::variant<model::ConversationId, model::Conversation> chat = chat_.id;
    if (!input_.chat) chat = chat_;
    auto send = send_of(request_, {.content = input_.message}, std::move(chat));
    send.hold = input_.hold;
    send.extras.chat = turn_;
    send.extras.sandbox_url = input_.sandbox_url;
    // Without a sandbox the files could not be used, but a model can still answer.
    if (has_sandbox()) send.extras.builtin_skills = {"tables", "files", "workflow_editor"};
    request_->engine().send(
        std::move(send), [self = shared_from_this(), tries_left](const engine::SendOutcome& outcome) {
          if (const auto* problem = std::get_if<model::Problem>(&outcome))
            return self->on_problem(*problem, tries_left);
          open_turn_stream(self->request_, {std::get<engine::Sent>(outcome).run, self->input_.keeps_on});
        });
  }

  void on_problem(const model::Problem& problem, int tries_left) {
    if (problem.slug == model::Slug::conversation_archived) return request_->not_found();
    if (problem.slug == model::Slug::not_found) return refuse_agent();
    const auto run = model::RunId::parse(problem.conflicting_resource_id.value_or(""));
    if (problem.slug != model::Slug::conversation_busy || !run) return request_->problem(problem);
    if (tries_left > 0 && request_->services().turns.is_left(*run)) return make_way(*run, tries_left);
    store::run(request_->database(), request_->tenant().id, *run,
               [self = shared_from_this(), problem](const Result<model::Run>& running) {
                 auto busy = problem;
                 if (running) {
                   busy.more = {{"streamId", running.value().id.text()},
                                {"messageId", running.value().message_id.text()}};
                 }
                 self->request_->problem(busy);
               });
  }

  // However that ends: it is over then.
  void make_way(model::RunId left, int tries_left) {
    request_->engine().cancel(request_->tenant().id, left,
                              [self = shared_from_this(), tries_left](const auto&) { self->send(tries_left - 1); });
  }

  RequestPtr request_;
  TurnInput input_;
  model::Conversation chat_;
  model::ChatTurn turn_;
};

}  // namespace

void send_turn(const RequestPtr& request) {
  if (refused_while_draining(request)) return;
  if (auto input = read_turn(request)) std::make_shared<TurnSending>(request, *std::move(input))->begin();
}

}  // namespace sluice::api::assistant
