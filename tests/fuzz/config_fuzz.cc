// A configuration file: refused with its line, or settings that the reference knows.
#include <sys/mman.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/check.h"
#include "base/fd.h"
#include "config/config.h"
#include "tests/fuzz/pieces.h"

using namespace sluice;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  const OwnedFd file(memfd_create("sluice.toml", MFD_CLOEXEC));
  SLUICE_CHECK(write(file.get(), data, size) == static_cast<ssize_t>(size));
  const auto path = "/proc/self/fd/" + std::to_string(file.get());
  const auto config = config::Config::read({.flags = {"--config", path}, .environment = {}});
  if (!config) {
    SLUICE_CHECK(config.error().kind == ErrorKind::invalid);
    return 0;
  }
  for (const auto& [name, setting] : config.value().settings()) SLUICE_CHECK(config::Config::find_key(name) != nullptr);
  SLUICE_CHECK(!config::to_toml(config.value()).empty());
  return 0;
}
