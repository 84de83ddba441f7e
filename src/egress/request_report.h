// How the requests of one run are reported and logged. The first ones are reported one by one, later ones as one sum
// for each host, so that a sandbox that repeats a refused request all day does not fill the disk. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "egress/egress.h"

namespace sluice::egress {

class RequestReport final {
 public:
  // Further hosts are summed up under `other_hosts`, because a sandbox can invent any number of names.
  static constexpr std::size_t hosts_max = 16;
  static constexpr std::string_view other_hosts = "*";

  explicit RequestReport(int64_t single_max) : single_max_(single_max) {}

  // True if the record is reported by itself, false if it was added to the sums.
  bool is_single(const RequestRecord& record);
  bool has_sums() const { return !sums_.empty(); }
  // One record for each host, with `more` set; the sums start again at 0.
  std::vector<RequestRecord> take_sums();

 private:
  int64_t single_max_;
  int64_t count_ = 0;
  std::map<std::string, RequestRecord, std::less<>> sums_;
};

// Limits lines of the log: a burst, then a rate. Pure.
class LineBudget final {
 public:
  LineBudget(int64_t at_once, int64_t per_second) : at_once_(at_once), per_second_(per_second), left_(at_once) {}

  bool take(int64_t now_us);
  // How many lines were refused since the last call.
  int64_t take_left_out();

 private:
  const int64_t at_once_;
  const int64_t per_second_;
  int64_t left_;
  int64_t filled_us_ = 0;
  int64_t left_out_ = 0;
};

// A LineBudget that tenants share; each of them can use a part of it only. Pure.
class SharedLineBudget final {
 public:
  struct Share {
    int64_t at_once;
    int64_t per_second;
  };
  // Further tenants share one part.
  static constexpr std::size_t tenants_max = 1'000;

  SharedLineBudget(Share all, Share each) : all_(all.at_once, all.per_second), each_(each) {}

  bool take(const std::string& tenant, int64_t now_us);
  // How many lines of all tenants were refused since the last call.
  int64_t take_left_out();

 private:
  LineBudget all_;
  const Share each_;
  std::map<std::string, LineBudget> by_tenant_;
  int64_t left_out_ = 0;
};

}  // namespace sluice::egress
