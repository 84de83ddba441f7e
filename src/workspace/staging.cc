#include "workspace/staging.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "workspace/beneath.h"

namespace sluice::workspace {

Result<Staging> Staging::begin(const std::string& into, Owner owner) {
  struct stat about{};
  if (lstat(into.c_str(), &about) == 0) return Error{ErrorKind::conflict, into + " exists already"};
  std::string made = into + ".XXXXXX";
  if (mkdtemp(made.data()) == nullptr) return failed("make a directory beside " + into);
  OwnedFd directory(open(made.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!directory || fchmod(directory.get(), 0755) != 0 || !give_to(owner, directory.get())) {
    const Error error = failed("open " + made);
    rmdir(made.c_str());
    return error;
  }
  return Staging(into, std::move(made), std::move(directory));
}

Staging::~Staging() {
  if (directory_) (void)remove_tree(made_);
}

Result<Unit> Staging::finish() {
  // A layer is named in a record soon: after a power cut its files must be there, not only their names.
  if (syncfs(directory_.get()) != 0) return failed("write " + into_ + " to the disk");
  if (renameat2(AT_FDCWD, made_.c_str(), AT_FDCWD, into_.c_str(), RENAME_NOREPLACE) != 0) {
    if (errno == EEXIST) return Error{ErrorKind::conflict, into_ + " exists already"};
    return failed("move " + made_ + " to " + into_);
  }
  directory_.reset();
  return Unit{};
}

}  // namespace sluice::workspace
