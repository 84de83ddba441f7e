// A change of the operator's key: everything that is sealed under an older one is sealed again.
#include "api/admin/deeds.h"
#include "api/admin/handlers.h"

namespace sluice::api::admin {
namespace {

constexpr int page_rows = 200;

// Kept alive by the answer it waits for.
class Rotation final : public std::enable_shared_from_this<Rotation> {
 public:
  explicit Rotation(const Asked& asked) : asked_(asked) {}

  void read_page() {
    asked_->store().sealed_page(after_, page_rows, [self = shared_from_this()](Result<store::Gates::SealedPage> page) {
      if (!page) return self->asked_->fail(page.error());
      self->on_page(std::move(page).take());
    });
  }

 private:
  using Resealed = store::Gates::Resealed;

  void on_page(store::Gates::SealedPage page) {
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
    asked_->store().reseal(std::move(resealed), [self = shared_from_this()](const Result<int>& written) {
      if (!written) return self->asked_->fail(written.error());
      self->resealed_ += written.value();
      self->next();
    });
  }

  // False when it is left as it is: it is current, or it cannot be opened.
  bool reseal(model::TenantId tenant, const std::string& context, std::string& sealed) {
    auto& sealer = asked_->surface().needs.sealer;
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
    record(asked_, {.action = "vault.rotated", .subject = "vault", .detail = counts},
           [asked = asked_, counts] { asked->answer_json(200, R"({"object":"vault_rotation",)" + counts.substr(1)); });
  }

  Asked asked_;
  int64_t after_ = 0;
  int64_t checked_ = 0;
  int64_t resealed_ = 0;
  int64_t unreadable_ = 0;
};

}  // namespace

void rotate_vault(const Asked& asked) { std::make_shared<Rotation>(asked)->read_page(); }

}  // namespace sluice::api::admin
