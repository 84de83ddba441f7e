// The server itself: its nodes, and the key of its vault.
#include <limits>

#include "api/handlers.h"
#include "api/request/audit.h"
#include "api/request/reading.h"
#include "api/request/waiting.h"
#include "base/bytes.h"
#include "gates/gates.h"

namespace sluice::api::admin {
namespace {

constexpr int sealed_page_rows = 200;

class Rotation final {
 public:
  explicit Rotation(const RequestPtr& request) : request_(request) {}

  Task<> run() {
    int64_t after = 0;
    do {
      auto page = co_await found<store::SealedPage>(request_, &store::sealed_page, after, sealed_page_rows);
      after = page.next;
      auto resealed = resealed_of(std::move(page));
      if (!resealed.empty()) resealed_ += co_await found<int>(request_, &store::reseal, std::move(resealed));
    } while (after != 0);
    std::string counts;
    json::Writer writer(counts);
    writer.begin_object().key("checked").integer(checked_).key("resealed").integer(resealed_);
    writer.key("unreadable").integer(unreadable_).end_object();
    record_of_operator(request_, {.action = "vault.rotated", .subject = "vault", .detail = counts},
                       [request = request_, counts] {
                         request->answer_json(200, R"({"object":"vault_rotation",)" + counts.substr(1));
                       });
  }

 private:
  std::vector<store::Resealed> resealed_of(store::SealedPage page) {
    std::vector<store::Resealed> resealed;
    for (auto& secret : page.secrets) {
      auto before = secret.sealed;
      if (!reseal(secret.tenant_id, vault::context_of(secret), secret.sealed)) continue;
      resealed.push_back({.secret = std::move(secret), .before = std::move(before)});
    }
    for (auto& key : page.keys) {
      // A public key is not sealed.
      if (key.algorithm != model::SignatureAlgorithm::hmac_sha256) continue;
      auto before = key.material;
      if (!reseal(key.tenant_id, vault::context_of(key.id), key.material)) continue;
      resealed.push_back({.key = std::move(key), .before = std::move(before)});
    }
    return resealed;
  }

  // False when it is left as it is: it is current, or it cannot be opened.
  bool reseal(model::TenantId tenant, const std::string& context, std::string& sealed) {
    auto& sealer = request_->services().needs.sealer;
    ++checked_;
    if (sealer.is_current(sealed)) return false;
    const auto opened = sealer.open(tenant, context, sealed);
    if (!opened) return ++unreadable_, false;
    sealed = sealer.seal(tenant, context, opened.value());
    return true;
  }

  RequestPtr request_;
  int64_t checked_ = 0;
  int64_t resealed_ = 0;
  int64_t unreadable_ = 0;
};

Task<> rotate(RequestPtr request) {
  Rotation rotation(request);
  co_await rotation.run();
}

}  // namespace

void rotate_vault(const RequestPtr& request) { start_unowned(rotate(request)); }

// The live nodes that this node knows, itself first.
void list_nodes(const RequestPtr& request) {
  std::string body;
  json::Writer writer(body);
  writer.begin_object().key("object").string("list").key("data").begin_array();
  for (const auto& node : request->engine().nodes()) {
    const auto& figures = node.figures;
    writer.begin_object().key("object").string("node").key("id").string(node.id.text());
    writer.key("name").string(figures.name).key("version").string(figures.version);
    writer.key("draining").boolean(figures.draining).key("silent_ms").integer(node.silent_ms);
    writer.key("slots").integer(figures.slots).key("free_slots").integer(figures.free_slots);
    writer.key("running").integer(figures.running).key("held").integer(figures.held);
    writer.key("parked").integer(figures.parked).key("sticky").integer(figures.sticky);
    writer.key("warm").integer(figures.warm).key("started_at").string(to_rfc3339(node.started_at)).end_object();
  }
  writer.end_array().end_object();
  request->answer_json(200, std::move(body), {{"Cache-Control", "no-store"}});
}

// ── the chain of what was decided: read, and proven whole ──

namespace {

constexpr std::string_view list_parameters[] = {"after", "limit", "tenant_id"};
constexpr int audit_page_rows = 500;

std::string page_json(std::vector<model::AuditEntry> entries, std::size_t limit) {
  const bool has_more = entries.size() > limit;
  if (has_more) entries.resize(limit);
  std::string out = R"({"object":"list","data":[)";
  for (const auto& entry : entries) {
    if (out.back() != '[') out += ',';
    model::append_json(out, entry);
  }
  out += R"(],"has_more":)";
  out += has_more ? "true" : "false";
  out += R"(,"next_cursor":)";
  return out + (has_more ? '"' + std::to_string(entries.back().number) + '"' : "null") + "}";
}

// Walks the whole chain a page at a time.
Task<> verify(RequestPtr request) {
  int64_t count = 0;  // entries have numbers without gaps
  std::string head;
  std::optional<int64_t> broken;
  while (!broken) {
    const auto entries = co_await found<std::vector<model::AuditEntry>>(
        request, &store::audit, std::optional<model::TenantId>(), count, audit_page_rows);
    if (entries.empty()) break;
    broken = gates::first_broken_link(entries, head);
    count = entries.back().number;
    head = entries.back().sha256;
  }
  std::string out;
  json::Writer writer(out);
  writer.begin_object().key("object").string("audit_verification").key("ok").boolean(!broken);
  writer.key("entries").integer(count).key("first_broken");
  broken ? writer.integer(*broken) : writer.null();
  writer.key("head_sha256");
  head.empty() || broken ? writer.null() : writer.string(to_hex(head));
  writer.end_object();
  request->answer_json(200, std::move(out));
}

}  // namespace

void list_audit(const RequestPtr& request) {
  Findings findings;
  const Query query(request, list_parameters, findings);
  const auto limit = static_cast<int>(query.integer("limit", 1, limits::page_max).value_or(limits::page_default));
  const auto after = query.integer("after", 0, std::numeric_limits<int64_t>::max()).value_or(0);
  std::optional<model::TenantId> tenant;
  if (const auto given = query.find("tenant_id")) {
    tenant = model::TenantId::parse(*given);
    if (!tenant) query.refuse("tenant_id", "is not the id of a tenant");
  }
  if (refused(request, findings)) return;
  store::audit(request->database(), tenant, after, limit + 1,
               [request, limit](Result<std::vector<model::AuditEntry>> entries) {
                 if (!entries) return request->fail(entries.error());
                 request->answer_json(200, page_json(std::move(entries).take(), static_cast<std::size_t>(limit)));
               });
}

void verify_audit(const RequestPtr& request) { start_unowned(verify(request)); }

}  // namespace sluice::api::admin
