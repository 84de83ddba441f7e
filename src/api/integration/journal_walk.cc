#include "api/integration/journal_walk.h"

namespace sluice::api::integration {
namespace {

constexpr std::size_t page_bytes = 256 * 1024;

class JournalWalk final : public std::enable_shared_from_this<JournalWalk> {
 public:
  using See = Callback<bool(const store::Committed&)>;
  using Done = Callback<void(const model::Run&)>;
  JournalWalk(const Asked& asked, model::RunId run, model::Position at, See see, Done done)
      : asked_(asked), run_(run), at_(at), see_(std::move(see)), done_(std::move(done)) {}

  void read_page() {
    // Kept alive by the answer it waits for.
    asked_->store().journal(run_, at_, page_bytes, [self = shared_from_this()](const Result<store::JournalPage>& page) {
      self->on_page(page);
    });
  }

 private:
  void on_page(const Result<store::JournalPage>& page) {
    if (!page) return asked_->fail(page.error());
    for (const auto& committed : page.value().events) {
      at_ = committed.position();
      if (!see_(committed)) return done_(page.value().run);
    }
    if (page.value().events.empty()) return done_(page.value().run);
    read_page();
  }

  Asked asked_;
  model::RunId run_;
  model::Position at_;
  See see_;
  Done done_;
};

}  // namespace

void walk_journal(const Asked& asked, model::RunId run, model::Position after,
                  Callback<bool(const store::Committed&)> see, Callback<void(const model::Run&)> done) {
  std::make_shared<JournalWalk>(asked, run, after, std::move(see), std::move(done))->read_page();
}

void with_run(const Asked& asked, Callback<void(const model::Run&)> then) {
  const auto id = asked->path_id<model::RunId>();
  if (!id) return asked->not_found();
  asked->store().run(asked->tenant().id, *id, [asked, then = std::move(then)](const Result<model::Run>& run) mutable {
    if (!run) return asked->fail(run.error());
    asked->set_run(run.value().id);
    then(run.value());
  });
}

}  // namespace sluice::api::integration
