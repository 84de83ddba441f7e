// The server itself: its nodes, and the key of its vault.
#include "api/admin/admin.h"
#include "api/request/audit.h"
#include "api/request/request_context.h"

namespace sluice::api::admin {
namespace {

constexpr int page_rows = 200;

// Kept alive by the answer it waits for.
class Rotation final : public std::enable_shared_from_this<Rotation> {
 public:
  explicit Rotation(const RequestPtr& request) : request_(request) {}

  void read_page() {
    store::sealed_page(request_->database(), after_, page_rows,
                       [self = shared_from_this()](Result<store::SealedPage> page) {
                         if (!page) return self->request_->fail(page.error());
                         self->on_page(std::move(page).take());
                       });
  }

 private:
  using Resealed = store::Resealed;

  void on_page(store::SealedPage page) {
    after_ = page.next;
    std::vector<Resealed> resealed;
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
    if (resealed.empty()) return next();
    store::reseal(request_->database(), std::move(resealed), [self = shared_from_this()](const Result<int>& written) {
      if (!written) return self->request_->fail(written.error());
      self->resealed_ += written.value();
      self->next();
    });
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

  void next() {
    if (after_ != 0) return read_page();
    std::string counts;
    json::Writer writer(counts);
    writer.begin_object().key("checked").integer(checked_).key("resealed").integer(resealed_);
    writer.key("unreadable").integer(unreadable_).end_object();
    record_of_operator(request_, {.action = "vault.rotated", .subject = "vault", .detail = counts},
                       [request = request_, counts] {
                         request->answer_json(200, R"({"object":"vault_rotation",)" + counts.substr(1));
                       });
  }

  RequestPtr request_;
  int64_t after_ = 0;
  int64_t checked_ = 0;
  int64_t resealed_ = 0;
  int64_t unreadable_ = 0;
};

}  // namespace

void rotate_vault(const RequestPtr& request) { std::make_shared<Rotation>(request)->read_page(); }

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

}  // namespace sluice::api::admin
