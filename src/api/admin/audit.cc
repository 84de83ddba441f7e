// The chain of what was decided: read, and proven whole.
#include <limits>

#include "api/admin/admin.h"
#include "api/request/reading.h"
#include "api/request/request_context.h"
#include "base/bytes.h"
#include "gates/gates.h"

namespace sluice::api::admin {
namespace {

constexpr std::string_view list_parameters[] = {"after", "limit", "tenant_id"};
constexpr int page_rows = 500;

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

// Walks the whole chain a page at a time. Kept alive by the answer it waits for.
class Verification final : public std::enable_shared_from_this<Verification> {
 public:
  explicit Verification(const RequestPtr& request) : request_(request) {}

  void read_page() {
    store::audit(
        request_->database(), {}, count_, page_rows,
        [self = shared_from_this()](const Result<std::vector<model::AuditEntry>>& page) { self->on_page(page); });
  }

 private:
  void on_page(const Result<std::vector<model::AuditEntry>>& page) {
    if (!page) return request_->fail(page.error());
    const auto& entries = page.value();
    if (entries.empty()) return tell(std::nullopt);
    const auto broken = gates::first_broken_link(entries, head_);
    count_ = entries.back().number;
    head_ = entries.back().sha256;
    if (broken) return tell(broken);
    read_page();
  }

  void tell(std::optional<int64_t> first_broken) {
    std::string out;
    json::Writer writer(out);
    writer.begin_object().key("object").string("audit_verification").key("ok").boolean(!first_broken);
    writer.key("entries").integer(count_).key("first_broken");
    first_broken ? writer.integer(*first_broken) : writer.null();
    writer.key("head_sha256");
    head_.empty() || first_broken ? writer.null() : writer.string(to_hex(head_));
    writer.end_object();
    request_->answer_json(200, std::move(out));
  }

  RequestPtr request_;
  int64_t count_ = 0;  // entries have numbers without gaps
  std::string head_;
};

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

void verify_audit(const RequestPtr& request) { std::make_shared<Verification>(request)->read_page(); }

}  // namespace sluice::api::admin
