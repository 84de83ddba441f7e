#include "base/json.h"
#include "cli/asking.h"
#include "cli/cli.h"
#include "cli/render.h"

namespace sluice::cli {
namespace {

// The tenant of --tenant or of bootstrap.json; empty: said that there is none.
std::string tenant_path(Context& context, std::string_view rest) {
  const auto given = context.arguments.flag("--tenant");
  const auto& tenant = given.empty() ? context.access.tenant_id : given;
  if (tenant.empty()) {
    report_error(context.console, context.form(),
                 "which tenant? Give --tenant TENANT_ID (see: " + context.hints.command("tenants list") + ")");
  }
  return tenant.empty() ? "" : "/v1/tenants/" + path_part(tenant) + std::string(rest);
}

constexpr std::pair<std::string_view, std::string_view> limit_flags[] = {
    {"--max-output-tokens", "max_output_tokens"},
    {"--max-runtime-seconds", "max_runtime_seconds"},
    {"--max-history-messages", "max_history_messages"},
};

// What the flags say about an agent, as the API wants it. `invalid` in words.
Result<std::string> agent_body(const Arguments& arguments, const std::string& name) {
  std::string body;
  json::Writer writer(body);
  writer.begin_object();
  if (!name.empty()) writer.key("name").string(name);
  if (arguments.has("--system")) writer.key("system_prompt").string(arguments.flag("--system"));
  if (arguments.has("--provider") != arguments.has("--model")) {
    return Error{ErrorKind::invalid, "--provider and --model belong together"};
  }
  if (arguments.has("--provider")) {
    writer.key("model").begin_object().key("provider").string(arguments.flag("--provider"));
    writer.key("name").string(arguments.flag("--model"));
    if (arguments.has("--base-url")) writer.key("base_url").string(arguments.flag("--base-url"));
    writer.end_object();
  } else if (arguments.has("--base-url")) {
    return Error{ErrorKind::invalid, "--base-url needs --provider and --model"};
  }
  std::string given;
  json::Writer inner(given);
  inner.begin_object();
  for (const auto& [flag, member] : limit_flags) {
    if (!arguments.has(flag)) continue;
    const auto value = arguments.flag(flag);
    if (value.empty() || value.size() > 18 || value.find_first_not_of("0123456789") != std::string::npos) {
      return Error{ErrorKind::invalid, std::string(flag) + " must be a number, not \"" + value + "\""};
    }
    inner.key(member).integer(std::stoll(value));
  }
  inner.end_object();
  if (given != "{}") writer.key("limits").raw(given);
  write_skills(writer, arguments);
  if (arguments.has("--environment")) {
    const auto id = arguments.flag("--environment");
    writer.key("environment_id");
    id.empty() ? writer.null() : writer.string(id);
  }
  if (arguments.has("--default")) writer.key("is_default").boolean(true);
  writer.end_object();
  return body;
}

int save_agent(Context& context, const std::string& method, const std::string& path, const std::string& name) {
  const auto body = agent_body(context.arguments, name);
  if (body) return show(context, As::service, method, path, body.value());
  report_error(context.console, context.form(), body.error().what);
  return exit_usage;
}

constexpr Column conversation_columns[] = {
    {"ID", "id"}, {"STATUS", "status"}, {"LAST MESSAGE", "last_message_at"}, {"USER", "user_id"}, {"TITLE", "title"}};
constexpr Column run_columns[] = {
    {"ID", "id"}, {"STATE", "state"}, {"CREATED", "created_at"}, {"ENDED", "ended_at"}, {"MESSAGE", "message_id"}};
constexpr Column agent_columns[] = {
    {"ID", "id"}, {"NAME", "name"}, {"PROVIDER", "model.provider"}, {"MODEL", "model.name"}, {"DEFAULT", "is_default"}};
constexpr Column tenant_columns[] = {{"ID", "id"}, {"NAME", "name"}, {"STATUS", "status"}, {"CREATED", "created_at"}};
constexpr Column key_columns[] = {
    {"ID", "id"}, {"NAME", "name"}, {"ENDS IN", "hint"}, {"CREATED", "created_at"}, {"REVOKED", "revoked_at"}};
constexpr Column approver_columns[] = {
    {"ID", "id"}, {"NAME", "name"}, {"ALGORITHM", "algorithm"}, {"CREATED", "created_at"}, {"REVOKED", "revoked_at"}};

}  // namespace

int list_messages(Context& c) {
  return list(c, As::service, "/v1/conversations/" + path_part(c.operand(0)) + "/messages", {{"order", "--order"}},
              dialogue_of);
}

int list_conversations(Context& c) {
  return list_table(c, As::service, "/v1/conversations", conversation_columns, {{"user_id", "--user"}});
}
int show_conversation(Context& c) {
  return show(c, As::service, "GET", "/v1/conversations/" + path_part(c.operand(0)));
}
int archive_conversation(Context& c) {
  return show(c, As::service, "PATCH", "/v1/conversations/" + path_part(c.operand(0)),
              object_with("status", "archived"));
}
int unarchive_conversation(Context& c) {
  return show(c, As::service, "PATCH", "/v1/conversations/" + path_part(c.operand(0)), object_with("status", "active"));
}

int list_runs(Context& c) {
  return list_table(c, As::service, "/v1/runs", run_columns, {{"conversation_id", "--conversation"}});
}
int show_run(Context& c) { return show(c, As::service, "GET", "/v1/runs/" + path_part(c.operand(0))); }
int cancel_run(Context& c) { return show(c, As::service, "POST", "/v1/runs/" + path_part(c.operand(0)) + "/cancel"); }

int list_agents(Context& c) { return list_table(c, As::service, "/v1/agents", agent_columns); }
int create_agent(Context& c) { return save_agent(c, "POST", "/v1/agents", c.operand(0)); }
int show_agent(Context& c) { return show(c, As::service, "GET", "/v1/agents/" + path_part(c.operand(0))); }
int update_agent(Context& c) {
  return save_agent(c, "PATCH", "/v1/agents/" + path_part(c.operand(0)), c.arguments.flag("--name"));
}
int delete_agent(Context& c) { return show(c, As::service, "DELETE", "/v1/agents/" + path_part(c.operand(0))); }

int list_tenants(Context& c) { return list_table(c, As::admin, "/v1/tenants", tenant_columns); }
int create_tenant(Context& c) { return show(c, As::admin, "POST", "/v1/tenants", object_with("name", c.operand(0))); }
int show_tenant(Context& c) { return show(c, As::admin, "GET", "/v1/tenants/" + path_part(c.operand(0))); }
int suspend_tenant(Context& c) {
  return show(c, As::admin, "PATCH", "/v1/tenants/" + path_part(c.operand(0)), object_with("status", "suspended"));
}
int resume_tenant(Context& c) {
  return show(c, As::admin, "PATCH", "/v1/tenants/" + path_part(c.operand(0)), object_with("status", "active"));
}

int list_keys(Context& c) {
  const auto path = tenant_path(c, "/keys");
  return path.empty() ? exit_usage : list_table(c, As::admin, path, key_columns);
}
int create_key(Context& c) {
  const auto path = tenant_path(c, "/keys");
  const auto body = c.arguments.has("--name") ? object_with("name", c.arguments.flag("--name")) : "{}";
  return path.empty() ? exit_usage : show(c, As::admin, "POST", path, body);
}
int revoke_key(Context& c) {
  const auto path = tenant_path(c, "/keys/" + path_part(c.operand(0)));
  return path.empty() ? exit_usage : show(c, As::admin, "DELETE", path);
}

int list_approver_keys(Context& c) {
  const auto path = tenant_path(c, "/approver-keys");
  return path.empty() ? exit_usage : list_table(c, As::admin, path, approver_columns);
}
int create_approver_key(Context& c) {
  const auto path = tenant_path(c, "/approver-keys");
  const auto algorithm = c.arguments.flag("--algorithm");
  std::string body;
  json::Writer writer(body);
  writer.begin_object().key("algorithm").string(algorithm.empty() ? "hmac-sha256" : algorithm);
  if (c.arguments.has("--name")) writer.key("name").string(c.arguments.flag("--name"));
  if (c.arguments.has("--public-key")) writer.key("public_key").string(c.arguments.flag("--public-key"));
  writer.end_object();
  return path.empty() ? exit_usage : show(c, As::admin, "POST", path, body);
}
int revoke_approver_key(Context& c) {
  const auto path = tenant_path(c, "/approver-keys/" + path_part(c.operand(0)));
  return path.empty() ? exit_usage : show(c, As::admin, "DELETE", path);
}

}  // namespace sluice::cli
