#include "api/executions/redemption.h"

#include <algorithm>

#include "api/answers/downloads.h"
#include "api/handlers.h"
#include "base/digest.h"
#include "skills/skills.h"

namespace sluice::api::executions {
namespace {

constexpr std::size_t token_chars_max = 256;

model::TokenPurpose purpose_of(Access access) {
  switch (access) {
    case Access::setup_token: return model::TokenPurpose::setup;
    case Access::run_token: return model::TokenPurpose::run;
    default: break;
  }
  SLUICE_CHECK(access == Access::upload_token);
  return model::TokenPurpose::upload;
}

}  // namespace

void refuse_token(const RequestPtr& request) {
  constexpr std::string_view detail = "This token is used, expired, of another execution, or none at all.";
  if (!request->header("Authorization")) return request->problem(model::Slug::token_invalid, detail);
  request->turn_away(model::Slug::token_invalid, detail);
}

void refuse(const RequestPtr& request, const Error& error) {
  error.kind == ErrorKind::denied ? refuse_token(request) : request->fail(error);
}

bool has_token(const RequestPtr& request) {
  const auto token = request->header("Authorization").value_or("");
  const bool fine = !token.empty() && token.size() <= token_chars_max && !request->is_repeated("Authorization") &&
                    std::ranges::all_of(token, [](char c) { return c > ' ' && c <= '~'; }) &&
                    request->path_id<model::ExecutionId>().has_value();
  if (!fine) refuse_token(request);
  return fine;
}

void check_head(const RequestPtr& request) {
  const auto access = request->route()->access;
  if (access == Access::bearer) {
    return with_bearer(request, [request](const model::Execution&) { request->let_in(request); });
  }
  if (!has_token(request)) return;
  store::check_token(request->database(), *request->path_id<model::ExecutionId>(), purpose_of(access),
                     sha256(*request->header("Authorization")), request->now(), [request](const Result<Unit>& good) {
                       good ? request->let_in(request) : refuse(request, good.error());
                     });
}

void redeem(const RequestPtr& request, Callback<void(model::Execution)> then) {
  const auto execution = request->path_id<model::ExecutionId>();
  store::redeem(request->database(), *execution, purpose_of(request->route()->access),
                sha256(*request->header("Authorization")), request->now(),
                [request, then = std::move(then)](Result<store::Redeemed> redeemed) mutable {
                  if (!redeemed) return refuse(request, redeemed.error());
                  request->exchange().trust_caller();
                  then(std::move(redeemed.value().execution));
                });
}

void with_bearer(const RequestPtr& request, Callback<void(model::Execution)> then) {
  const auto wanted = request->path_id<model::ExecutionId>();
  if (!wanted || request->is_repeated("Authorization")) return refuse_token(request);
  request->services().authentication.identify(
      request->header("Authorization"), [request, wanted, then = std::move(then)](Result<Identity> identity) mutable {
        if (!identity) return request->fail(identity.error());
        auto* sandbox = std::get_if<SandboxCaller>(&identity.value());
        if (sandbox == nullptr || !sandbox->execution || sandbox->execution->id != *wanted)
          return refuse_token(request);
        request->exchange().trust_caller();
        then(*std::move(sandbox->execution));
      });
}

// ── what a runner asks: env and config, once each, and the bundles of its skills ──

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
