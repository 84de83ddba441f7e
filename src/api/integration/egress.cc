// Which requests left a run's sandbox, or were kept from it: the journal's `egress` events as a list.
#include <limits>

#include "api/answers/journal_walk.h"
#include "api/integration/integration.h"
#include "api/integration/lookups.h"
#include "api/request/reading.h"

namespace sluice::api::integration {
namespace {

constexpr std::string_view list_parameters[] = {"limit", "starting_after"};

// A page that fills as the journal is read. Its cursors are positions in the journal.
class EgressPage {
 public:
  explicit EgressPage(int64_t limit) : limit_(limit) {}

  // False: there is more than the page takes.
  bool see(const journal::Committed& committed) {
    const auto& event = committed.event();
    if (event.kind != model::EventKind::egress) return true;
    if (count_ == limit_) return has_more_ = true, false;
    const auto body = json::Document::parse(event.body);
    if (!body) return true;
    last_ = std::to_string(committed.position().value);
    if (count_++ > 0) entries_ += ',';
    json::Writer writer(entries_);
    writer.begin_object().key("object").string("egress_entry").key("position").raw(last_);
    writer.key("at").string(to_rfc3339(event.at));
    body.value().root().each_member(
        [&](std::string_view name, json::Value value) { writer.key_escaped(name).raw(value.to_text()); });
    writer.end_object();
    return true;
  }

  std::string json() const {
    std::string out = R"({"object":"list","data":[)" + entries_ + R"(],"has_more":)";
    out += has_more_ ? "true" : "false";
    return out + R"(,"next_cursor":)" + (has_more_ ? '"' + last_ + '"' : "null") + "}";
  }

 private:
  int64_t limit_;
  int64_t count_ = 0;
  bool has_more_ = false;
  std::string entries_;
  std::string last_;
};

}  // namespace

void list_run_egress(const RequestPtr& request) {
  Findings findings;
  const Query query(request, list_parameters, findings);
  const auto limit = query.integer("limit", 1, limits::page_max).value_or(limits::page_default);
  const auto after = query.integer("starting_after", 0, std::numeric_limits<int64_t>::max()).value_or(0);
  if (refused(request, findings)) return;
  with_run(request, [request, limit, after](const model::Run& run) {
    const auto page = std::make_shared<EgressPage>(limit);
    walk_journal(
        request, run.id, {static_cast<uint64_t>(after)},
        [page](const journal::Committed& committed) { return page->see(committed); },
        [request, page](const model::Run&) { request->answer_json(200, page->json()); });
  });
}

}  // namespace sluice::api::integration
