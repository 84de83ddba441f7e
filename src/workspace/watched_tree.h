// One workspace under watch: its directories, the files known in each, and what became of them.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <unordered_set>

#include "workspace/inotify.h"
#include "workspace/news_gathering.h"
#include "workspace/workspace.h"

namespace sluice::workspace {

struct WatchedDirectory {
  std::string path;  // "" for the root. One that moves is another one.
  int watch = -1;
  std::map<std::string, std::unique_ptr<WatchedDirectory>, std::less<>> children;
  std::unordered_set<std::string> files;
};

struct WatchFigures {
  world::Gauge& directories;
  world::Counter& events;
  world::Counter& overflows;
};

// Inotify reports changes of a directory only from when it is watched on; files that were put into it before
// that is found by looking after the watch is set. A change that is seen both ways is reported once, because it is
// known then.
class WatchedTree final : public Watching, public InotifyReader {
 public:
  using Listener = Callback<void(std::vector<FileNews>)>;
  WatchedTree(int workspace_fd, WatchRules rules, Listener news, Inotify& inotify, world::Reactor& reactor,
              WatchFigures figures);
  ~WatchedTree() override;

  // Sets the first watches.
  Result<Unit> begin();
  void settle() override;

  void on_inotify(WatchedDirectory& directory, uint32_t mask, std::string_view name) override;
  void on_inotify_overflow() override;

 private:
  enum class Look : uint8_t { at_start, at_fresh, again };
  struct PendingLook {
    std::string path;
    Look how;
  };
  struct Listing {
    std::vector<std::string> directories, files;
  };

  void on_directory(WatchedDirectory& directory, uint32_t mask, std::string_view name);
  void on_file(WatchedDirectory& directory, uint32_t mask, std::string_view name);

  void look_around(int directories_max);
  void look_at(WatchedDirectory& directory, Look how);
  bool set_watch(WatchedDirectory& directory, int fd, Look how);
  bool is_ignored(std::string_view name) const;
  Listing list(int fd) const;
  void found_file(WatchedDirectory& directory, int fd, const std::string& name, Look how);
  void found_directory(WatchedDirectory& directory, const std::string& name, Look how);
  void forget_missing(WatchedDirectory& directory, const Listing& listing);
  void drop(WatchedDirectory& directory, std::string_view name);
  void forget(WatchedDirectory& directory);
  WatchedDirectory* find(std::string_view path);

  void note(FileNews::Kind kind, std::string path);
  void note_overflow();
  void gather();
  void tell();

  const int root_fd_;
  const WatchRules rules_;
  // Shared with the call that is under way: the listener may drop the watch, and itself with it.
  std::shared_ptr<Listener> news_;
  Inotify& inotify_;
  world::Reactor& reactor_;
  WatchFigures figures_;

  WatchedDirectory root_;
  int directory_count_ = 0;
  bool said_full_ = false;  // not all directories are watched, and that was logged
  std::deque<PendingLook> pending_;
  NewsGathering gathering_;
  int64_t began_ns_ = 0;  // of the files' clock
  bool began_ = false;
  bool is_gathering_ = false;
  world::Timer telling_;
  world::Timer looking_;
};

// As make_watcher() in workspace.h, within these bounds.
Result<std::unique_ptr<Watcher>> make_watcher(world::Reactor& reactor, world::Metrics& metrics, WatchBounds bounds);

}  // namespace sluice::workspace
