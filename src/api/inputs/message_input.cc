#include "api/inputs/message_input.h"

#include <algorithm>

#include "api/inputs/kit_input.h"
#include "api/request/reading.h"
#include "api/request/request_context.h"
#include "base/digest.h"

namespace sluice::api {
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

std::optional<model::Problem> problem_of_missing(const RequestPtr& request, const NamedMaterials& named,
                                                 const store::FoundMaterials& found) {
  Findings findings;
  if (named.names.repository && !found.repository) {
    findings.refuse(named.at + "/repository_id", "names no repository of this tenant");
  }
  for (std::size_t i = 0; i < named.names.skills.size(); ++i) {
    if (std::ranges::find(found.missing, named.names.skills[i]) == found.missing.end()) continue;
    findings.refuse(named.at + "/skill_ids/" + std::to_string(i), "names no skill of this tenant");
  }
  if (named.names.environment && !found.environment) {
    findings.refuse(named.at + "/" + std::string(named.environment_member), "names no environment of this tenant");
  }
  return problem_of(request, findings);
}

// Answers only where the store cannot say.
void look_for_materials(const RequestPtr& request, NamedMaterials named,
                        Callback<void(store::FoundMaterials, std::optional<model::Problem>)> then) {
  if (named.empty()) return then({}, std::nullopt);
  auto names = named.names;
  store::materials(
      request->database(), request->tenant().id, std::move(names),
      [request, named = std::move(named), then = std::move(then)](Result<store::FoundMaterials> found) mutable {
        if (!found) return request->fail(found.error());
        auto problem = problem_of_missing(request, named, found.value());
        then(std::move(found).take(), std::move(problem));
      });
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

std::optional<journal::Idempotency> idempotency_of(const RequestPtr& request, std::optional<std::string> key,
                                                   std::string operation) {
  if (!key) return std::nullopt;
  return journal::Idempotency{.principal = request->holder().key.id,
                              .operation = std::move(operation),
                              .key = std::move(*key),
                              .request_sha256 = sha256(request->http().body)};
}

bool refused_while_draining(const RequestPtr& request) {
  if (!request->services().draining) return false;
  request->problem(model::Problem{.slug = model::Slug::unavailable,
                                  .detail = "The server is about to stop; nothing was created.",
                                  .retry_after_seconds = 1});
  return true;
}

engine::Send send_of(const RequestPtr& request, MessageInput input,
                     std::variant<model::ConversationId, model::Conversation> conversation) {
  engine::Send out;
  out.tenant = request->tenant().id;
  out.conversation = std::move(conversation);
  out.content = std::move(input.content);
  out.repository_id = std::move(input.repository_id);
  out.skill_ids = std::move(input.skill_ids);
  out.env = std::move(input.env);
  out.env_name = std::move(input.env_name);
  out.tenant_limits = request->tenant().limits;
  out.tenant_filler = request->tenant().filler_enabled;
  out.message_filler = input.filler;
  out.extras.session_id = std::move(input.session_id);
  out.request_id = request->request_id();
  out.traceparent = std::string(request->traceparent());
  return out;
}

NamedMaterials named_by(const MessageInput& input, std::string at) {
  NamedMaterials out{.at = std::move(at)};
  out.names.repository = input.repository_id;
  if (input.skill_ids) out.names.skills = *input.skill_ids;
  out.names.environment = input.env_name;
  return out;
}

void find_materials(const RequestPtr& request, NamedMaterials named, Callback<void(store::FoundMaterials)> then) {
  look_for_materials(
      request, std::move(named),
      [request, then = std::move(then)](store::FoundMaterials found, std::optional<model::Problem> problem) mutable {
        problem ? request->problem(*problem) : then(std::move(found));
      });
}

void check_materials(const RequestPtr& request, std::vector<NamedMaterials> named,
                     Callback<void(std::optional<model::Problem>)> then) {
  if (named.empty()) return then(std::nullopt);
  auto next = std::move(named.back());
  named.pop_back();
  look_for_materials(request, std::move(next),
                     [request, named = std::move(named), then = std::move(then)](
                         const store::FoundMaterials&, std::optional<model::Problem> problem) mutable {
                       problem ? then(std::move(problem)) : check_materials(request, std::move(named), std::move(then));
                     });
}

}  // namespace sluice::api
