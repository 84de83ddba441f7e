#include <fcntl.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "sessions/disk_usage.h"
#include "sessions/file_events.h"
#include "sessions/kept_sandboxes.h"
#include "sessions/layer_bytes.h"
#include "sessions/session_holding.h"

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

// What was compared when the run was over.
struct Compared {
  Result<std::string> gathered;  // empty: there was nothing to put together
  Result<workspace::Diff> diff;
  Result<std::optional<workspace::Diff>> own_diff;  // of this run alone; empty: nothing was changed before it
  Result<workspace::Assets> assets;
};

struct Drafted {
  Result<LayerDraft> draft;
  int64_t workspace_bytes = 0;  // once it is kept
};

// Not over layers that are removed with the run.
bool keeps_sandbox(const SessionCore& core) { return core.dispatch.keeps_box && core.state.parked_layers.empty(); }

bool wants_assets(const SessionCore& core) { return core.dispatch.supplies && core.dispatch.supplies->wants_assets(); }

// Files that the user put there are no change of the run's.
std::vector<std::string> undiffed_directories(const SessionCore& core) {
  auto names = ignored_directories(core.host.options);
  if (core.dispatch.extras.chat || !core.dispatch.materials.files.empty()) names.emplace_back(attachments_directory);
  return names;
}

Task<> report_diffs(SessionCore& core, std::optional<std::string> own, std::string all) {
  if (own && *own != all) co_await core.report(runs::run_diff_event(runs::to_utf8(*own)));
  if (!all.empty()) co_await core.report(runs::diff_event(runs::to_utf8(all)));
}

// Nothing was opened, so the run changed nothing. What was changed before it is compared where it is kept.
Task<Outcome> report_kept_diff(SessionCore& core) {
  if (!is_kept(core.dispatch) || !is_directory(core.home)) co_return std::nullopt;
  auto diff = co_await file_job<workspace::Diff>(
      core.file_workers(), "comparing the workspace with what it was",
      [work = core.layer_work(), ignored = undiffed_directories(core)](std::stop_token stop) mutable {
        work.stop = std::move(stop);
        return kept_diff(std::move(work), ignored);
      });
  if (diff) {
    co_await report_diffs(core, "", std::move(diff.value().text));
  } else {
    // Nothing is lost: the answer is there, and the workspace stays as it was.
    co_await core.report(runs::log_line("warn", "There is no diff: " + diff.error().what));
  }
  co_return std::nullopt;
}

// The run changed something, waited, and needed no sandbox any more.
Task<Outcome> read_kept_layers(SessionCore& core) {
  auto layers =
      co_await file_job<workspace::Layers>(core.file_workers(), "reading the workspace",
                                           [home = core.home](const std::stop_token&) { return read_layers(home); });
  if (!layers) co_return keeping_failed(layers.error().what);
  core.layers = std::move(layers).take();
  co_return std::nullopt;
}

// Requests that background processes had under way end here, and belong into the run's egress log.
Task<Outcome> quiet_sandbox(SessionCore& core) {
  if (auto* outlet = core.live->outlet()) {
    const auto records = outlet->break_off();
    for (const auto& record : records) co_await core.report(egress::event_of(record));
  }
  if (keeps_sandbox(core)) co_return std::nullopt;
  const auto proof = co_await answer<Result<Unit>>([&core](auto done) { core.live->kill(std::move(done)); });
  if (!proof) co_return killing_failed(proof.error().what);
  co_return std::nullopt;
}

// All in one job: diffs and returned files must be of the same state of the workspace.
Task<Result<Compared>> compare(SessionCore& core) {
  co_return co_await file_job<Compared>(
      core.file_workers(), "comparing the workspace with what it was",
      [work = core.layer_work(), changes = core.duplicate_changes(), wants_assets = wants_assets(core),
       secrets = core.dispatch.secrets, ignored = undiffed_directories(core),
       rules = workspace::AssetRules{.extensions = core.host.options.asset_extensions}](
          std::stop_token stop) mutable -> Result<Compared> {
        work.changes_fd = changes.get();
        work.stop = stop;
        Compared found{std::string(), workspace::Diff{}, std::optional<workspace::Diff>(), workspace::Assets{}};
        if (!work.held.empty() || !work.kept.empty()) {
          found.gathered = gather_changes(work);
          if (!found.gathered) return found;
          changes = open_directory(found.gathered.value());
        }
        found.diff = workspace::diff(since_then(work, changes.get()), at_first(work), ignored, {.stop = stop});
        found.own_diff = own_diff(work, changes.get(), ignored);
        if (wants_assets) found.assets = collect(changes.get(), work.kept, rules);
        if (found.assets) scrub(found.assets.value(), secrets, rules);
        return found;
      },
      [](Result<Compared> found) {
        if (found && found.value().gathered) discard(LayerDraft{.from = found.value().gathered.value()});
      });
}

Outcome fault_of(const Compared& found) {
  if (!found.gathered) return keeping_failed(found.gathered.error().what);
  if (!found.diff || !found.own_diff) {
    const auto& why = found.diff ? found.own_diff.error().what : found.diff.error().what;
    return SessionFailure{Slug::writeback_failed, "What was changed cannot be read: " + why + "."};
  }
  if (found.assets) return std::nullopt;
  return SessionFailure{Slug::writeback_failed, "The run's files cannot be read: " + found.assets.error().what + "."};
}

Task<Outcome> return_files(SessionCore& core, std::vector<workspace::Asset> assets, std::string text) {
  if (!wants_assets(core)) co_return std::nullopt;
  std::vector<dispatch::Asset> files;
  for (auto& file : assets) files.push_back({std::move(file.name), std::move(file.bytes)});
  const auto words = "Returned " + std::to_string(files.size()) + (files.size() == 1 ? " file." : " files.");
  const auto taken = co_await answer<Result<std::vector<dispatch::KeptAsset>>>(
      [&](auto done) { core.dispatch.supplies->take_assets(std::move(files), std::move(text), std::move(done)); });
  if (!taken) {
    co_return SessionFailure{Slug::writeback_failed,
                             "The run's files could not be handed back: " + taken.error().what + "."};
  }
  if (!taken.value().empty()) co_await core.report(runs::assets_event(taken.value()));
  co_await core.end_phase("writeback", words);
  co_return std::nullopt;
}

Task<Outcome> report_changes(SessionCore& core, Compared found, std::string text) {
  if (found.gathered) core.gathered = found.gathered.value();
  if (auto failed = fault_of(found)) co_return failed;
  auto& own = found.own_diff.value();
  co_await report_diffs(core, own ? std::optional(std::move(own->text)) : std::nullopt,
                        std::move(found.diff.value().text));
  auto& assets = found.assets.value();
  for (const auto& why : assets.left_out) {
    co_await core.report(runs::log_line("warn", "Not handed back: " + runs::to_utf8(why)));
  }
  co_return co_await return_files(core, std::move(assets.files), std::move(text));
}

// On a worker, and not awaited: how long a tree takes to remove is up to the tenant that made it.
void discard_later(const SessionCore& core, LayerDraft draft) {
  core.workers->run([draft = std::move(draft)] { discard(draft); }, [] {});
}

// On the loop's thread, because only there the tenant's usage and the rename are one step: two runs that end at once
// must not both take the last free bytes.
Outcome keep_draft(SessionCore& core, Drafted drafted) {
  auto& draft = drafted.draft;
  const auto refusal = draft && core.host.disk_usage
                           ? core.host.disk_usage->take(core.dispatch.agent.tenant_id, core.dispatch.conversation,
                                                        drafted.workspace_bytes)
                           : std::nullopt;
  if (refusal) {
    discard_later(core, std::move(draft).take());
    return keeping_failed(*refusal);
  }
  auto kept = draft ? keep(draft.value()) : Result<Unit>(std::move(draft.error()));
  if (!kept) return keeping_failed(kept.error().what);
  core.gathered.clear();
  const bool replaces = core.live && !core.live->kept.empty();
  if (core.live && !draft.value().to.empty()) core.live->kept = draft.value().to;
  if (replaces) discard_later(core, std::move(draft).take());
  return std::nullopt;
}

Task<Outcome> keep_changes(SessionCore& core) {
  auto drafted = co_await file_job<Drafted>(
      core.file_workers(), "copying the workspace",
      [work = core.layer_work(), changes = core.duplicate_changes()](std::stop_token stop) mutable -> Result<Drafted> {
        work.changes_fd = changes.get();
        work.stop = std::move(stop);
        Drafted drafted{draft_layer(work)};
        if (drafted.draft) drafted.workspace_bytes = workspace_bytes_with(work.home, drafted.draft.value());
        return drafted;
      },
      [](const Result<Drafted>& drafted) {
        if (drafted) discard(drafted.value().draft);
      });
  if (!drafted) co_return keeping_failed(drafted.error().what);
  co_return keep_draft(core, std::move(drafted).take());
}

}  // namespace

Task<Outcome> end_session(SessionCore& core, SessionHolding& holding, FileEvents& files, std::string text) {
  if (!core.is_open && core.state.parked_layers.empty()) co_return co_await report_kept_diff(core);
  core.phase_began_us = core.ready_us;
  co_await core.end_phase("run", "The agent has finished.");
  auto quieting = core.live ? quiet_sandbox(core) : read_kept_layers(core);
  if (auto failed = co_await quieting) co_return failed;
  co_await outside([live = core.live.get()] {
    if (live != nullptr) live->settle_files();
  });
  // Before the diff: a client that follows the files has seen each of them when it comes.
  co_await outside([&files] { files.report_rest(); });
  auto found = co_await compare(core);
  if (!found) co_return keeping_failed(found.error().what);
  if (auto failed = co_await report_changes(core, std::move(found).take(), std::move(text))) co_return failed;
  if (is_kept(core.dispatch)) {
    if (auto failed = co_await keep_changes(core)) co_return failed;
    holding.forget();
  }
  // A sandbox that is kept does not run on before it is known that the run is still this server's.
  const auto stays = [&core] { return core.live && keeps_sandbox(core); };
  while (stays() && core.is_suspended) {
    co_await answer<Unit>([&core](auto done) { core.when_resumed = std::move(done); });
  }
  const bool keeps = stays();
  if (keeps) {
    co_await outside(
        [&core] { core.host.kept_sandboxes->give_back(core.dispatch.conversation, std::move(core.live)); });
  }
  co_await core.end_phase("settle", keeps                    ? "Kept the workspace and the sandbox."
                                    : is_kept(core.dispatch) ? "Kept the workspace."
                                                             : "The workspace is gone.");
  co_return std::nullopt;
}

}  // namespace sluice::sessions
