#include "runner/layer_shelf.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <system_error>

#include "base/bytes.h"
#include "base/digest.h"

namespace sluice::runner {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view whole_suffix = ".whole";
constexpr std::string_view draft_suffix = ".part";
constexpr std::string_view unkept_prefix = "of-";
constexpr std::string_view aside_prefix = "gone-";

Error failed(std::string_view what, const std::string& path, const std::error_code& error) {
  return {ErrorKind::unavailable, std::string(what) + " " + path + ": " + error.message()};
}

// A name that can be a directory's, whoever chose it.
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

std::string file_name(const std::string& path) { return fs::path(path).filename(); }

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

// A conversation that keeps nothing leaves nothing: not its home, nor the directory of its homes.
void remove_if_empty(const fs::path& home) {
  std::error_code error;
  if (fs::remove(home, error) && !file_name(home).starts_with(unkept_prefix)) fs::remove(home.parent_path(), error);
}

Result<Unit> freeze_draft(const LayerWork& work, const std::string& draft) {
  std::error_code error;
  fs::create_directories(work.home, error);
  if (error) return failed("make", work.home, error);
  return workspace::freeze(work.changes_fd, draft, work.owner, {});
}

}  // namespace

bool is_kept(const harness::Dispatch& dispatch) { return !(dispatch.conversation == model::ConversationId{}); }

std::string layer_home(const std::string& state_dir, const harness::Dispatch& dispatch) {
  if (!is_kept(dispatch)) return state_dir + "/workspaces/" + std::string(unkept_prefix) + dispatch.run.text();
  const auto& repository = dispatch.materials.repository;
  return state_dir + "/workspaces/" + dispatch.conversation.text() + "/" +
         (repository ? directory_name(repository->id) : "none");
}

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
    const auto to = where + std::string(aside_prefix) + name;
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
    // Also what a draft was being written to, whose name goes on after the suffix.
    if (is_complete || name.find(draft_suffix) != std::string::npos) {
      // Best done now, but it can wait for the next time.
      (void)workspace::remove_tree(path);
      continue;
    }
    if (number_of(name) == 0) continue;
    layers.push_back(path);
    is_complete = name.ends_with(whole_suffix);
  }
  return layers;
}

Result<LayerDraft> draft_layer(const LayerWork& work, int layers_max) {
  const auto draft = work.home + "/" + work.mark + std::string(draft_suffix);
  const int number = work.below.empty() ? 1 : number_of(file_name(work.below.front())) + 1;
  std::error_code error;
  if (fs::is_empty("/proc/self/fd/" + std::to_string(work.changes_fd), error) && !error) return LayerDraft{};
  if (auto frozen = freeze_draft(work, draft); !frozen) {
    remove_if_empty(work.home);
    return std::move(frozen.error());
  }
  if (fs::is_empty(draft, error) && !error) {
    (void)workspace::remove_tree(draft);
    remove_if_empty(work.home);
    return LayerDraft{};
  }
  if (std::ssize(work.below) < layers_max) return LayerDraft{draft, work.home + "/" + numbered(number)};

  workspace::Layers all = work.below;
  all.insert(all.begin(), draft);
  const auto merged = work.home + "/" + work.mark + "-whole" + std::string(draft_suffix);
  auto done = workspace::merge(all, merged, work.owner, {});
  (void)workspace::remove_tree(draft);
  if (!done) return std::move(done.error());
  return LayerDraft{merged, work.home + "/" + numbered(number) + std::string(whole_suffix)};
}

void discard(const Result<LayerDraft>& draft) {
  if (!draft || draft.value().from.empty()) return;
  (void)workspace::remove_tree(draft.value().from);
  remove_if_empty(fs::path(draft.value().from).parent_path());
}

Result<Unit> keep(const LayerDraft& draft) {
  if (draft.from.empty()) return Unit{};
  std::error_code error;
  fs::rename(draft.from, draft.to, error);
  if (error) return failed("rename", draft.from, error);
  return Unit{};
}

}  // namespace sluice::runner
