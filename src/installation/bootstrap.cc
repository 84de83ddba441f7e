#include "installation/bootstrap.h"

#include <unistd.h>

#include "base/bytes.h"
#include "base/digest.h"
#include "base/json.h"
#include "cli/cli.h"

namespace sluice::installation {
namespace {

constexpr std::string_view file_name = "bootstrap.json";
constexpr std::string_view pending_name = "bootstrap.json.pending";

std::string make_secret(std::string_view prefix, world::Entropy& entropy) {
  std::array<uint8_t, 32> bytes{};
  entropy.fill(bytes);
  return std::string(prefix) + to_base64url({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

// Runs the loop until the store has answered.
template <typename T, typename Start>
Result<T> wait_for(world::Reactor& reactor, Start&& start) {
  std::optional<Result<T>> answer;
  start([&](Result<T> result) {
    answer.emplace(std::move(result));
    reactor.stop();
  });
  while (!answer) reactor.run();
  return std::move(*answer);
}

Result<std::optional<Bootstrap>> read_bootstrap(const std::string& path) {
  auto text = read_small_file(path);
  if (!text) return text.error();
  if (!text.value()) return std::optional<Bootstrap>();
  auto parsed = Bootstrap::parse(*text.value());
  if (!parsed) return std::move(parsed.error()).in(path);
  return std::optional(std::move(parsed).take());
}

Bootstrap make_bootstrap(world::IdSource& ids, world::Entropy& entropy, const std::string& admin_key) {
  Bootstrap made;
  const auto tenant = ids.make<model::TenantId>();
  made.tenant_id = tenant.text();
  made.service_key = make_secret("sk_int_", entropy);
  made.approver_key_id = ids.make<model::ApproverKeyId>().text();
  made.approver_secret = make_secret("", entropy);
  made.admin_key = admin_key.empty() ? make_secret("sk_adm_", entropy) : admin_key;
  made.runner_key = make_secret("sk_run_", entropy);
  made.workspace_id = model::WorkspaceId{tenant.ulid}.text();
  return made;
}

// Creates the parts of the demo tenant that the store does not have yet.
class DemoTenant {
 public:
  DemoTenant(BootstrapNeeds& needs, const Bootstrap& bootstrap, model::TenantId tenant, model::ApproverKeyId approver)
      : needs_(needs), bootstrap_(bootstrap), tenant_(tenant), approver_(approver), now_(needs.reactor.now()) {}

  Result<Unit> make(const model::ModelChoice& model) {
    if (auto made = make_tenant(model); !made) return made;
    if (auto made = make_service_key(); !made) return made;
    return make_approver_key();
  }

 private:
  Result<Unit> make_tenant(const model::ModelChoice& model) {
    const auto found = wait_for<model::Tenant>(
        needs_.reactor, [&](auto done) { store::tenant(needs_.store.database(), tenant_, std::move(done)); });
    if (found || found.error().kind != ErrorKind::not_found) return unit_of(found);
    // Decisions need not be bound: a client of the integration contract signs three members, and must be able to
    // approve on a new installation (docs/approvals.md).
    const model::Tenant tenant{.id = tenant_, .name = "Demo", .created_at = now_, .updated_at = now_};
    const model::Agent agent{.id = needs_.ids.make<model::AgentId>(),
                             .tenant_id = tenant_,
                             .name = "default",
                             .model = model,
                             .is_default = true,
                             .created_at = now_,
                             .updated_at = now_};
    return wait_for<Unit>(needs_.reactor, [&](auto done) {
      store::create_tenant(needs_.store.database(), tenant, agent, std::move(done));
    });
  }

  Result<Unit> make_service_key() {
    const auto hash = sha256(bootstrap_.service_key);
    const auto found = wait_for<store::KeyHolder>(
        needs_.reactor, [&](auto done) { store::find_service_key(needs_.store.database(), hash, std::move(done)); });
    if (found || found.error().kind != ErrorKind::not_found) return unit_of(found);
    const model::ServiceKey key{.id = needs_.ids.make<model::ServiceKeyId>(),
                                .tenant_id = tenant_,
                                .name = "bootstrap",
                                .secret_sha256 = hash,
                                .hint = bootstrap_.service_key.substr(bootstrap_.service_key.size() - 4),
                                .created_at = now_};
    return wait_for<Unit>(needs_.reactor,
                          [&](auto done) { store::create_service_key(needs_.store.database(), key, std::move(done)); });
  }

  Result<Unit> make_approver_key() {
    const auto found = wait_for<store::Page<model::ApproverKey>>(needs_.reactor, [&](auto done) {
      store::approver_keys(needs_.store.database(), tenant_, {}, std::move(done));
    });
    if (!found) return found.error();
    for (const auto& key : found.value().rows) {
      if (key.id == approver_) return Unit{};
    }
    const model::ApproverKey key{
        .id = approver_,
        .tenant_id = tenant_,
        .name = "bootstrap",
        .material = needs_.sealer.seal(tenant_, vault::context_of(approver_), bootstrap_.approver_secret),
        .created_at = now_};
    return wait_for<Unit>(
        needs_.reactor, [&](auto done) { store::create_approver_key(needs_.store.database(), key, std::move(done)); });
  }

  template <typename T>
  static Result<Unit> unit_of(const Result<T>& result) {
    if (!result) return result.error();
    return Unit{};
  }

  BootstrapNeeds& needs_;
  const Bootstrap& bootstrap_;
  const model::TenantId tenant_;
  const model::ApproverKeyId approver_;
  const Timestamp now_;
};

Result<Bootstrap> make_demo(BootstrapNeeds& needs, Bootstrap bootstrap, const model::ModelChoice& model) {
  const auto tenant = model::TenantId::parse(bootstrap.tenant_id);
  const auto approver = model::ApproverKeyId::parse(bootstrap.approver_key_id);
  if (!tenant || !approver || bootstrap.service_key.size() < 16) {
    return Error{ErrorKind::corrupt,
                 needs.data.file(pending_name) + " is not what was written; remove it to start anew"};
  }
  if (auto made = DemoTenant(needs, bootstrap, *tenant, *approver).make(model); !made) {
    return std::move(made.error()).in("make the demo tenant");
  }
  return bootstrap;
}

Result<bool> has_tenants(BootstrapNeeds& needs) {
  const auto tenants = wait_for<store::Page<model::Tenant>>(
      needs.reactor, [&](auto done) { store::tenants(needs.store.database(), {.limit = 1}, std::move(done)); });
  if (!tenants) return tenants.error();
  return !tenants.value().rows.empty();
}

// Two servers may start at once on a shared store: only the first one creates the demo tenant.
Result<bool> may_make_demo(BootstrapNeeds& needs, const std::string& tenant_id) {
  const auto agreed = wait_for<std::string>(
      needs.reactor, [&](auto done) { needs.store.nodes().agree("demo tenant", tenant_id, std::move(done)); });
  if (!agreed) return agreed.error();
  return agreed.value() == tenant_id;
}

Result<Opening> beside_others(const Bootstrap& made, const std::string& configured_admin_key, bool is_shared) {
  if (is_shared && configured_admin_key.empty()) {
    return Error{ErrorKind::invalid,
                 "the store was made by another server, and servers that share a store have one admin key: set "
                 "SLUICE_SERVER_ADMIN_KEY to it, or put that server's bootstrap.json and vault.key into the data "
                 "directory"};
  }
  return Opening{
      Bootstrap{.admin_key = made.admin_key, .runner_key = made.runner_key, .workspace_id = made.workspace_id},
      is_shared ? FirstStart::joined : FirstStart::key_lost};
}

}  // namespace

std::string Bootstrap::to_json() const {
  std::string out = "{";
  const auto put = [&out](std::string_view name, std::string_view value) {
    if (value.empty()) return;
    out += out.size() == 1 ? "\n  \"" : ",\n  \"";
    out += name;
    out += "\": ";
    json::append_string(out, value);
  };
  put("tenant_id", tenant_id);
  put("service_key", service_key);
  if (!approver_key_id.empty()) {
    out += ",\n  \"approver_key\": ";
    json::Writer writer(out);
    writer.begin_object().key("key_id").string(approver_key_id).key("algorithm").string("hmac-sha256");
    writer.key("secret").string(approver_secret).end_object();
  }
  put("admin_key", admin_key);
  put("runner_key", runner_key);
  put("workspace_id", workspace_id);
  put("base_url", base_url);
  return out + "\n}\n";
}

Result<Bootstrap> Bootstrap::parse(std::string_view text) {
  const auto document = json::Document::parse(text);
  if (!document) return document.error();
  const auto root = document.value().root();
  Bootstrap read;
  read.tenant_id = text_of(root, "tenant_id");
  read.service_key = text_of(root, "service_key");
  if (const auto approver = root.find("approver_key")) {
    read.approver_key_id = text_of(*approver, "key_id");
    read.approver_secret = text_of(*approver, "secret");
  }
  read.admin_key = text_of(root, "admin_key");
  read.runner_key = text_of(root, "runner_key");
  read.workspace_id = text_of(root, "workspace_id");
  read.base_url = text_of(root, "base_url");
  return read;
}

Result<Opening> open_bootstrap(BootstrapNeeds needs, const model::ModelChoice& model,
                               const std::string& configured_admin_key, bool is_shared) {
  auto known = read_bootstrap(needs.data.file(file_name));
  if (!known) return known.error();
  if (auto& bootstrap = known.value()) {
    if (!configured_admin_key.empty()) bootstrap->admin_key = configured_admin_key;
    if (bootstrap->admin_key.empty()) bootstrap->admin_key = make_secret("sk_adm_", needs.entropy);
    return Opening{*bootstrap, FirstStart::no};
  }

  auto pending = read_bootstrap(needs.data.file(pending_name));
  if (!pending) return pending.error();
  auto made = pending.value() ? *pending.value() : make_bootstrap(needs.ids, needs.entropy, configured_admin_key);
  if (!configured_admin_key.empty()) made.admin_key = configured_admin_key;
  if (!pending.value()) {
    const auto made_before = has_tenants(needs);
    if (!made_before) return made_before.error();
    if (made_before.value()) return beside_others(made, configured_admin_key, is_shared);
    // The file is written before other servers leave the work to this one, so that it can be finished after a crash.
    if (auto kept = write_private_file(needs.data.file(pending_name), made.to_json()); !kept) return kept.error();
  }
  const auto is_ours = may_make_demo(needs, made.tenant_id);
  if (!is_ours) return is_ours.error();
  if (!is_ours.value()) {
    unlink(needs.data.file(pending_name).c_str());
    return beside_others(made, configured_admin_key, is_shared);
  }
  auto demo = make_demo(needs, std::move(made), model);
  if (!demo) return demo.error();
  return Opening{std::move(demo).take(), FirstStart::yes};
}

Result<Unit> agree_on_admin_key(store::Store& store, world::Reactor& reactor, const std::string& admin_key) {
  constexpr int64_t forget_ms = 60'000;
  auto& nodes = store.nodes();
  const auto ours = to_hex(sha256("admin key of servers that share a store\n" + admin_key));
  const auto agree = [&] {
    return wait_for<std::string>(reactor, [&](auto done) { nodes.agree("admin key", ours, std::move(done)); });
  };
  auto agreed = agree();
  if (!agreed) return agreed.error();
  if (agreed.value() == ours) return Unit{};
  // A node that is registered as the only one may change the key.
  const auto seen = wait_for<std::vector<journal::SeenNode>>(
      reactor, [&](auto done) { nodes.beat({.name = "starts"}, forget_ms, std::move(done)); });
  if (!seen) return seen.error();
  agreed = agree();
  if (!agreed) return agreed.error();
  if (agreed.value() == ours) return Unit{};
  if (auto left = wait_for<Unit>(reactor, [&](auto done) { nodes.leave(std::move(done)); }); !left) return left;
  return Error{ErrorKind::invalid,
               "servers that share a store have one admin key, and those that run have another than this one: set "
               "SLUICE_SERVER_ADMIN_KEY to theirs. To change the key, stop them all (ten seconds ago at least if they "
               "were killed)"};
}

Result<Unit> keep_bootstrap(const DataDir& data, const Bootstrap& bootstrap) {
  const auto path = data.file(file_name);
  auto known = read_bootstrap(path);
  if (!known) return known.error();
  if (known.value() != bootstrap) {
    if (auto written = write_private_file(path, bootstrap.to_json()); !written) return written;
  }
  unlink(data.file(pending_name).c_str());
  return Unit{};
}

std::string curl_line(std::string_view base_url, std::string_view bootstrap_file, std::string_view ca_file) {
  std::string line = "curl -sN ";
  if (!ca_file.empty()) line += "--cacert " + cli::shell_quoted(ca_file) + " ";
  line += cli::shell_quoted(std::string(base_url) + "/v1/conversations");
  line += R"sh( -H "Authorization: Bearer $(sed -n 's/.*"service_key": *"\([^"]*\)".*/\1/p' )sh";
  line += cli::shell_quoted(bootstrap_file);
  line += R"sh()" -H 'Content-Type: application/json' -d '{"initial_message":{"content":"say Hello from Sluice."}}')sh";
  return line;
}

}  // namespace sluice::installation
