// A command line taken apart.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace sluice::cli {

struct Flag {
  std::string_view name;   // "--after"
  std::string_view value;  // "N", as help shows it; empty: a switch
  std::string_view help;
};

class Arguments {
 public:
  // `--flag VALUE`, `--flag=VALUE`, `--switch`, operands anywhere; after `--` everything is one.
  // `invalid` for a flag that is not in `known`, with what was meant.
  static Result<Arguments> parse(std::span<const std::string> words, std::span<const Flag> known);

  bool has(std::string_view name) const { return flags_.contains(std::string(name)); }
  // The last one given; empty when there is none.
  std::string flag(std::string_view name) const;
  // Every one given, in order.
  std::vector<std::string> all(std::string_view name) const;
  const std::vector<std::string>& operands() const { return operands_; }

 private:
  std::map<std::string, std::vector<std::string>> flags_;
  std::vector<std::string> operands_;
};

}  // namespace sluice::cli
