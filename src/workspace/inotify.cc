#include "workspace/inotify.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <string>

namespace sluice::workspace {
namespace {

// No IN_ATTRIB, which every unlink and every unpacked file's time stamp causes, and no
// IN_CLOSE_WRITE: a write was reported by IN_MODIFY.
constexpr uint32_t interest =
    IN_CREATE | IN_MODIFY | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_ONLYDIR | IN_EXCL_UNLINK;

}  // namespace

Result<std::unique_ptr<Inotify>> Inotify::open(const world::Loop& loop, WatchBounds bounds) {
  OwnedFd fd(inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  if (!fd) {
    return Error{ErrorKind::overloaded, "inotify: " + std::string(std::strerror(errno)) +
                                            "; the user may have too many instances (fs.inotify.max_user_instances)"};
  }
  return std::make_unique<Inotify>(std::move(fd), loop, bounds);
}

int Inotify::add(int directory_fd, InotifyReader& reader, WatchedDirectory& directory) {
  // By descriptor, through /proc: it may be in another mount namespace, and it cannot be swapped.
  const std::string path = "/proc/self/fd/" + std::to_string(directory_fd);
  const int watch = inotify_add_watch(fd_.get(), path.c_str(), interest);
  if (watch < 0) return watch;
  auto& places = places_[watch];
  const bool known =
      std::any_of(places.begin(), places.end(), [&](const Place& p) { return p.directory == &directory; });
  if (!known) places.push_back({&reader, &directory});
  return watch;
}

void Inotify::remove(int watch, const WatchedDirectory& directory) {
  const auto found = places_.find(watch);
  if (found == places_.end()) return;
  std::erase_if(found->second, [&](const Place& place) { return place.directory == &directory; });
  if (!found->second.empty()) return;
  places_.erase(found);
  inotify_rm_watch(fd_.get(), watch);  // fails when the directory is gone, and the watch with it
}

Inotify::Left Inotify::read_some() {
  alignas(inotify_event) char buffer[64 * 1024];
  const int64_t asked_us = loop_.monotonic_us();
  const ssize_t got = read(fd_.get(), buffer, sizeof buffer);
  const std::size_t size = got > 0 ? static_cast<std::size_t>(got) : 0;
  for (const char* at = buffer; at < buffer + size;) {
    const auto& event = *reinterpret_cast<const inotify_event*>(at);
    hand_out(event);
    at += sizeof event + event.len;
  }
  // The kernel stops where the next event does not fit.
  if (size >= sizeof buffer - sizeof(inotify_event) - NAME_MAX - 1) return Left::more;
  known_until_us_ = asked_us;
  return size > 0 ? Left::none : Left::was_empty;
}

void Inotify::hand_out(const inotify_event& event) {
  if ((event.mask & IN_Q_OVERFLOW) != 0) {
    for (auto* reader : readers_) reader->on_inotify_overflow();
    return;
  }
  auto found = places_.find(event.wd);
  if (found == places_.end()) return;
  if ((event.mask & IN_IGNORED) != 0) {  // the directory is gone; its readers hear of it from its parent
    places_.erase(found);
    return;
  }
  const std::string_view name = event.len > 0 ? std::string_view(event.name) : "";
  // By number, and looked up each time: a listener may add directories, and remove any.
  for (std::size_t i = 0; found != places_.end() && i < found->second.size(); ++i) {
    const Place place = found->second[i];
    place.reader->on_inotify(*place.directory, event.mask, name);
    found = places_.find(event.wd);
  }
}

}  // namespace sluice::workspace
