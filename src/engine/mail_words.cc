#include "engine/mail_words.h"

#include <algorithm>

#include "base/bytes.h"

namespace sluice::engine::mail {
namespace {

int64_t integer_of(json::Value object, std::string_view name) {
  const auto found = object.find(name);
  return found ? found->integer().value_or(0) : 0;
}

std::optional<std::string> optional_text_of(json::Value object, std::string_view name) {
  const auto found = object.find(name);
  const auto text = found ? found->string() : std::nullopt;
  return text ? std::optional<std::string>(*text) : std::nullopt;
}

void append(json::Writer& writer, const model::SealedSecret& secret) {
  writer.begin_object().key("tenant").string(secret.tenant_id.text());
  writer.key("scope").string(model::name_of(secret.scope)).key("owner").string(model::TenantId{secret.owner}.text());
  writer.key("alias").string(secret.alias).key("places").integer(secret.places);
  writer.key("hosts").begin_array();
  for (const auto& host : secret.hosts) writer.string(host);
  writer.end_array().key("sealed").string(to_base64url(secret.sealed));
  writer.key("created_ms").integer(secret.created_at.ms).key("updated_ms").integer(secret.updated_at.ms).end_object();
}

std::optional<model::SealedSecret> secret_from_json(json::Value value) {
  const auto tenant = model::TenantId::parse(text_of(value, "tenant"));
  const auto owner = model::TenantId::parse(text_of(value, "owner"));
  const auto scope = model::secret_scope_named(text_of(value, "scope"));
  auto sealed = from_base64url(text_of(value, "sealed"));
  if (!tenant || !owner || !scope || !sealed) return std::nullopt;
  model::SealedSecret secret{.tenant_id = *tenant, .scope = *scope, .owner = owner->ulid};
  secret.alias = text_of(value, "alias");
  secret.places = static_cast<uint8_t>(integer_of(value, "places"));
  if (const auto hosts = value.find("hosts")) {
    hosts->each_element([&](json::Value host) { secret.hosts.emplace_back(host.string().value_or("")); });
  }
  secret.sealed = *std::move(sealed);
  secret.created_at = {integer_of(value, "created_ms")};
  secret.updated_at = {integer_of(value, "updated_ms")};
  return secret;
}

}  // namespace

std::string object_of(std::string_view name, std::string_view value) {
  std::string out;
  json::Writer(out).begin_object().key(name).string(value).end_object();
  return out;
}

std::string object_of(model::TenantId tenant, std::string_view name, std::string_view value) {
  std::string out;
  json::Writer(out).begin_object().key("tenant").string(tenant.text()).key(name).string(value).end_object();
  return out;
}

std::string text_in(std::string_view json, std::string_view name) {
  const auto document = json::Document::parse(json);
  return document ? text_of(document.value().root(), name) : "";
}

std::string to_json(const Decision& decision) {
  std::string out;
  json::Writer writer(out);
  writer.begin_object().key("tenant").string(decision.tenant.text());
  writer.key("approval").string(decision.approval.text()).key("approve").boolean(decision.approve);
  writer.key("resolved_by").string(decision.resolved_by).key("note").string_or_null(decision.note);
  writer.key("secrets").begin_array();
  for (const auto& secret : decision.secrets) append(writer, secret);
  writer.end_array().key("audit_detail").string(decision.audit_detail);
  writer.key("answers").raw(model::to_json(decision.answers));
  writer.key("agui_thread_id").string(decision.answers.agui_thread_id).end_object();
  return out;
}

std::optional<Decision> decision_from_json(std::string_view json) {
  const auto document = json::Document::parse(json);
  if (!document) return std::nullopt;
  const auto root = document.value().root();
  const auto tenant = model::TenantId::parse(text_of(root, "tenant"));
  const auto approval = model::ApprovalId::parse(text_of(root, "approval"));
  const auto approve = root.find("approve");
  if (!tenant || !approval || !approve || !approve->boolean()) return std::nullopt;
  Decision decision{.tenant = *tenant, .approval = *approval, .approve = *approve->boolean()};
  decision.resolved_by = text_of(root, "resolved_by");
  decision.note = optional_text_of(root, "note");
  decision.audit_detail = text_of(root, "audit_detail");
  if (const auto answers = root.find("answers")) decision.answers = model::answers_from_json(*answers);
  decision.answers.agui_thread_id = text_of(root, "agui_thread_id");
  bool whole = true;
  if (const auto secrets = root.find("secrets")) {
    secrets->each_element([&](json::Value value) {
      auto secret = secret_from_json(value);
      whole = whole && secret.has_value();
      if (secret) decision.secrets.push_back(*std::move(secret));
    });
  }
  return whole ? std::optional(std::move(decision)) : std::nullopt;
}

std::string problem_answer(const model::Problem& problem) {
  std::string out;
  json::Writer writer(out);
  writer.begin_object().key("problem").begin_object();
  writer.key("name").string(model::entry_of(problem.slug).name).key("detail").string(problem.detail);
  writer.key("resource").string_or_null(problem.conflicting_resource_id);
  if (problem.retry_after_seconds) writer.key("retry_after_seconds").integer(*problem.retry_after_seconds);
  writer.key("errors").begin_array();
  for (const auto& error : problem.errors) {
    writer.begin_object().key("pointer").string(error.pointer).key("message").string(error.message).end_object();
  }
  writer.end_array().end_object().end_object();
  return out;
}

std::optional<model::Problem> problem_in(std::string_view json) {
  const auto document = json::Document::parse(json);
  if (!document) return model::Problem{.detail = "Another server's answer made no sense."};
  const auto sent = document.value().root().find("problem");
  if (!sent) return std::nullopt;
  model::Problem problem;
  const auto registry = model::problem_registry();
  const auto entry = std::ranges::find(registry, text_of(*sent, "name"), &model::SlugEntry::name);
  if (entry != registry.end()) problem.slug = entry->slug;
  problem.detail = text_of(*sent, "detail");
  problem.conflicting_resource_id = optional_text_of(*sent, "resource");
  if (const auto seconds = sent->find("retry_after_seconds")) problem.retry_after_seconds = seconds->integer();
  if (const auto errors = sent->find("errors")) {
    errors->each_element(
        [&](json::Value error) { problem.errors.push_back({text_of(error, "pointer"), text_of(error, "message")}); });
  }
  return problem;
}

std::string to_json(const TakeRequest& request) {
  std::string out;
  json::Writer writer(out);
  writer.begin_object().key("tenant").string(request.tenant.text()).key("run").string(request.run.text());
  writer.key("epoch").integer(static_cast<int64_t>(request.epoch.value)).end_object();
  return out;
}

std::optional<TakeRequest> take_from_json(std::string_view json) {
  const auto document = json::Document::parse(json);
  if (!document) return std::nullopt;
  const auto root = document.value().root();
  const auto tenant = model::TenantId::parse(text_of(root, "tenant"));
  const auto run = model::RunId::parse(text_of(root, "run"));
  if (!tenant || !run) return std::nullopt;
  return TakeRequest{*tenant, *run, {static_cast<uint64_t>(integer_of(root, "epoch"))}};
}

}  // namespace sluice::engine::mail
