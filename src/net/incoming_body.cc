#include "net/incoming_body.h"

#include <fcntl.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/fd.h"

namespace sluice::net {
namespace {

constexpr std::size_t reserved_bytes_max = 4 * 1024;  // a claim costs the sender nothing
constexpr std::string_view crowded =
    "too many requests that showed no valid key in time are incomplete: send this one again in a moment";

// O_EXCL: no process can give it a name later. Some filesystems (NFS, old overlays) have no O_TMPFILE.
OwnedFd open_nameless(const std::string& directory) {
  OwnedFd fd(open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC | O_EXCL, 0600));
  if (fd || (errno != EOPNOTSUPP && errno != EISDIR)) return fd;
  std::string path = directory + "/body-XXXXXX";
  fd = OwnedFd(mkostemp(path.data(), O_CLOEXEC));
  if (fd) unlink(path.c_str());
  return fd;
}

}  // namespace

class IncomingBody::File final {
 public:
  File(OwnedFd fd, std::shared_ptr<std::atomic<std::size_t>> total) : fd_(std::move(fd)), total_(std::move(total)) {}
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() {
    if (mapped_ != nullptr) munmap(mapped_, size_);
    *total_ -= size_;
  }

  std::size_t size() const { return size_; }

  bool write(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t count = ::write(fd_.get(), bytes.data(), bytes.size());
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return false;
      size_ += static_cast<std::size_t>(count);
      *total_ += static_cast<std::size_t>(count);
      bytes.remove_prefix(static_cast<std::size_t>(count));
    }
    return true;
  }

  // Empty when the kernel will not have it.
  std::optional<std::string_view> map() {
    void* const at = mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, fd_.get(), 0);
    if (at == MAP_FAILED) return std::nullopt;
    mapped_ = at;
    fd_.reset();
    return std::string_view(static_cast<const char*>(at), size_);
  }

 private:
  OwnedFd fd_;
  std::shared_ptr<std::atomic<std::size_t>> total_;
  std::size_t size_ = 0;
  void* mapped_ = nullptr;
};

std::size_t IncomingBody::size() const { return file_ ? file_->size() : text_.size(); }

bool BodyRoom::is_crowded(const Origin& origin) const {
  return strangers_bytes > strangers_bytes_max / 2 || origin.incoming_bytes > strangers_bytes_per_address_max / 2;
}

void IncomingBody::expect(std::size_t bytes) { text_.reserve(std::min(bytes, reserved_bytes_max)); }

std::optional<Refused> IncomingBody::hold_head(std::size_t bytes, std::size_t coming, Judged judged) {
  is_awaited_ = true;
  head_bytes_ = bytes;
  if (!is_known_ && judged == Judged::no && room_.is_crowded(*origin_)) return give_up(std::string(crowded));
  const std::size_t wanted = bytes + std::max(coming, file_ ? 0 : text_.size());
  return wanted > held_bytes_ ? hold(wanted - held_bytes_) : std::nullopt;
}

std::optional<Refused> IncomingBody::admit() {
  if (is_known_) return std::nullopt;
  const std::size_t bytes = held_bytes_;
  release(bytes);
  is_known_ = true;
  return hold(bytes);
}

// What is over the bound has been counted, and is released when the body is given up.
std::optional<Refused> IncomingBody::hold(std::size_t bytes) {
  held_bytes_ += bytes;
  if (is_known_) {
    room_.memory_bytes += bytes;
    if (room_.memory_bytes <= room_.memory_bytes_max) return std::nullopt;
    return give_up("too many request bodies are arriving at once: send this one again in a moment");
  }
  room_.strangers_bytes += bytes;
  origin_->incoming_bytes += bytes;
  if (room_.strangers_bytes <= room_.strangers_bytes_max &&
      origin_->incoming_bytes <= room_.strangers_bytes_per_address_max) {
    return std::nullopt;
  }
  return give_up(std::string(crowded));
}

void IncomingBody::release(std::size_t bytes) {
  if (bytes == 0) return;  // it may outlive the room
  held_bytes_ -= bytes;
  if (is_known_) {
    room_.memory_bytes -= bytes;
  } else {
    room_.strangers_bytes -= bytes;
    origin_->incoming_bytes -= bytes;
  }
}

std::optional<Refused> IncomingBody::append(std::string_view bytes) {
  const bool is_large = text_.size() + bytes.size() > limits::request_body_memory_max;
  if (!file_ && is_large && !room_.spool_dir.empty()) {
    if (auto refused = begin_spooling()) return refused;
  }
  return file_ ? spool(bytes) : keep(bytes);
}

std::optional<Refused> IncomingBody::keep(std::string_view bytes) {
  text_ += bytes;
  const std::size_t wanted = head_bytes_ + text_.size();
  return counts() && wanted > held_bytes_ ? hold(wanted - held_bytes_) : std::nullopt;
}

std::optional<Refused> IncomingBody::begin_spooling() {
  OwnedFd fd = open_nameless(room_.spool_dir);
  if (!fd) return give_up_for(errno);
  file_ = std::make_shared<File>(std::move(fd), room_.spooled_bytes);
  const std::string begun = std::exchange(text_, {});
  release(held_bytes_ - head_bytes_);
  return spool(begun);
}

std::optional<Refused> IncomingBody::spool(std::string_view bytes) {
  if (*room_.spooled_bytes + bytes.size() > room_.spooled_bytes_max) {
    return give_up("too many large request bodies are on the server's disk: send this one again later");
  }
  if (!file_->write(bytes)) return give_up_for(errno);
  return std::nullopt;
}

std::optional<Refused> IncomingBody::finish(Body& into) {
  release(held_bytes_);
  head_bytes_ = 0;
  is_awaited_ = false;
  is_known_ = room_.knows_everybody;
  if (!file_) {
    into = text_.empty() ? Body() : Body(std::exchange(text_, {}));
    return std::nullopt;
  }
  const auto bytes = file_->map();
  if (!bytes) return give_up_for(errno);
  into = Body(std::move(file_), *bytes);
  file_ = nullptr;
  return std::nullopt;
}

void IncomingBody::drop() {
  release(held_bytes_);
  head_bytes_ = 0;
  text_ = {};
  file_ = nullptr;
}

Refused IncomingBody::give_up(std::string detail) {
  drop();
  return {503, std::move(detail)};
}

Refused IncomingBody::give_up_for(int reason) {
  if (reason == ENOSPC || reason == EDQUOT || reason == EFBIG) {
    return give_up(
        "the server's disk has no room for this request body: its operator must free some in its data directory, "
        "then send it again");
  }
  return give_up(std::string("the server could not keep this request body on its disk (") + std::strerror(reason) +
                 "): its operator should look at its data directory");
}

}  // namespace sluice::net
