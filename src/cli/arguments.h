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
  // Empty when it was not given.
  std::string flag(std::string_view name) const;
  const std::vector<std::string>& operands() const { return operands_; }

 private:
  std::map<std::string, std::string> flags_;
  std::vector<std::string> operands_;
};

}  // namespace sluice::cli
