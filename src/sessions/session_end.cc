// How a run that used its hands ends well. Unless the conversation keeps its box, that is dead first, so
// nothing changes any more.
#include <fcntl.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/fd.h"
#include "runs/runs.h"
#include "sessions/disk_usage.h"
#include "sessions/kept_sandboxes.h"
#include "sessions/layer_bytes.h"
#include "sessions/sandbox_session.h"

namespace sluice::sessions {

using model::EventKind;
using model::Slug;

namespace {

OwnedFd duplicate(int fd) { return OwnedFd(fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 0)); }
OwnedFd open_directory(const std::string& path) {
  return OwnedFd(open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
}

// Without those that runs before it left in the same box.
Result<workspace::Assets> collect(int changes_fd, const std::string& kept, workspace::AssetRules rules) {
  if (kept.empty()) return workspace::collect_assets(changes_fd, rules);
  const auto earlier_fd = open_directory(kept);
  auto earlier = workspace::collect_assets(earlier_fd.get(), rules);
  if (!earlier) return earlier;
  auto wider = rules;
  for (const auto& file : earlier.value().files) {
    ++wider.count_max;
    wider.total_bytes_max += static_cast<int64_t>(file.bytes.size());
  }
  auto all = workspace::collect_assets(changes_fd, wider);
  if (!all) return all;
  std::erase_if(all.value().files, [&](const workspace::Asset& file) {
    return std::ranges::any_of(earlier.value().files, [&](const workspace::Asset& old) {
      return old.name == file.name && old.bytes == file.bytes;
    });
  });
  return all;
}

// Its name is a file's, so what replaces a value in it must be one too.
void scrub(workspace::Assets& assets, const runs::SharedSecrets& secrets, const workspace::AssetRules& rules) {
  if (!secrets || secrets->scrubber()->is_idle()) return;
  for (auto& file : assets.files) {
    file.name = runs::scrubbed(secrets, std::move(file.name));
    file.bytes = runs::scrubbed(secrets, std::move(file.bytes));
  }
  auto admitted = workspace::admit_assets(std::move(assets.files), rules);
  assets.files = std::move(admitted.files);
  std::ranges::move(admitted.left_out, std::back_inserter(assets.left_out));
}

Result<std::optional<workspace::Diff>> own_diff(const LayerWork& work, int changes_fd,
                                                const std::vector<std::string>& ignored) {
  const auto layers = before(work);
  if (layers == at_first(work)) return std::optional<workspace::Diff>();
  auto diff = workspace::diff(changes_fd, layers, ignored, {.stop = work.stop});
  if (!diff) return std::move(diff.error());
  return std::optional(std::move(diff).take());
}

// What runs before this one changed, as it is kept.
Result<workspace::Diff> kept_diff(LayerWork work, const std::vector<std::string>& ignored) {
  auto layers = read_layers(work.home);
  if (!layers) return std::move(layers.error());
  work.below = std::move(layers).take();
  auto changes = since_then(work, -1);
  if (changes.more.empty()) return workspace::Diff{};
  const auto top_fd = open_directory(changes.more.front());
  changes.top_fd = top_fd.get();
  changes.more.erase(changes.more.begin());
  return workspace::diff(changes, at_first(work), ignored, {.stop = work.stop});
}

bool is_directory(const std::string& path) {
  std::error_code error;
  return std::filesystem::is_directory(path, error);
}

}  // namespace

struct SandboxSession::Made {
  Result<std::string> gathered;  // empty: there was nothing to put together
  Result<workspace::Diff> diff;
  Result<std::optional<workspace::Diff>> own_diff;  // of this run alone; empty: nothing was changed before it
  Result<workspace::Assets> assets;
};

struct SandboxSession::Drafted {
  Result<LayerDraft> draft;
  int64_t workspace_bytes = 0;  // once it is kept
};

void SandboxSession::finish(std::string text, Callback<void()> done) {
  if (!is_ready_ && state_.parked_layers.empty()) return tell_kept_diff(std::move(done));
  text_ = std::move(text);
  then_ = std::move(done);
  phase_began_us_ = ready_us_;
  if (!end_phase("run", "The agent has finished.")) return;
  if (!live_) return find_layers_to_end();
  // What background processes had under way ends here, and belongs into the run's egress log.
  if (auto* outlet = live_->outlet()) {
    for (auto& passage : outlet->break_off()) {
      if (!emit(EventKind::egress, egress::to_json(passage))) return;
    }
  }
  if (keeps_box()) return look_for_changes();
  live_->kill([this, alive = lifeline_.watch()](const Result<Unit>& proof) {
    if (alive.expired()) return;
    if (!proof) return fail_undead(proof.error().what);
    look_for_changes();
  });
}

// Nothing was opened, so the run changed nothing. What was changed before it is compared where it is kept.
void SandboxSession::tell_kept_diff(Callback<void()> done) {
  if (!is_kept(dispatch_) || !is_directory(home_)) return done();
  then_ = std::move(done);
  file_work_.send<workspace::Diff>(
      *workers_, "comparing the workspace with what it was",
      [work = layer_work(), ignored = undiffed_directories()](std::stop_token stop) mutable {
        work.stop = std::move(stop);
        return kept_diff(std::move(work), ignored);
      },
      [this](const Result<workspace::Diff>& diff) {
        // Nothing is lost: the answer is there, and the workspace stays as it was.
        const bool goes_on =
            diff ? tell_diffs("", diff.value().text)
                 : emit(EventKind::log, runs::log_body("warn", "There is no diff: " + diff.error().what));
        if (goes_on) std::exchange(then_, nullptr)();
      });
}

// False when the listener dropped this.
bool SandboxSession::tell_diffs(const std::optional<std::string>& own, const std::string& all) {
  if (own && *own != all && !emit(EventKind::custom, runs::run_diff_body(runs::to_utf8(*own)))) return false;
  return all.empty() || emit(EventKind::diff, runs::diff_body(runs::to_utf8(all)));
}

// It changed something, waited, and needed no box any more.
void SandboxSession::find_layers_to_end() {
  file_work_.send<workspace::Layers>(
      *workers_, "reading the workspace", [home = home_](const std::stop_token&) { return read_layers(home); },
      [this](Result<workspace::Layers> layers) {
        if (!layers) return fail_keeping(layers.error().what);
        layers_ = std::move(layers).take();
        look_for_changes();
      });
}

void SandboxSession::look_for_changes() {
  const auto alive = lifeline_.watch();
  if (live_) live_->settle_files();
  if (alive.expired() || !tell_more_files()) return;
  const bool wants_assets = dispatch_.supplies && dispatch_.supplies->wants_assets();
  // Descriptors of its own: the box may be dropped while another thread reads.
  file_work_.send<Made>(
      *workers_, "comparing the workspace with what it was",
      [work = layer_work(), changes = duplicate(live_ ? live_->box()->changes_fd() : -1), wants_assets,
       secrets = dispatch_.secrets, ignored = undiffed_directories(),
       rules = workspace::AssetRules{.extensions = options_.asset_extensions}](
          std::stop_token stop) mutable -> Result<Made> {
        work.changes_fd = changes.get();
        work.stop = stop;
        Made made{std::string(), workspace::Diff{}, std::optional<workspace::Diff>(), workspace::Assets{}};
        if (!work.held.empty() || !work.kept.empty()) {
          made.gathered = gather_changes(work);
          if (!made.gathered) return made;
          changes = open_directory(made.gathered.value());
        }
        made.diff = workspace::diff(since_then(work, changes.get()), at_first(work), ignored, {.stop = stop});
        made.own_diff = own_diff(work, changes.get(), ignored);
        if (wants_assets) made.assets = collect(changes.get(), work.kept, rules);
        if (made.assets) scrub(made.assets.value(), secrets, rules);
        return made;
      },
      [this](Result<Made> made) {
        if (!made) return fail_keeping(made.error().what);
        tell_changes(std::move(made).take());
      },
      [](Result<Made> made) {
        if (made && made.value().gathered) discard(LayerDraft{.from = made.value().gathered.value()});
      });
}

void SandboxSession::tell_changes(Made made) {
  if (!made.gathered) return fail_keeping(made.gathered.error().what);
  gathered_ = std::move(made.gathered).take();
  if (!made.diff || !made.own_diff) {
    const auto& why = made.diff ? made.own_diff.error().what : made.diff.error().what;
    return fail(Slug::writeback_failed, "What was changed cannot be read: " + why + ".");
  }
  if (!made.assets) {
    return fail(Slug::writeback_failed, "The run's files cannot be read: " + made.assets.error().what + ".");
  }
  const auto& own = made.own_diff.value();
  if (!tell_diffs(own ? std::optional(own->text) : std::nullopt, made.diff.value().text)) return;
  for (const auto& why : made.assets.value().left_out) {
    if (!emit(EventKind::log, runs::log_body("warn", "Not handed back: " + runs::to_utf8(why)))) return;
  }
  hand_back(std::move(made.assets).take());
}

void SandboxSession::hand_back(workspace::Assets assets) {
  if (!dispatch_.supplies || !dispatch_.supplies->wants_assets()) return draft();
  std::vector<harness::Asset> files;
  for (auto& file : assets.files) files.push_back({std::move(file.name), std::move(file.bytes)});
  const auto words = "Returned " + std::to_string(files.size()) + (files.size() == 1 ? " file." : " files.");
  dispatch_.supplies->take_assets(
      std::move(files), std::move(text_),
      [this, words, alive = lifeline_.watch()](const Result<std::vector<harness::KeptAsset>>& taken) {
        if (alive.expired()) return;
        if (!taken) {
          return fail(Slug::writeback_failed, "The run's files could not be handed back: " + taken.error().what + ".");
        }
        if (!taken.value().empty() && !emit(EventKind::custom, runs::assets_body(taken.value()))) return;
        if (end_phase("writeback", words)) draft();
      });
}

void SandboxSession::draft() {
  if (!is_kept(dispatch_)) return end();
  file_work_.send<Drafted>(
      *workers_, "copying the workspace",
      [work = layer_work(),
       changes = duplicate(live_ ? live_->box()->changes_fd() : -1)](std::stop_token stop) mutable -> Result<Drafted> {
        work.changes_fd = changes.get();
        work.stop = std::move(stop);
        Drafted drafted{draft_layer(work)};
        if (drafted.draft) drafted.workspace_bytes = workspace_bytes_with(work.home, drafted.draft.value());
        return drafted;
      },
      [this](Result<Drafted> drafted) {
        if (!drafted) return fail_keeping(drafted.error().what);
        keep_draft(std::move(drafted).take());
      },
      [](const Result<Drafted>& drafted) {
        if (drafted) discard(drafted.value().draft);
      });
}

void SandboxSession::keep_draft(Drafted drafted) {
  auto& draft = drafted.draft;
  const auto refusal =
      draft && host_.disk_usage
          ? host_.disk_usage->take(dispatch_.agent.tenant_id, dispatch_.conversation, drafted.workspace_bytes)
          : std::nullopt;
  if (refusal) {
    workers_->run([draft = std::move(draft).take()] { discard(draft); }, [] {});
    return fail_keeping(*refusal);
  }
  auto kept = draft ? keep(draft.value()) : Result<Unit>(std::move(draft.error()));
  if (!kept) return fail_keeping(kept.error().what);
  gathered_.clear();
  const bool replaces = live_ && !live_->kept.empty();
  if (live_ && !draft.value().to.empty()) live_->kept = draft.value().to;
  if (replaces) workers_->run([draft = std::move(draft).take()] { discard(draft); }, [] {});
  forget_held();
  end();
}

// What the user put there is no change of the run's.
std::vector<std::string> SandboxSession::undiffed_directories() const {
  auto names = ignored_directories(options_);
  if (dispatch_.extras.chat || !dispatch_.materials.files.empty()) names.emplace_back(attachments_directory);
  return names;
}

// Not over layers that go with the run.
bool SandboxSession::keeps_box() const { return dispatch_.keeps_box && state_.parked_layers.empty(); }

void SandboxSession::end() {
  const bool stays = live_ && keeps_box();
  if (stays && is_suspended_) return static_cast<void>(ends_later_ = true);
  if (stays) host_.kept_sandboxes->give_back(dispatch_.conversation, std::move(live_));
  const auto words = stays                ? "Kept the workspace and the sandbox."
                     : is_kept(dispatch_) ? "Kept the workspace."
                                          : "The workspace is gone.";
  if (!end_phase("settle", words)) return;
  std::exchange(then_, nullptr)();
}

}  // namespace sluice::sessions
