#include "files/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/bytes.h"
#include "base/digest.h"

namespace sluice::files {

bool is_sha256_hex(std::string_view text) {
  return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

Result<OwnedFd> make_scratch(const std::string& directory) {
  OwnedFd fd(::open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (fd) return fd;
  // Some filesystems (NFS, old overlays) have no O_TMPFILE.
  std::string name = directory + "/scratch-XXXXXX";
  fd = OwnedFd(mkostemp(name.data(), O_CLOEXEC));
  if (!fd) return Error{ErrorKind::overloaded, "make a file in " + directory + ": " + std::strerror(errno)};
  unlink(name.c_str());
  return fd;
}

Result<Content> map_file(int fd, const std::string& what) {
  const auto failed = [&] { return Error{ErrorKind::unavailable, "read " + what + ": " + std::strerror(errno)}; };
  struct stat about{};
  if (fstat(fd, &about) != 0) return failed();
  Content content;
  if (const auto size = static_cast<std::size_t>(about.st_size); size > 0) {
    void* const at = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (at == MAP_FAILED) return failed();
    content.owner = std::shared_ptr<const void>(at, [size](const void* mapped) {
      munmap(const_cast<void*>(mapped), size);  // NOLINT(cppcoreguidelines-pro-type-const-cast)
    });
    content.bytes = {static_cast<const char*>(at), size};
    madvise(at, size, MADV_SEQUENTIAL);
  }
  return content;
}

Result<Content> map_verified(int fd, std::string_view sha256_hex, const std::string& what) {
  auto content = map_file(fd, what);
  if (content && to_hex(sha256(content.value().bytes)) != sha256_hex) {
    return Error{ErrorKind::corrupt, what + " is not what was written: restore it from a backup"};
  }
  return content;
}

}  // namespace sluice::files
