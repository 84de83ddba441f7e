#include "api/integration/message_input.h"

#include "api/integration/kit_input.h"
#include "api/request_context.h"
#include "base/digest.h"

namespace sluice::api::integration {
namespace {

constexpr std::string_view filler_names[] = {"enabled"};
constexpr TextRule content_rule{
    .chars_min = 1, .chars_max = limits::message_content_bytes_max, .bytes_max = limits::message_content_bytes_max};

enum class OnCapacity : uint8_t { reject, hold };

std::optional<OnCapacity> on_capacity_named(std::string_view name) {
  if (name == "reject") return OnCapacity::reject;
  if (name == "hold") return OnCapacity::hold;
  return std::nullopt;
}

}  // namespace

std::optional<bool> read_filler(const Fields& fields) {
  const auto filler = fields.object("filler", filler_names);
  if (!filler) return std::nullopt;
  filler->require("enabled");
  return filler->boolean("enabled");
}

bool read_on_capacity(const Fields& fields) {
  return fields.word("on_capacity", on_capacity_named, "reject, hold") == OnCapacity::hold;
}

MessageInput read_materials(const Fields& fields) {
  MessageInput out;
  out.repository_id = fields.text("repository_id", name_rule);
  out.skill_ids = fields.texts("skill_ids", limits::skill_ids_max);
  if (fields.is_text("env")) {
    out.env_name = fields.text("env", name_rule);
  } else {
    out.env = fields.env("env");
  }
  return out;
}

MessageInput read_message_input(const Fields& fields) {
  fields.require("content");
  MessageInput out = read_materials(fields);
  out.content = fields.text("content", content_rule).value_or("");
  out.filler = read_filler(fields);
  out.session_id = read_session_id(fields, "session_id");
  return out;
}

std::optional<store::Idempotency> idempotency_of(const Asked& asked, std::optional<std::string> key,
                                                 std::string operation) {
  if (!key) return std::nullopt;
  return store::Idempotency{.principal = asked->holder().key.id,
                            .operation = std::move(operation),
                            .key = std::move(*key),
                            .request_sha256 = sha256(asked->request().body)};
}

bool refused_while_draining(const Asked& asked) {
  if (!asked->surface().draining) return false;
  asked->problem(model::Problem{.slug = model::Slug::unavailable,
                                .detail = "The server is about to stop; nothing was created.",
                                .retry_after_seconds = 1});
  return true;
}

engine::Send send_of(const Asked& asked, MessageInput input,
                     std::variant<model::ConversationId, model::Conversation> conversation) {
  engine::Send out;
  out.tenant = asked->tenant().id;
  out.conversation = std::move(conversation);
  out.content = std::move(input.content);
  out.repository_id = std::move(input.repository_id);
  out.skill_ids = std::move(input.skill_ids);
  out.env = std::move(input.env);
  out.env_name = std::move(input.env_name);
  out.tenant_limits = asked->tenant().limits;
  out.tenant_filler = asked->tenant().filler_enabled;
  out.message_filler = input.filler;
  out.extras.session_id = std::move(input.session_id);
  out.request_id = asked->request_id();
  out.traceparent = std::string(asked->traceparent());
  return out;
}

}  // namespace sluice::api::integration
