#include <sys/random.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/check.h"
#include "world/world.h"

namespace sluice::world {
namespace {

void fill_from_kernel(std::span<uint8_t> out) {
  while (!out.empty()) {
    const ssize_t got = getrandom(out.data(), out.size(), 0);
    // Going on with predictable ids would be worse than not going on.
    SLUICE_CHECK(got > 0 || errno == EINTR);
    if (got > 0) out = out.subspan(static_cast<std::size_t>(got));
  }
}

// Asks the kernel for many bytes at a time, so that an id does not cost a system call.
class SystemEntropy final : public Entropy {
 public:
  void fill(std::span<uint8_t> out) override {
    if (out.size() > pool_.size()) return fill_from_kernel(out);
    if (out.size() > pool_.size() - used_) {
      fill_from_kernel(pool_);
      used_ = 0;
    }
    const auto fresh = std::span(pool_).subspan(used_, out.size());
    std::copy(fresh.begin(), fresh.end(), out.begin());
    explicit_bzero(fresh.data(), fresh.size());  // what was a secret once must not be read from memory later
    used_ += out.size();
  }

 private:
  std::array<uint8_t, 1024> pool_{};
  std::size_t used_ = pool_.size();
};

}  // namespace

std::unique_ptr<Entropy> make_system_entropy() { return std::make_unique<SystemEntropy>(); }

}  // namespace sluice::world
