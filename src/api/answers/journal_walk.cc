#include "api/answers/journal_walk.h"

namespace sluice::api {
namespace {

constexpr std::size_t page_bytes = 256 * 1024;

class JournalWalk final : public std::enable_shared_from_this<JournalWalk> {
 public:
  using See = Callback<bool(const journal::Committed&)>;
  using Done = Callback<void(const model::Run&)>;
  JournalWalk(const RequestPtr& request, model::RunId run, model::Position at, See see, Done done)
      : request_(request), run_(run), at_(at), see_(std::move(see)), done_(std::move(done)) {}

  void read_page() {
    // Kept alive by the answer it waits for.
    request_->store().read(
        run_, at_, page_bytes,
        [self = shared_from_this()](const Result<journal::JournalPage>& page) { self->on_page(page); });
  }

 private:
  void on_page(const Result<journal::JournalPage>& page) {
    if (!page) return request_->fail(page.error());
    for (const auto& committed : page.value().events) {
      at_ = committed.position();
      if (!see_(committed)) return done_(page.value().run);
    }
    if (page.value().events.empty()) return done_(page.value().run);
    read_page();
  }

  RequestPtr request_;
  model::RunId run_;
  model::Position at_;
  See see_;
  Done done_;
};

}  // namespace

void walk_journal(const RequestPtr& request, model::RunId run, model::Position after,
                  Callback<bool(const journal::Committed&)> see, Callback<void(const model::Run&)> done) {
  std::make_shared<JournalWalk>(request, run, after, std::move(see), std::move(done))->read_page();
}

}  // namespace sluice::api
