#include "sessions/session_ending.h"

#include <fcntl.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "sessions/disk_usage.h"
#include "sessions/file_upload.h"
#include "sessions/kept_sandboxes.h"
#include "sessions/layer_bytes.h"

namespace sluice::sessions {

using model::Slug;

namespace {

OwnedFd open_directory(const std::string& path) {
  return OwnedFd(open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
}

// Without those that runs before it left in the same sandbox.
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

struct SessionEnding::Made {
  Result<std::string> gathered;  // empty: there was nothing to put together
  Result<workspace::Diff> diff;
  Result<std::optional<workspace::Diff>> own_diff;  // of this run alone; empty: nothing was changed before it
  Result<workspace::Assets> assets;
};

struct SessionEnding::Drafted {
  Result<LayerDraft> draft;
  int64_t workspace_bytes = 0;  // once it is kept
};

void SessionEnding::begin(std::string text, bool was_open, Callback<void()> done) {
  if (!was_open && core_.state.parked_layers.empty()) return report_kept_diff(std::move(done));
  text_ = std::move(text);
  done_ = std::move(done);
  core_.phase_began_us = core_.ready_us;
  if (!core_.end_phase("run", "The agent has finished.")) return;
  if (!core_.live) return find_layers();
  // What background processes had under way ends here, and belongs into the run's egress log.
  if (auto* outlet = core_.live->outlet()) {
    for (auto& record : outlet->break_off()) {
      if (!core_.emit(egress::event_of(record))) return;
    }
  }
  if (keeps_sandbox()) return look_for_changes();
  core_.live->kill([this, alive = core_.lifeline.watch()](const Result<Unit>& proof) {
    if (alive.expired()) return;
    if (!proof) return core_.fail_undead(proof.error().what);
    look_for_changes();
  });
}

// Nothing was opened, so the run changed nothing. What was changed before it is compared where it is kept.
void SessionEnding::report_kept_diff(Callback<void()> done) {
  if (!is_kept(core_.dispatch) || !is_directory(core_.home)) return done();
  done_ = std::move(done);
  core_.file_work.send<workspace::Diff>(
      *core_.workers, "comparing the workspace with what it was",
      [work = core_.layer_work(), ignored = undiffed_directories()](std::stop_token stop) mutable {
        work.stop = std::move(stop);
        return kept_diff(std::move(work), ignored);
      },
      [this](const Result<workspace::Diff>& diff) {
        // Nothing is lost: the answer is there, and the workspace stays as it was.
        const bool goes_on = diff ? report_diffs("", diff.value().text)
                                  : core_.emit(runs::log_line("warn", "There is no diff: " + diff.error().what));
        if (goes_on) std::exchange(done_, nullptr)();
      });
}

// False when the listener dropped this.
bool SessionEnding::report_diffs(const std::optional<std::string>& own, const std::string& all) {
  if (own && *own != all && !core_.emit(runs::run_diff_event(runs::to_utf8(*own)))) return false;
  return all.empty() || core_.emit(runs::diff_event(runs::to_utf8(all)));
}

// It changed something, waited, and needed no sandbox any more.
void SessionEnding::find_layers() {
  core_.file_work.send<workspace::Layers>(
      *core_.workers, "reading the workspace",
      [home = core_.home](const std::stop_token&) { return read_layers(home); },
      [this](Result<workspace::Layers> layers) {
        if (!layers) return core_.fail_keeping(layers.error().what);
        core_.layers = std::move(layers).take();
        look_for_changes();
      });
}

void SessionEnding::look_for_changes() {
  const auto alive = core_.lifeline.watch();
  if (core_.live) core_.live->settle_files();
  if (alive.expired() || !files_.report_rest()) return;
  const bool wants_assets = core_.dispatch.supplies && core_.dispatch.supplies->wants_assets();
  // Descriptors of its own: the sandbox may be dropped while another thread reads.
  core_.file_work.send<Made>(
      *core_.workers, "comparing the workspace with what it was",
      [work = core_.layer_work(), changes = core_.duplicate_changes(), wants_assets, secrets = core_.dispatch.secrets,
       ignored = undiffed_directories(),
       rules = workspace::AssetRules{.extensions = core_.host.options.asset_extensions}](
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
        if (!made) return core_.fail_keeping(made.error().what);
        report_changes(std::move(made).take());
      },
      [](Result<Made> made) {
        if (made && made.value().gathered) discard(LayerDraft{.from = made.value().gathered.value()});
      });
}

void SessionEnding::report_changes(Made made) {
  if (!made.gathered) return core_.fail_keeping(made.gathered.error().what);
  core_.gathered = std::move(made.gathered).take();
  if (!made.diff || !made.own_diff) {
    const auto& why = made.diff ? made.own_diff.error().what : made.diff.error().what;
    return core_.fail(Slug::writeback_failed, "What was changed cannot be read: " + why + ".");
  }
  if (!made.assets) {
    return core_.fail(Slug::writeback_failed, "The run's files cannot be read: " + made.assets.error().what + ".");
  }
  const auto& own = made.own_diff.value();
  if (!report_diffs(own ? std::optional(own->text) : std::nullopt, made.diff.value().text)) return;
  for (const auto& why : made.assets.value().left_out) {
    if (!core_.emit(runs::log_line("warn", "Not handed back: " + runs::to_utf8(why)))) return;
  }
  hand_back(std::move(made.assets).take());
}

void SessionEnding::hand_back(workspace::Assets assets) {
  if (!core_.dispatch.supplies || !core_.dispatch.supplies->wants_assets()) return draft();
  std::vector<dispatch::Asset> files;
  for (auto& file : assets.files) files.push_back({std::move(file.name), std::move(file.bytes)});
  const auto words = "Returned " + std::to_string(files.size()) + (files.size() == 1 ? " file." : " files.");
  core_.dispatch.supplies->take_assets(
      std::move(files), std::move(text_),
      [this, words, alive = core_.lifeline.watch()](const Result<std::vector<dispatch::KeptAsset>>& taken) {
        if (alive.expired()) return;
        if (!taken) {
          return core_.fail(Slug::writeback_failed,
                            "The run's files could not be handed back: " + taken.error().what + ".");
        }
        if (!taken.value().empty() && !core_.emit(runs::assets_event(taken.value()))) return;
        if (core_.end_phase("writeback", words)) draft();
      });
}

void SessionEnding::draft() {
  if (!is_kept(core_.dispatch)) return end();
  core_.file_work.send<Drafted>(
      *core_.workers, "copying the workspace",
      [work = core_.layer_work(),
       changes = core_.duplicate_changes()](std::stop_token stop) mutable -> Result<Drafted> {
        work.changes_fd = changes.get();
        work.stop = std::move(stop);
        Drafted drafted{draft_layer(work)};
        if (drafted.draft) drafted.workspace_bytes = workspace_bytes_with(work.home, drafted.draft.value());
        return drafted;
      },
      [this](Result<Drafted> drafted) {
        if (!drafted) return core_.fail_keeping(drafted.error().what);
        keep_draft(std::move(drafted).take());
      },
      [](const Result<Drafted>& drafted) {
        if (drafted) discard(drafted.value().draft);
      });
}

void SessionEnding::keep_draft(Drafted drafted) {
  auto& draft = drafted.draft;
  const auto refusal = draft && core_.host.disk_usage
                           ? core_.host.disk_usage->take(core_.dispatch.agent.tenant_id, core_.dispatch.conversation,
                                                         drafted.workspace_bytes)
                           : std::nullopt;
  if (refusal) {
    core_.workers->run([draft = std::move(draft).take()] { discard(draft); }, [] {});
    return core_.fail_keeping(*refusal);
  }
  auto kept = draft ? keep(draft.value()) : Result<Unit>(std::move(draft.error()));
  if (!kept) return core_.fail_keeping(kept.error().what);
  core_.gathered.clear();
  const bool replaces = core_.live && !core_.live->kept.empty();
  if (core_.live && !draft.value().to.empty()) core_.live->kept = draft.value().to;
  if (replaces) core_.workers->run([draft = std::move(draft).take()] { discard(draft); }, [] {});
  holding_.forget();
  end();
}

// What the user put there is no change of the run's.
std::vector<std::string> SessionEnding::undiffed_directories() const {
  auto names = ignored_directories(core_.host.options);
  if (core_.dispatch.extras.chat || !core_.dispatch.materials.files.empty()) names.emplace_back(attachments_directory);
  return names;
}

// Not over layers that go with the run.
bool SessionEnding::keeps_sandbox() const { return core_.dispatch.keeps_box && core_.state.parked_layers.empty(); }

void SessionEnding::end() {
  const bool stays = core_.live && keeps_sandbox();
  if (stays && core_.is_suspended) return static_cast<void>(ends_later_ = true);
  if (stays) core_.host.kept_sandboxes->give_back(core_.dispatch.conversation, std::move(core_.live));
  const auto words = stays                     ? "Kept the workspace and the sandbox."
                     : is_kept(core_.dispatch) ? "Kept the workspace."
                                               : "The workspace is gone.";
  if (!core_.end_phase("settle", words)) return;
  std::exchange(done_, nullptr)();
}

void SessionEnding::go_on() {
  if (!std::exchange(ends_later_, false)) return;
  core_.clock.defer([this, alive = core_.lifeline.watch()] {
    if (!alive.expired()) end();
  });
}

}  // namespace sluice::sessions
