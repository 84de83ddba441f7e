// How a run that used its hands ends well: the box is dead first, so nothing changes any more.
#include <fcntl.h>

#include <utility>

#include "base/fd.h"
#include "runner/errand.h"
#include "runner/hands.h"
#include "runner/output_text.h"
#include "runner/told.h"

namespace sluice::runner {

using model::EventKind;
using model::Slug;

namespace {

OwnedFd duplicate(int fd) { return OwnedFd(fcntl(fd, F_DUPFD_CLOEXEC, 0)); }

struct Made {
  Result<workspace::Diff> diff;
  Result<workspace::Assets> assets;
};

}  // namespace

void Hands::finish(std::string text, Callback<void()> done) {
  if (!is_ready_) return done();
  text_ = std::move(text);
  then_ = std::move(done);
  phase_began_us_ = ready_us_;
  if (!end_phase("run", "The agent has finished.")) return;
  box_.kill([this, alive = lifeline_.watch()] {
    if (!alive.expired()) look_for_changes();
  });
}

void Hands::look_for_changes() {
  const auto alive = lifeline_.watch();
  if (watching_) watching_->settle();
  if (alive.expired()) return;
  watching_.reset();
  background_.clear();
  const bool wants_assets = dispatch_.supplies && dispatch_.supplies->wants_assets();
  // Descriptors of its own: the box may be dropped while another thread reads.
  send<Made>(
      *context_.workers, lifeline_.watch(),
      [changes = duplicate(box_.box()->changes_fd()), wants_assets, below = layers_,
       ignored = options_.ignored_directories, rules = workspace::AssetRules{.extensions = options_.asset_extensions}] {
        return Made{workspace::diff(changes.get(), below, ignored, {}),
                    wants_assets ? workspace::collect_assets(changes.get(), rules) : workspace::Assets{}};
      },
      [this](Made made) { tell_changes(std::move(made.diff), std::move(made.assets)); });
}

void Hands::tell_changes(Result<workspace::Diff> diff, Result<workspace::Assets> assets) {
  if (!diff) {
    return fail(Slug::writeback_failed, "What the run changed cannot be read: " + diff.error().what + ".");
  }
  if (!assets) return fail(Slug::writeback_failed, "The run's files cannot be read: " + assets.error().what + ".");
  if (!diff.value().text.empty() && !tell(EventKind::diff, diff_body(to_utf8(diff.value().text)))) return;
  for (const auto& why : assets.value().left_out) {
    if (!tell(EventKind::log, log_body("warn", "Not handed back: " + to_utf8(why)))) return;
  }
  hand_back(std::move(assets).take());
}

void Hands::hand_back(workspace::Assets assets) {
  if (!dispatch_.supplies || !dispatch_.supplies->wants_assets()) return draft();
  std::vector<harness::Asset> files;
  for (auto& file : assets.files) files.push_back({std::move(file.name), std::move(file.bytes)});
  const auto words = "Handed back " + std::to_string(files.size()) + " files.";
  dispatch_.supplies->take_assets(
      std::move(files), std::move(text_), [this, words, alive = lifeline_.watch()](Result<Unit> taken) {
        if (alive.expired()) return;
        if (!taken) {
          return fail(Slug::writeback_failed, "The run's files could not be handed back: " + taken.error().what + ".");
        }
        if (end_phase("writeback", words)) draft();
      });
}

void Hands::draft() {
  if (!is_kept(dispatch_)) return end();
  LayerWork work{.changes_fd = -1,
                 .home = home_,
                 .below = layers_,
                 .mark = dispatch_.run.text(),
                 .owner = {options_.owner_uid, options_.owner_uid}};
  send<Result<LayerDraft>>(
      *context_.workers, lifeline_.watch(),
      [work = std::move(work), changes = duplicate(box_.box()->changes_fd())]() mutable {
        work.changes_fd = changes.get();
        return draft_layer(work);
      },
      [this](Result<LayerDraft> draft) { keep_draft(std::move(draft)); },
      [](Result<LayerDraft> draft) { discard(draft); });
}

void Hands::keep_draft(Result<LayerDraft> draft) {
  auto kept = draft ? keep(draft.value()) : Result<Unit>(std::move(draft.error()));
  if (!kept) return fail(Slug::writeback_failed, "The workspace could not be kept: " + kept.error().what + ".");
  end();
}

void Hands::end() {
  if (!end_phase("settle", is_kept(dispatch_) ? "Kept the workspace." : "The workspace is gone.")) return;
  std::exchange(then_, nullptr)();
}

}  // namespace sluice::runner
