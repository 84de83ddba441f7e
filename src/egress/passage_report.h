// How one guest's requests are reported. The first ones are reported one by one, the rest as one sum for each host: a
// sandbox that asks all day must not fill the disk with what it was refused. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "egress/egress.h"

namespace sluice::egress {

class PassageReport final {
 public:
  // Hosts beyond these are summed up under `other_hosts`: a sandbox may make up as many names as it likes.
  static constexpr std::size_t hosts_max = 16;
  static constexpr std::string_view other_hosts = "*";

  explicit PassageReport(int64_t single_max) : single_max_(single_max) {}

  // True: the passage is reported by itself. False: it was added to the sums.
  bool is_single(const Passage& passage);
  bool has_sums() const { return !sums_.empty(); }
  // One passage for each host, with `more` set; the sums begin anew.
  std::vector<Passage> take_sums();

 private:
  int64_t single_max_;
  int64_t count_ = 0;
  std::map<std::string, Passage, std::less<>> sums_;
};

// Whether one more line may be written to the log: some at once, then so many a second. Pure.
class LineBudget final {
 public:
  LineBudget(int64_t at_once, int64_t per_second) : at_once_(at_once), per_second_(per_second), left_(at_once) {}

  bool take(int64_t now_us);
  // Lines that were refused since this was last asked.
  int64_t take_left_out();

 private:
  const int64_t at_once_;
  const int64_t per_second_;
  int64_t left_;
  int64_t filled_us_ = 0;
  int64_t left_out_ = 0;
};

// The same for tenants, each of which has a part of it only. Pure.
class SharedLineBudget final {
 public:
  struct Share {
    int64_t at_once;
    int64_t per_second;
  };
  // Those beyond have one part together.
  static constexpr std::size_t tenants_max = 1'000;

  SharedLineBudget(Share all, Share each) : all_(all.at_once, all.per_second), each_(each) {}

  bool take(const std::string& tenant, int64_t now_us);
  // Lines that were refused since this was last asked, of all tenants.
  int64_t take_left_out();

 private:
  LineBudget all_;
  const Share each_;
  std::map<std::string, LineBudget> by_tenant_;
  int64_t left_out_ = 0;
};

}  // namespace sluice::egress
