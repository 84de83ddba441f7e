// Tenants, their service keys and their approver keys.
#include "base/bytes.h"
#include "base/json.h"
#include "cli/approver_key_file.h"
#include "cli/cli.h"
#include "cli/requests.h"
#include "world/world.h"

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

constexpr std::pair<std::string_view, std::string_view> tenant_counts[] = {
    {"--weight", "weight"},
    {"--max-running", "max_running"},
    {"--max-held", "max_held"},
    {"--max-concurrent-sticky", "max_concurrent_sticky"},
    {"--max-sticky-ttl-seconds", "max_sticky_ttl_seconds"},
};
constexpr std::pair<std::string_view, std::string_view> tenant_switches[] = {
    {"--require-bound-decisions", "require_bound_decisions"},
    {"--agui-unsigned-approvals", "agui_unsigned_approvals"},
    {"--filler", "filler_enabled"}};

// What the flags say about a tenant, as the API wants it. `invalid` in words.
Result<std::string> tenant_body(const Arguments& arguments) {
  std::string settings, body;
  json::Writer inner(settings), writer(body);
  inner.begin_object();
  for (const auto& [flag, member] : tenant_counts) {
    if (!arguments.has(flag)) continue;
    const auto count = count_of(arguments, flag);
    if (!count) return count.error();
    inner.key(member).integer(count.value());
  }
  for (const auto& [flag, member] : tenant_switches) {
    if (!arguments.has(flag)) continue;
    const auto word = arguments.flag(flag);
    if (word != "yes" && word != "no") return Error{ErrorKind::invalid, std::string(flag) + " must be yes or no"};
    inner.key(member).boolean(word == "yes");
  }
  if (arguments.has("--webhook-url")) {
    const auto url = arguments.flag("--webhook-url");
    inner.key("webhook_url");
    url.empty() ? inner.null() : inner.string(url);
  }
  inner.end_object();
  writer.begin_object();
  if (arguments.has("--name")) writer.key("name").string(arguments.flag("--name"));
  if (settings != "{}") writer.key("settings").raw(settings);
  writer.end_object();
  return body;
}

constexpr Column tenant_columns[] = {{"ID", "id"}, {"NAME", "name"}, {"STATUS", "status"}, {"CREATED", "created_at"}};
constexpr Column key_columns[] = {
    {"ID", "id"}, {"NAME", "name"}, {"ENDS IN", "hint"}, {"CREATED", "created_at"}, {"REVOKED", "revoked_at"}};
constexpr Column approver_columns[] = {
    {"ID", "id"}, {"NAME", "name"}, {"ALGORITHM", "algorithm"}, {"CREATED", "created_at"}, {"REVOKED", "revoked_at"}};

}  // namespace

int list_tenants(Context& c) { return list_table(c, As::admin, "/v1/tenants", tenant_columns); }
int create_tenant(Context& c) { return show(c, As::admin, "POST", "/v1/tenants", object_with("name", c.operand(0))); }
int show_tenant(Context& c) { return show(c, As::admin, "GET", "/v1/tenants/" + path_part(c.operand(0))); }
int update_tenant(Context& c) {
  const auto body = tenant_body(c.arguments);
  if (!body) return complain(c, body.error().what);
  return show(c, As::admin, "PATCH", "/v1/tenants/" + path_part(c.operand(0)), body.value());
}
int show_webhook_secret(Context& c) {
  return show(c, As::admin, "GET", "/v1/tenants/" + path_part(c.operand(0)) + "/webhook-secret");
}
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
  if (path.empty()) return exit_usage;
  auto public_key = c.arguments.flag("--public-key");
  if (c.arguments.has("--public-key-file")) {
    auto read = read_public_key(c.arguments.flag("--public-key-file"));
    if (!read) return complain(c, read.error().what);
    public_key = std::move(read).take();
  }
  auto algorithm = c.arguments.flag("--algorithm");
  if (algorithm.empty()) algorithm = public_key.empty() ? "hmac-sha256" : "ed25519";
  std::string body;
  json::Writer writer(body);
  writer.begin_object().key("algorithm").string(algorithm);
  if (c.arguments.has("--name")) writer.key("name").string(c.arguments.flag("--name"));
  if (!public_key.empty()) writer.key("public_key").string(public_key);
  writer.end_object();
  return show(c, As::admin, "POST", path, body);
}
int generate_approver_key(Context& c) {
  const auto path = c.arguments.flag("--out");
  if (path.empty()) return complain(c, "where to? Give --out FILE");
  std::string seed(32, '\0');
  world::make_system_entropy()->fill({reinterpret_cast<uint8_t*>(seed.data()), seed.size()});
  const auto pair = pair_of(seed);
  if (!pair) return complain(c, pair.error().what);
  const auto public_key = to_base64url(pair.value().public_key);
  std::string json;
  json::Writer(json).begin_object().key("algorithm").string("ed25519").key("public_key").string(public_key);
  const auto public_json = json + "}";
  json += R"(,"private_key":")" + to_base64url(pair.value().private_key) + "\"}\n";
  if (const auto written = write_private_file(path, json); !written) return complain(c, written.error().what);
  c.console.out((c.form() == Form::json ? public_json : public_key) + "\n");
  c.console.err("Saved the private key in " + path + ". Register the public one with: " +
                c.hints.command("approver-keys create --public-key-file " + shell_quoted(path)) + "\n");
  return exit_ok;
}
int revoke_approver_key(Context& c) {
  const auto path = tenant_path(c, "/approver-keys/" + path_part(c.operand(0)));
  return path.empty() ? exit_usage : show(c, As::admin, "DELETE", path);
}

}  // namespace sluice::cli
