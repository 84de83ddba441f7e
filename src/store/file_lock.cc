#include "store/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>
#include <cstring>

namespace sluice::store {

Result<OwnedFd> lock_database(const std::string& path) {
  const std::string name = path + ".lock";
  OwnedFd held(::open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!held) return Error{ErrorKind::invalid, name + " cannot be made: " + std::strerror(errno)};
  if (::flock(held.get(), LOCK_EX | LOCK_NB) != 0) return Error{ErrorKind::conflict, "another server uses it"};
  return held;
}

}  // namespace sluice::store
