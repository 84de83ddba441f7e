// The process' one inotify instance: which watch is whose directory.
#pragma once

#include <sys/inotify.h>

#include <cstdint>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "world/world.h"

namespace sluice::workspace {

struct WatchedDirectory;

// What has directories watched.
class InotifyReader {
 public:
  virtual ~InotifyReader() = default;
  virtual void on_inotify(WatchedDirectory& directory, uint32_t mask, std::string_view name) = 0;
  // The kernel dropped events of one of the listeners.
  virtual void on_inotify_overflow() = 0;
};

// How many directories are watched. A workspace may have as many as are left of `all`, so that the workspaces which
// make the most share equally and there is always as much for the next one; and some, whatever the others have.
struct WatchBounds {
  std::size_t all = 4'096;
  std::size_t of_each_at_least = 256;

  bool has_room(std::size_t all_watched, std::size_t own) const {
    return own < of_each_at_least || all_watched + own < all;
  }
};

class Inotify final {
 public:
  static Result<std::unique_ptr<Inotify>> open(const world::Loop& loop, WatchBounds bounds);
  Inotify(OwnedFd fd, const world::Loop& loop, WatchBounds bounds) : fd_(std::move(fd)), loop_(loop), bounds_(bounds) {}

  int fd() const { return fd_.get(); }
  void add_reader(InotifyReader& reader) { readers_.push_back(&reader); }
  void remove_reader(InotifyReader& reader) { std::erase(readers_, &reader); }

  // The watch' number, or -1 with errno set; the same as before for a directory that is watched already.
  // One may be watched under several names: it was moved, and the news of that come later.
  int add(int directory_fd, InotifyReader& reader, WatchedDirectory& directory);
  // True if a listener that has so many watches may have another one.
  bool has_room(std::size_t own) const { return bounds_.has_room(places_.size(), own); }
  void remove(int watch, const WatchedDirectory& directory);

  // Hands out what one read gives, and says what it leaves: there was nothing, or there is no more, or there is.
  enum class Left : uint8_t { was_empty, none, more };
  Left read_some();
  // All that happened before it was handed out.
  int64_t known_until_us() const { return known_until_us_; }

 private:
  struct Place {
    InotifyReader* reader;
    WatchedDirectory* directory;
  };
  void hand_out(const inotify_event& event);

  const OwnedFd fd_;
  const world::Loop& loop_;
  const WatchBounds bounds_;
  std::vector<InotifyReader*> readers_;
  std::unordered_map<int, std::vector<Place>> places_;
  int64_t known_until_us_ = 0;
};

}  // namespace sluice::workspace
