#include "api/assistant/turn_input.h"

#include <algorithm>

#include "api/request/reading.h"
#include "base/utf8.h"

namespace sluice::api::assistant {
namespace {

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

}  // namespace

std::string fault_of_sandbox_url(const RequestPtr& request, std::string_view url) {
  if (!net::is_plain_url(url)) return "must be an http or https URL without credentials, query or fragment";
  if (net::is_allowed(url, request->services().options.sandbox_urls)) return {};
  return "is not among the runners that callers may name (the server's configuration, runner.sandbox_urls)";
}

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

}  // namespace sluice::api::assistant
