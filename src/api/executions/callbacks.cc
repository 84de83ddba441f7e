// What a runner asks: env and config, once each, and the bundles of its skills.
#include "api/answers/downloads.h"
#include "api/executions/executions.h"
#include "api/executions/redemption.h"
#include "skills/skills.h"

namespace sluice::api::executions {
namespace {

void answer_secret(const RequestPtr& request, std::string body) {
  request->answer_json(200, std::move(body), {{"Cache-Control", "no-store"}});
}

void send_builtin(const RequestPtr& request, std::string_view sha256) {
  for (auto& skill : skills::builtin_skills()) {
    if (skill.sha256 != sha256) continue;
    return request->answer(200, "application/gzip", std::move(skill.bundle), {{"X-Content-Type-Options", "nosniff"}});
  }
  request->not_found();
}

}  // namespace

void get_env(const RequestPtr& request) {
  if (!has_token(request)) return;
  redeem(request, [request](model::Execution execution) { answer_secret(request, std::move(execution.env_json)); });
}

void get_config(const RequestPtr& request) {
  if (!has_token(request)) return;
  redeem(request, [request](const model::Execution& execution) {
    answer_secret(request, request->services().needs.mint.config_answer(execution));
  });
}

// The skills as they were when the execution was created: a skill that was replaced since has other bytes than the
// runner expects.
void list_skills(const RequestPtr& request) {
  with_bearer(request, [request](const model::Execution& execution) {
    const auto config = json::Document::parse(execution.config_json);
    const auto skills = config ? config.value().root().find("skills") : std::nullopt;
    request->answer_json(200, R"({"object":"list","data":)" + (skills ? skills->to_text() : "[]") +
                                  R"(,"has_more":false,"next_cursor":null})");
  });
}

void get_skill(const RequestPtr& request) {
  with_bearer(request, [request](const model::Execution& execution) {
    const auto config = json::Document::parse(execution.config_json);
    const auto skills = config ? config.value().root().find("skills") : std::nullopt;
    model::Skill found{.tenant_id = execution.tenant_id};
    if (skills) {
      skills->each_element([&](json::Value skill) {
        if (text_of(skill, "id") != request->path_param(1)) return;
        found.name = text_of(skill, "name");
        found.sha256 = text_of(skill, "sha256");
      });
    }
    if (found.sha256.empty()) return request->not_found();
    if (request->path_param(1).starts_with(skills::id_prefix)) return send_builtin(request, found.sha256);
    send_bundle(request, found);
  });
}

// The files that the run's message brought along (A-5), under the names that /config has.
void get_files(const RequestPtr& request) {
  with_bearer(request, [request](const model::Execution& execution) {
    const auto config = json::Document::parse(execution.config_json);
    const auto files = config ? config.value().root().find("files") : std::nullopt;
    const auto items = files && !files->is_null() ? files->find("items") : std::nullopt;
    if (!items) return request->not_found();
    std::vector<ZippedFile> zipped;
    items->each_element([&](json::Value item) {
      const auto size = item.find("size");
      zipped.push_back({text_of(item, "name"), text_of(item, "sha256"), size ? size->integer().value_or(0) : 0});
    });
    send_zip(request, execution.tenant_id, std::move(zipped));
  });
}

}  // namespace sluice::api::executions
