#include "sessions/layers.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <optional>
#include <system_error>

#include "base/bytes.h"
#include "base/digest.h"

namespace sluice::sessions {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view whole_suffix = ".whole";
constexpr std::string_view draft_suffix = ".part";
constexpr std::string_view held_suffix = ".held";
constexpr std::string_view base_name = "base";
constexpr std::string_view no_repository = "none";
constexpr std::string_view unkept_prefix = "of-";
constexpr std::string_view aside_prefix = "gone-";

Error failed(std::string_view what, const std::string& path, const std::error_code& error) {
  return {ErrorKind::unavailable, std::string(what) + " " + path + ": " + error.message()};
}

// Whether the name can be a directory's.
std::string directory_name(const std::string& id) {
  constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
  const bool is_plain = !id.empty() && id.size() <= 64 && id.find_first_not_of(plain) == std::string::npos;
  return is_plain ? id : to_hex(sha256(id));
}

// 0: no layer's name.
int number_of(std::string_view name) {
  if (name.ends_with(whole_suffix)) name.remove_suffix(whole_suffix.size());
  if (name.size() < 4 || name.size() > 9 || name.find_first_not_of("0123456789") != std::string_view::npos) return 0;
  return std::stoi(std::string(name));
}

std::string numbered(int number) {
  std::array<char, 16> text{};
  std::snprintf(text.data(), text.size(), "%04d", number);
  return text.data();
}

int top_of(const workspace::Layers& layers) {
  return layers.empty() ? 0 : number_of(fs::path(layers.front()).filename().native());
}

// The number of the layer that a held one lies over; empty: it is none.
std::optional<int> base_of(std::string_view name) {
  const auto dot = name.find('.');
  const auto held = name.find(held_suffix);
  if (dot == std::string_view::npos || held == std::string_view::npos || held <= dot) return std::nullopt;
  const auto number = name.substr(dot + 1, held - dot - 1);
  return number == numbered(0) ? 0 : number_of(number);
}

std::string file_name(const std::string& path) { return fs::path(path).filename(); }

bool has_repository(const std::string& home) { return file_name(home) != no_repository; }

bool is_there(const std::string& path) {
  std::error_code error;
  return fs::exists(path, error);
}

// What a layer that has all in it takes the place of is removed, but for the repository, which diffs begin from.
void put_away(const std::string& home, const std::string& path) {
  const auto base = home + "/" + std::string(base_name);
  std::error_code error;
  if (number_of(file_name(path)) == 1 && has_repository(home) && !is_there(base)) return fs::rename(path, base, error);
  // Best done now, but it can wait for the next time.
  (void)workspace::remove_tree(path);
}

// None if it is not there.
Result<std::vector<std::string>> names_in(const std::string& directory) {
  std::error_code error;
  std::vector<std::string> names;
  fs::directory_iterator entries(directory, error);
  if (error == std::errc::no_such_file_or_directory) return names;
  for (; !error && entries != fs::directory_iterator(); entries.increment(error)) {
    names.push_back(entries->path().filename());
  }
  if (error) return failed("list", directory, error);
  return names;
}

std::vector<std::string> readable_names_in(const std::string& directory) {
  auto names = names_in(directory);
  return names ? std::move(names).take() : std::vector<std::string>();
}

// A conversation that keeps nothing leaves nothing: not its home, nor the directory of its homes.
void remove_if_empty(const fs::path& home) {
  std::error_code error;
  if (fs::remove(home, error) && !file_name(home).starts_with(unkept_prefix)) fs::remove(home.parent_path(), error);
}

Result<Unit> freeze_draft(const LayerWork& work, const std::string& draft) {
  std::error_code error;
  fs::create_directories(work.home, error);
  if (error) return failed("make", work.home, error);
  return workspace::freeze(work.changes_fd, draft, work.owner, {.stop = work.stop});
}

bool is_empty_directory(int fd) {
  std::error_code error;
  return fs::is_empty("/proc/self/fd/" + std::to_string(fd), error) && !error;
}

Result<Unit> hide(const fs::path& path, workspace::Owner owner) {
  const bool made = mknod(path.c_str(), S_IFCHR, 0) == 0;
  if (!made || (geteuid() == 0 && lchown(path.c_str(), owner.uid, owner.gid) != 0)) {
    return failed("hide", path, std::error_code(errno, std::generic_category()));
  }
  return Unit{};
}

// What a sandbox made and took away again leaves no trace in its changes. Over a layer that still has it, it must be
// hidden.
Result<Unit> hide_vanished(const fs::path& layer, const fs::path& earlier, const LayerWork& work) {
  auto names = names_in(earlier);
  if (!names) return std::move(names.error());
  for (const auto& name : names.value()) {
    if (work.stop.stop_requested()) return Error{ErrorKind::unavailable, "it was stopped"};
    struct stat was{};
    struct stat is{};
    if (lstat((earlier / name).c_str(), &was) != 0 || S_ISCHR(was.st_mode)) continue;
    if (lstat((layer / name).c_str(), &is) != 0) {
      if (auto hidden = hide(layer / name, work.owner); !hidden) return hidden;
      continue;
    }
    const bool is_opaque = getxattr((layer / name).c_str(), "user.overlay.opaque", nullptr, 0) > 0;
    if (!S_ISDIR(was.st_mode) || !S_ISDIR(is.st_mode) || is_opaque) continue;
    if (auto hidden = hide_vanished(layer / name, earlier / name, work); !hidden) return hidden;
  }
  return Unit{};
}

}  // namespace

bool is_kept(const dispatch::Dispatch& dispatch) { return !(dispatch.conversation == model::ConversationId{}); }

std::string layer_home(const std::string& state_dir, const dispatch::Dispatch& dispatch) {
  if (!is_kept(dispatch)) return state_dir + "/workspaces/" + std::string(unkept_prefix) + dispatch.run.text();
  const auto& repository = dispatch.materials.repository;
  return state_dir + "/workspaces/" + dispatch.conversation.text() + "/" +
         (repository ? directory_name(repository->id) : std::string(no_repository));
}

std::string aside_name(const std::string& name) { return std::string(aside_prefix) + name; }

std::vector<std::string> set_aside_unkept(const std::string& state_dir) {
  const auto where = state_dir + "/workspaces/";
  std::vector<std::string> aside;
  const auto names = names_in(where);
  if (!names) return aside;
  for (const auto& name : names.value()) {
    if (name.starts_with(aside_prefix)) aside.push_back(where + name);
    if (!name.starts_with(unkept_prefix)) continue;
    // Under another name, because a run that is taken up again has the same home.
    std::error_code error;
    const auto to = where + aside_name(name);
    fs::rename(where + name, to, error);
    if (!error) aside.push_back(to);
  }
  return aside;
}

Result<workspace::Layers> read_layers(const std::string& home) {
  auto listed = names_in(home);
  if (!listed) return std::move(listed.error());
  auto names = std::move(listed).take();
  std::ranges::sort(names, std::greater<>(), number_of);

  workspace::Layers layers;
  bool is_complete = false;
  for (const auto& name : names) {
    const auto path = home + "/" + name;
    if (base_of(name) || name == base_name) continue;
    // Also what a draft was being written to, whose name goes on after the suffix.
    if (is_complete || name.find(draft_suffix) != std::string::npos) {
      put_away(home, path);
      continue;
    }
    if (number_of(name) == 0) continue;
    layers.push_back(path);
    is_complete = name.ends_with(whole_suffix);
  }
  for (const auto& name : names) {
    const auto base = base_of(name);
    if (base && *base != top_of(layers)) (void)workspace::remove_tree(home + "/" + name);
  }
  return layers;
}

workspace::Layers before(const LayerWork& work) {
  auto layers = work.below;
  if (!work.kept.empty()) layers.insert(layers.begin(), work.kept);
  return layers;
}

workspace::Layers at_first(const LayerWork& work) {
  if (!has_repository(work.home) || work.below.empty()) return {};
  for (const auto& name : {std::string(base_name), numbered(1)}) {
    if (auto path = work.home + "/" + name; is_there(path)) return {path};
  }
  return {work.below.back()};  // the others are gone, as in workspaces of before
}

workspace::Changes since_then(const LayerWork& work, int top_fd) {
  workspace::Changes changes{.top_fd = top_fd, .more = before(work)};
  const auto first = at_first(work);
  const bool is_lowest = !first.empty() && first.front() == work.below.back();
  if (is_lowest) changes.more.pop_back();
  changes.is_whole = !first.empty() && !is_lowest;
  return changes;
}

Result<std::string> gather_changes(const LayerWork& work) {
  auto draft = work.home + "/" + work.mark + std::string(draft_suffix);
  auto layers = work.held;
  if (work.changes_fd >= 0) {
    if (auto frozen = freeze_draft(work, draft); !frozen) return std::move(frozen.error());
    layers.insert(layers.begin(), draft);
  }
  if (!work.held.empty()) {
    const auto merged = work.home + "/" + work.mark + "-all" + std::string(draft_suffix);
    auto done = workspace::merge(layers, merged, work.owner, {.stop = work.stop});
    (void)workspace::remove_tree(draft);
    if (!done) return std::move(done.error());
    draft = merged;
  }
  if (work.kept.empty()) return draft;
  if (auto hidden = hide_vanished(draft, work.kept, work); !hidden) return std::move(hidden.error());
  return draft;
}

Result<std::string> hold_changes(const LayerWork& work, int number) {
  const auto top = work.kept.empty() ? top_of(work.below) : top_of({work.kept});
  auto name = work.mark + "." + numbered(top) + std::string(held_suffix) + std::to_string(number);
  const auto path = work.home + "/" + name;
  if (is_empty_directory(work.changes_fd) && work.kept.empty()) return std::string();
  (void)workspace::remove_tree(path);  // a server died after it was written and before that was known
  if (auto frozen = freeze_draft(work, path); !frozen) return std::move(frozen.error());
  if (work.kept.empty()) return name;
  if (auto hidden = hide_vanished(path, work.kept, work); !hidden) return std::move(hidden.error());
  return name;
}

int held_number(std::string_view name) {
  const auto at = name.find(held_suffix);
  return at == std::string_view::npos ? 0 : std::atoi(std::string(name.substr(at + held_suffix.size())).c_str());
}

std::vector<dispatch::ParkedRun> list_held(const std::string& state_dir) {
  const auto where = state_dir + "/workspaces";
  std::vector<dispatch::ParkedRun> found;
  for (const auto& owner : readable_names_in(where)) {
    const auto conversation = model::ConversationId::parse(owner);
    if (!conversation) continue;
    const auto homes = where + "/" + owner;
    for (const auto& home : readable_names_in(homes)) {
      for (const auto& name : readable_names_in(homes + "/" + home)) {
        const auto run = model::RunId::parse(std::string_view(name).substr(0, name.find('.')));
        if (run && base_of(name)) found.push_back({*run, *conversation});
      }
    }
  }
  // One that waited several times held as often.
  std::ranges::sort(found, {}, &dispatch::ParkedRun::run);
  const auto doubles = std::ranges::unique(found);
  found.erase(doubles.begin(), doubles.end());
  return found;
}

void remove_held(const std::string& state_dir, model::ConversationId conversation, model::RunId run) {
  const auto homes = state_dir + "/workspaces/" + conversation.text();
  const auto names = names_in(homes);
  if (!names) return;
  for (const auto& name : names.value()) remove_held_but(homes + "/" + name, run, {});
}

void remove_held_but(const std::string& home, model::RunId run, const std::vector<std::string>& kept) {
  const auto names = names_in(home);
  if (!names) return;
  for (const auto& name : names.value()) {
    if (!base_of(name) || !name.starts_with(run.text() + ".") || std::ranges::find(kept, name) != kept.end()) continue;
    (void)workspace::remove_tree(home + "/" + name);
  }
  remove_if_empty(home);
}

Result<workspace::Layers> compacted(const LayerWork& work, int layers_max) {
  if (std::ssize(work.below) < layers_max) return work.below;
  const auto merged = work.home + "/" + work.mark + "-whole" + std::string(draft_suffix);
  if (auto done = workspace::merge(work.below, merged, work.owner, {.stop = work.stop}); !done)
    return std::move(done.error());
  const LayerDraft draft{merged, work.home + "/" + numbered(top_of(work.below) + 1) + std::string(whole_suffix)};
  if (auto kept = keep(draft); !kept) return std::move(kept.error());
  return workspace::Layers{draft.to};
}

Result<LayerDraft> draft_layer(const LayerWork& work, int layers_max) {
  auto draft = work.gathered;
  if (draft.empty()) {
    if (is_empty_directory(work.changes_fd)) return LayerDraft{};
    draft = work.home + "/" + work.mark + std::string(draft_suffix);
    if (auto frozen = freeze_draft(work, draft); !frozen) {
      remove_if_empty(work.home);
      return std::move(frozen.error());
    }
  }
  if (!work.kept.empty()) return LayerDraft{draft, work.kept};
  std::error_code error;
  if (fs::is_empty(draft, error) && !error) {
    (void)workspace::remove_tree(draft);
    remove_if_empty(work.home);
    return LayerDraft{};
  }
  const auto number = numbered(top_of(work.below) + 1);
  if (std::ssize(work.below) < layers_max) return LayerDraft{draft, work.home + "/" + number};

  workspace::Layers all = work.below;
  all.insert(all.begin(), draft);
  const auto merged = work.home + "/" + work.mark + "-whole" + std::string(draft_suffix);
  auto done = workspace::merge(all, merged, work.owner, {.stop = work.stop});
  (void)workspace::remove_tree(draft);
  if (!done) return std::move(done.error());
  return LayerDraft{merged, work.home + "/" + number + std::string(whole_suffix)};
}

void discard(const Result<LayerDraft>& draft) {
  if (!draft || draft.value().from.empty()) return;
  (void)workspace::remove_tree(draft.value().from);
  remove_if_empty(fs::path(draft.value().from).parent_path());
}

Result<Unit> keep(const LayerDraft& draft) {
  if (draft.from.empty()) return Unit{};
  // Both at once, so that whenever the server dies one of the two is there, whole.
  if (renameat2(AT_FDCWD, draft.from.c_str(), AT_FDCWD, draft.to.c_str(), RENAME_EXCHANGE) == 0) return Unit{};
  std::error_code error;
  fs::rename(draft.from, draft.to, error);
  if (error) return failed("rename", draft.from, error);
  return Unit{};
}

}  // namespace sluice::sessions
