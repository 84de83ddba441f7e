#include "workspace/watched_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <ctime>
#include <unordered_set>

#include "workspace/beneath.h"

namespace sluice::workspace {
namespace {

// In one turn of the loop, which has others to serve: a few milliseconds.
constexpr int looks_at_once = 128;
constexpr int looks_at_event = 16;  // and many events come in one turn

int64_t nanoseconds(const timespec& at) { return int64_t{at.tv_sec} * 1'000'000'000 + at.tv_nsec; }

int64_t file_clock_ns() {
  timespec at{};
  clock_gettime(CLOCK_REALTIME_COARSE, &at);  // what files are stamped with
  return nanoseconds(at);
}

}  // namespace

WatchedTree::WatchedTree(int workspace_fd, WatchRules rules, Listener news, Inotify& inotify, world::Reactor& reactor,
                         WatchFigures figures)
    : root_fd_(workspace_fd),
      rules_(std::move(rules)),
      news_(std::make_shared<Listener>(std::move(news))),
      inotify_(inotify),
      reactor_(reactor),
      figures_(figures),
      gathering_(rules_.gather_ms * 1000, rules_.pending_max) {
  inotify_.add_reader(*this);
}

WatchedTree::~WatchedTree() {
  news_.reset();
  forget(root_);
  inotify_.remove_reader(*this);
}

Result<Unit> WatchedTree::begin() {
  began_ns_ = file_clock_ns();
  const OwnedFd fd = open_directory_beneath(root_fd_, ".");
  if (!fd) return failed("open the workspace");
  if (!set_watch(root_, fd.get(), Look::at_start)) {
    if (errno == ENOSPC) {
      return Error{ErrorKind::overloaded, "watch the workspace: no watches are left (fs.inotify.max_user_watches)"};
    }
    return failed("watch the workspace");
  }
  pending_.push_back({"", Look::at_start});
  look_around(looks_at_once);
  began_ = true;
  return Unit{};
}

void WatchedTree::settle() {
  // Enough for what the kernel's queue holds (16,384 events); others who still write must not hold the loop.
  constexpr int rounds_max = 100;
  for (int round = 0; round < rounds_max; ++round) {
    if (inotify_.read_some() == Inotify::Left::was_empty && pending_.empty()) break;
    look_around(looks_at_once);
  }
  if (!pending_.empty()) note_overflow();  // the rest is looked at later, if anybody still watches
  tell();
}

void WatchedTree::on_inotify(WatchedDirectory& directory, uint32_t mask, std::string_view name) {
  if (name.empty()) return;
  if ((mask & IN_ISDIR) != 0) {
    on_directory(directory, mask, name);
    look_around(looks_at_event);
  } else {
    on_file(directory, mask, name);
  }
}

void WatchedTree::on_directory(WatchedDirectory& directory, uint32_t mask, std::string_view name) {
  if (is_ignored(name)) return;
  if ((mask & (IN_DELETE | IN_MOVED_FROM)) != 0) return drop(directory, name);
  if ((mask & (IN_CREATE | IN_MOVED_TO)) == 0) return;
  found_directory(directory, std::string(name), Look::at_fresh);
}

void WatchedTree::on_file(WatchedDirectory& directory, uint32_t mask, std::string_view name) {
  using Kind = FileNews::Kind;
  if (name.starts_with(rules_.draft_prefix)) return;
  std::string key(name);
  std::string path = joined(directory.path, name);
  if ((mask & (IN_DELETE | IN_MOVED_FROM)) != 0) {
    if (directory.files.erase(key) > 0) note(Kind::deleted, std::move(path));
    return;
  }
  const bool fresh = directory.files.insert(std::move(key)).second;
  if (fresh) return note(Kind::created, std::move(path));
  // Known, and created: found by looking before the kernel's word came. Moved here: put in place of another.
  if ((mask & IN_CREATE) == 0) note(Kind::changed, std::move(path));
}

void WatchedTree::on_inotify_overflow() {
  note_overflow();
  pending_.push_back({"", Look::again});
  looking_ = reactor_.after({0}, [this] { look_around(looks_at_once); });
}

void WatchedTree::look_around(int directories_max) {
  for (; !pending_.empty() && directories_max > 0; --directories_max) {
    const PendingLook pending = std::move(pending_.front());
    pending_.pop_front();
    if (WatchedDirectory* const directory = find(pending.path)) look_at(*directory, pending.how);
  }
  if (pending_.empty()) {
    looking_.cancel();
  } else {
    looking_ = reactor_.after({0}, [this] { look_around(looks_at_once); });
  }
}

void WatchedTree::look_at(WatchedDirectory& directory, Look how) {
  const std::string& path = directory.path;
  const OwnedFd fd = open_beneath(root_fd_, path.empty() ? "." : path, O_RDONLY | O_DIRECTORY);
  if (!fd) return;  // it is gone, as its parent's events will say; or it cannot be read
  // The watch first: what comes after it is reported by the kernel, what came before is found below.
  if (!set_watch(directory, fd.get(), how)) return;
  const Listing listing = list(fd.get());
  if (how == Look::again) forget_missing(directory, listing);
  for (const auto& name : listing.files) found_file(directory, fd.get(), name, how);
  for (const auto& name : listing.directories) found_directory(directory, name, how);
}

bool WatchedTree::set_watch(WatchedDirectory& directory, int fd, Look how) {
  const int before = directory.watch;
  if (before >= 0 && how != Look::again) return true;
  const bool room = before >= 0 || (directory_count_ < rules_.directories_max &&
                                    inotify_.has_room(static_cast<std::size_t>(directory_count_)));
  const int watch = room ? inotify_.add(fd, *this, directory) : (errno = ENOSPC, -1);
  if (watch < 0) {
    if (errno == ENOSPC && &directory != &root_ && !std::exchange(said_full_, true)) note_overflow();
    return false;
  }
  directory.watch = watch;
  if (before >= 0 && before != watch) inotify_.remove(before, directory);  // another of the same name
  if (before >= 0) return true;
  ++directory_count_;
  figures_.directories.add(1);
  return true;
}

bool WatchedTree::is_ignored(std::string_view name) const {
  return std::find(rules_.ignored.begin(), rules_.ignored.end(), name) != rules_.ignored.end();
}

WatchedTree::Listing WatchedTree::list(int fd) const {
  Listing out;
  const int own = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* const listing = own < 0 ? nullptr : fdopendir(own);
  if (listing == nullptr) return out;
  while (const dirent* entry = readdir(listing)) {
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    bool is_directory = entry->d_type == DT_DIR;
    if (entry->d_type == DT_UNKNOWN) {
      const auto about = stat_beneath(fd, entry->d_name);
      is_directory = about && S_ISDIR(about->st_mode);
    }
    if (!is_directory) {
      if (!name.starts_with(rules_.draft_prefix)) out.files.emplace_back(name);
    } else if (!is_ignored(name)) {
      out.directories.emplace_back(name);
    }
  }
  closedir(listing);
  return out;
}

void WatchedTree::found_file(WatchedDirectory& directory, int fd, const std::string& name, Look how) {
  if (!directory.files.insert(name).second) return;
  if (how != Look::at_start) return note(FileNews::Kind::created, joined(directory.path, name));
  if (!began_) return;
  // A tree too large for one turn may be written to while it is still looked at for the first time.
  struct statx about{};
  if (statx(fd, name.c_str(), AT_SYMLINK_NOFOLLOW, STATX_CTIME | STATX_BTIME, &about) != 0) return;
  // The files' clock stands still between two ticks, so what has the very time at which watching began may have been
  // written before or after: news of a file that was there is better than none of one that was not.
  const auto is_recent = [&](const statx_timestamp& at) { return at.tv_sec * 1'000'000'000 + at.tv_nsec >= began_ns_; };
  if (!is_recent(about.stx_ctime)) return;
  const bool is_old = (about.stx_mask & STATX_BTIME) != 0 && !is_recent(about.stx_btime);
  note(is_old ? FileNews::Kind::changed : FileNews::Kind::created, joined(directory.path, name));
}

void WatchedTree::found_directory(WatchedDirectory& directory, const std::string& name, Look how) {
  auto& child = directory.children[name];
  const bool fresh = child == nullptr;
  if (fresh) {
    child = std::make_unique<WatchedDirectory>();
    child->path = joined(directory.path, name);
  } else if (how == Look::at_fresh) {
    how = Look::again;  // known already: it may be another of the same name
  }
  if (fresh && how == Look::again) how = Look::at_fresh;
  pending_.push_back({child->path, how});
}

void WatchedTree::forget_missing(WatchedDirectory& directory, const Listing& listing) {
  const std::unordered_set<std::string> files(listing.files.begin(), listing.files.end());
  const std::unordered_set<std::string> directories(listing.directories.begin(), listing.directories.end());
  for (auto at = directory.files.begin(); at != directory.files.end();) {
    if (!files.contains(*at)) {
      note(FileNews::Kind::deleted, joined(directory.path, *at));
      at = directory.files.erase(at);
    } else {
      ++at;
    }
  }
  std::vector<std::string> gone;
  for (const auto& [name, child] : directory.children) {
    if (!directories.contains(name)) gone.push_back(name);
  }
  for (const auto& name : gone) drop(directory, name);
}

void WatchedTree::drop(WatchedDirectory& directory, std::string_view name) {
  const auto found = directory.children.find(name);
  if (found == directory.children.end()) return;
  forget(*found->second);
  directory.children.erase(found);
}

// No further than a path is long: deeper directories cannot be opened, and are not known.
void WatchedTree::forget(WatchedDirectory& directory) {
  for (const auto& [name, child] : directory.children) forget(*child);
  for (const auto& name : directory.files) note(FileNews::Kind::deleted, joined(directory.path, name));
  if (directory.watch < 0) return;
  inotify_.remove(directory.watch, directory);
  --directory_count_;
  figures_.directories.add(-1);
}

WatchedDirectory* WatchedTree::find(std::string_view path) {
  WatchedDirectory* at = &root_;
  while (!path.empty()) {
    const std::size_t end = std::min(path.find('/'), path.size());
    const auto found = at->children.find(path.substr(0, end));
    if (found == at->children.end()) return nullptr;
    at = found->second.get();
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return at;
}

void WatchedTree::note(FileNews::Kind kind, std::string path) {
  if (news_ == nullptr) return;  // going
  gathering_.note(kind, std::move(path), inotify_.known_until_us(), reactor_.monotonic_us());
  gather();
}

void WatchedTree::note_overflow() {
  figures_.overflows.add();
  gathering_.note_overflow();
  gather();
}

void WatchedTree::gather() {
  if (is_gathering_) return;
  is_gathering_ = true;
  telling_ = reactor_.after({rules_.gather_ms}, [this] { tell(); });
}

void WatchedTree::tell() {
  telling_.cancel();
  is_gathering_ = false;
  auto news = gathering_.take();
  if (news.empty()) return;
  figures_.events.add(news.size());
  const auto listener = news_;
  (*listener)(std::move(news));  // and nothing after it: `this` may be gone
}

}  // namespace sluice::workspace
