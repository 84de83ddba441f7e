// POST: the next turn of a chat, or its first, which makes the chat.
#include <algorithm>

#include "api/assistant/chats.h"
#include "api/assistant/turns.h"
#include "api/handlers.h"
#include "api/inputs/message_input.h"
#include "api/request/reading.h"
#include "base/utf8.h"

namespace sluice::api::assistant {
namespace {

// A turn of a chat, as a browser sends it.
struct TurnInput {
  std::string message;
  std::optional<model::ConversationId> chat;  // empty: a new chat
  std::optional<model::AgentId> agent;
  std::vector<model::FileId> attachments;
  std::string sandbox_url;
  bool keeps_on = false;  // continue without a reader
  bool hold = true;       // wait if all slots are taken
};

constexpr std::string_view names[] = {"message",       "chatId",     "workspaceId",  "agentId",
                                      "attachmentIds", "sandboxUrl", "onDisconnect", "onCapacity"};
constexpr TextRule message_rule{.chars_min = 1, .chars_max = limits::chat_message_chars_max};
constexpr TextRule url_rule{.chars_min = 1, .chars_max = 2048};

enum class OnDisconnect : uint8_t { cancel, keep };

std::optional<OnDisconnect> on_disconnect_named(std::string_view name) {
  if (name == "cancel") return OnDisconnect::cancel;
  if (name == "keep") return OnDisconnect::keep;
  return std::nullopt;
}

enum class OnCapacity : uint8_t { reject, hold };

std::optional<OnCapacity> on_capacity_named(std::string_view name) {
  if (name == "reject") return OnCapacity::reject;
  if (name == "hold") return OnCapacity::hold;
  return std::nullopt;
}

void check_workspace(const RequestPtr& request, const Fields& fields) {
  const auto named = fields.text("workspaceId", name_rule);
  const auto own = model::WorkspaceId{request->tenant().id.ulid}.text();
  if (named && *named != own) fields.refuse("workspaceId", "is not the workspace of your key, which is " + own);
}

std::vector<model::FileId> read_attachments(const Fields& fields) {
  std::vector<model::FileId> ids;
  const auto given = fields.texts("attachmentIds", limits::attachments_max);
  for (std::size_t i = 0; given && i < given->size(); ++i) {
    const auto at = "attachmentIds/" + std::to_string(i);
    const auto id = model::FileId::parse((*given)[i]);
    if (!id) {
      fields.refuse_at(at, "is not the id of a file");
    } else if (std::ranges::find(ids, *id) != ids.end()) {
      fields.refuse_at(at, "names a file for the second time");
    } else {
      ids.push_back(*id);
    }
  }
  return ids;
}

bool is_line_break(char c) { return c == '\n' || c == '\r'; }
bool is_blank(char c) { return static_cast<unsigned char>(c) <= ' ' || c == '\x7f'; }

// The reason why no runner at that URL (S-8) may carry out runs, in words that follow its name; empty if it may.
std::string fault_of_sandbox_url(const RequestPtr& request, std::string_view url) {
  if (!net::is_plain_url(url)) return "must be an http or https URL without credentials, query or fragment";
  if (net::is_allowed(url, request->services().options.sandbox_urls)) return {};
  return "is not among the runners that callers may name (the server's configuration, runner.sandbox_urls)";
}

// Empty: the turn is invalid, and the request has been answered.
std::optional<TurnInput> read_turn(const RequestPtr& request) {
  const auto body = read_body(request);
  if (!body) return std::nullopt;
  Findings findings;
  const Fields fields(body->root(), "", names, findings);
  TurnInput out;
  fields.require("message");
  out.message = fields.text("message", message_rule).value_or("");
  out.chat = fields.id<model::ConversationId>("chatId", "a chat");
  out.agent = fields.id<model::AgentId>("agentId", "an agent");
  check_workspace(request, fields);
  out.attachments = read_attachments(fields);
  out.sandbox_url = fields.text("sandboxUrl", url_rule).value_or("");
  if (!out.sandbox_url.empty()) {
    if (auto fault = fault_of_sandbox_url(request, out.sandbox_url); !fault.empty()) {
      fields.refuse("sandboxUrl", std::move(fault));
    }
  }
  out.keeps_on = fields.word("onDisconnect", on_disconnect_named, "cancel, keep") == OnDisconnect::keep;
  out.hold = fields.word("onCapacity", on_capacity_named, "reject, hold") != OnCapacity::reject;
  if (refused(request, findings)) return std::nullopt;
  return out;
}

constexpr std::string_view sandbox_variable = "SANDBOX_URL";
// A turn without a reader makes way. A client that loses the chat to others every time is answered that it is busy.
constexpr int tries_max = 3;

class TurnSending final {
 public:
  TurnSending(const RequestPtr& request, TurnInput input) : request_(request), input_(std::move(input)) {
    turn_.keep_on_disconnect = input_.keeps_on;
  }

  Task<> run() {
    if (input_.chat) {
      chat_ = co_await chat_named(request_, input_.chat);
      if (input_.agent && *input_.agent != chat_.agent_id) {
        co_return request_->invalid("/agentId", "is not the chat's agent, which is " + chat_.agent_id.text());
      }
    } else {
      begin_chat();
    }
    co_await find_attachments();
    if (input_.sandbox_url.empty()) co_await find_sandbox();
    if (!has_sandbox() && !turn_.attachments.empty()) {
      co_return request_->problem(
          model::Slug::runner_unavailable,
          "Files need a sandbox: this server has none, and no runner was named (sandboxUrl, SANDBOX_URL "
          "of the agent's environment, or runner.urls of the server). Nothing was created.");
    }
    co_await send();
  }

 private:
  void begin_chat() {
    chat_.id = request_->ids().make<model::ConversationId>();
    chat_.tenant_id = request_->tenant().id;
    chat_.agent_id = input_.agent.value_or(model::AgentId{});
    chat_.kind = model::ConversationKind::chat;
    chat_.title = title_of(input_.message);
    chat_.created_at = chat_.updated_at = chat_.last_message_at = request_->now();
  }

  // One by one, so that a wrong one can be pointed at.
  Task<> find_attachments() {
    for (std::size_t i = 0; i < input_.attachments.size(); ++i) {
      const auto file = co_await found_if_any<model::BagFile>(request_, &store::bag_file, request_->tenant().id,
                                                              input_.attachments[i]);
      if (!file || (file->chat_id && file->chat_id != chat_.id)) {
        request_->invalid("/attachmentIds/" + std::to_string(i), "names no file of this chat, nor one without a chat");
        co_await answered();
      }
      turn_.attachments.push_back({file->id.text(), file->name, file->type, file->size_bytes, file->sha256,
                                   file->created_at.ms, std::string(model::name_of(file->source))});
    }
  }

  // The runner (S-8) that the agent's environment names; if it names none, the server's own is used.
  Task<> find_sandbox() {
    const auto tenant = request_->tenant().id;
    std::optional<model::Agent> agent;
    if (chat_.agent_id == model::AgentId{}) {
      agent = co_await found_if_any<model::Agent>(request_, &store::default_agent, tenant);
    } else {
      agent = co_await found_if_any<model::Agent>(request_, &store::agent, tenant, chat_.agent_id);
    }
    if (!agent) {
      refuse_agent();
      co_await answered();
    }
    if (!agent->environment_id) co_return;
    const auto environment =
        co_await found<model::Environment>(request_, &store::environment, tenant, *agent->environment_id);
    const auto named = environment.variables.find(std::string(sandbox_variable));
    if (named == environment.variables.end()) co_return;
    if (const auto fault = fault_of_sandbox_url(request_, named->second); !fault.empty()) {
      request_->invalid("/agentId", "SANDBOX_URL of its environment " + fault);
      co_await answered();
    }
    input_.sandbox_url = named->second;
  }

  void refuse_agent() { request_->invalid("/agentId", "names no agent of this workspace"); }

  bool has_sandbox() const { return request_->services().options.has_sandbox || !input_.sandbox_url.empty(); }

  engine::Send make_send() const {
    std::variant<model::ConversationId, model::Conversation> chat = chat_.id;
    if (!input_.chat) chat = chat_;
    auto send = send_of(request_, {.content = input_.message}, std::move(chat));
    send.hold = input_.hold;
    send.extras.chat = turn_;
    send.extras.sandbox_url = input_.sandbox_url;
    // Without a sandbox the files could not be used, but a model can still answer.
    if (has_sandbox()) send.extras.builtin_skills = {"tables", "files", "workflow_editor"};
    return send;
  }

  Task<> send() {
    turn_.title = chat_.title.value_or("");
    turn_.created_at_ms = chat_.created_at.ms;
    for (int tries_left = tries_max;; --tries_left) {
      const auto outcome = co_await answer<engine::SendOutcome>(
          [this](auto done) { request_->engine().send(make_send(), std::move(done)); });
      if (const auto* sent = std::get_if<engine::Sent>(&outcome)) {
        co_return open_turn_stream(request_, {sent->run, input_.keeps_on});
      }
      const auto& problem = std::get<model::Problem>(outcome);
      if (problem.slug == model::Slug::conversation_archived) co_return request_->not_found();
      if (problem.slug == model::Slug::not_found) co_return refuse_agent();
      const auto run = model::RunId::parse(problem.conflicting_resource_id.value_or(""));
      if (problem.slug != model::Slug::conversation_busy || !run) co_return request_->problem(problem);
      if (tries_left == 0 || !request_->services().turns.is_left(*run)) {
        co_await answer_busy(problem, *run);
        co_return;
      }
      // However the cancellation ends, the turn without a reader is over then.
      co_await answer<std::variant<model::Run, model::Problem>>(
          [&](auto done) { request_->engine().cancel(request_->tenant().id, *run, std::move(done)); });
    }
  }

  Task<> answer_busy(model::Problem problem, model::RunId run) {
    const auto running = co_await asked<model::Run>(request_, &store::run, request_->tenant().id, run);
    if (running) {
      problem.more = {{"streamId", running.value().id.text()}, {"messageId", running.value().message_id.text()}};
    }
    request_->problem(problem);
  }

  RequestPtr request_;
  TurnInput input_;
  model::Conversation chat_;
  model::ChatTurn turn_;
};

Task<> send(RequestPtr request, TurnInput input) {
  TurnSending sending(request, std::move(input));
  co_await sending.run();
}

}  // namespace

std::string title_of(std::string_view message) {
  while (!message.empty() && is_blank(message.front())) message.remove_prefix(1);
  std::string title;
  std::size_t chars = 0;
  for (const char c : message) {
    const bool begins_char = !continues_utf8(c);
    if (is_line_break(c) || (begins_char && ++chars > limits::chat_title_chars_max)) break;
    title += is_blank(c) ? ' ' : c;
  }
  while (!title.empty() && title.back() == ' ') title.pop_back();
  return title.empty() ? "Untitled" : title;
}

void send_turn(const RequestPtr& request) {
  if (refused_while_draining(request)) return;
  if (auto input = read_turn(request)) start_unowned(send(request, *std::move(input)));
}

}  // namespace sluice::api::assistant
