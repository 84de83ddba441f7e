#include <fstream>

#include "workspace/inotify.h"
#include "workspace/watched_tree.h"
#include "workspace/workspace.h"

namespace sluice::workspace {
namespace {

class InotifyWatcher final : public Watcher {
 public:
  InotifyWatcher(std::unique_ptr<Inotify> inotify, world::Reactor& reactor, world::Metrics& metrics)
      : inotify_(std::move(inotify)),
        reactor_(reactor),
        figures_{metrics.gauge("sluice_watched_directories", "Directories of workspaces that are watched."),
                 metrics.counter("sluice_file_news_total", "Files reported as created, changed or deleted."),
                 metrics.counter("sluice_file_news_overflows_total", "Times when file news may have been missed.")},
        readable_(reactor.watch(inotify_->fd(), {.read = true}, [this](world::Ready) { read(); })) {}

  Result<std::unique_ptr<Watching>> watch(int workspace_fd, WatchRules rules,
                                          Callback<void(std::vector<FileNews>)> news) override {
    auto tree =
        std::make_unique<WatchedTree>(workspace_fd, std::move(rules), std::move(news), *inotify_, reactor_, figures_);
    if (auto begun = tree->begin(); !begun) return std::move(begun.error());
    return std::unique_ptr<Watching>(std::move(tree));
  }

 private:
  // Woken for each of ten thousand files, this would take the processor from the process that writes them.
  static constexpr Millis rest{10};

  void read() {
    if (inotify_->read_some() == Inotify::Left::more) return;
    readable_->want({});
    resting_ = reactor_.after(rest, [this] { readable_->want({.read = true}); });
  }

  const std::unique_ptr<Inotify> inotify_;
  world::Reactor& reactor_;
  WatchFigures figures_;
  std::unique_ptr<world::Watch> readable_;
  world::Timer resting_;
};

// The kernel counts them by user: half of them is for the user's other programs.
WatchBounds bounds_of_user() {
  WatchBounds bounds;
  std::size_t user_has = 0;
  if (std::ifstream("/proc/sys/fs/inotify/max_user_watches") >> user_has) bounds.all = user_has / 2;
  return bounds;
}

}  // namespace

Result<std::unique_ptr<Watcher>> make_watcher(world::Reactor& reactor, world::Metrics& metrics) {
  return make_watcher(reactor, metrics, bounds_of_user());
}

Result<std::unique_ptr<Watcher>> make_watcher(world::Reactor& reactor, world::Metrics& metrics, WatchBounds bounds) {
  auto inotify = Inotify::open(reactor, bounds);
  if (!inotify) return std::move(inotify.error());
  return std::unique_ptr<Watcher>(std::make_unique<InotifyWatcher>(std::move(inotify.value()), reactor, metrics));
}

}  // namespace sluice::workspace
