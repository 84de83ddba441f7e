// Where a repository is that only the rule "*" allows: at a public address, which is looked up once and then held to.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace sluice::runner {

struct RepositoryHost {
  std::string name;  // or an address, without brackets
  int port = 0;
};

// Empty when a rule names it: then it may be anywhere.
std::optional<RepositoryHost> host_to_look_up(std::string_view url, const std::vector<std::string>& rules);

// Waits for the resolver. `denied`, in words, when there is no public one.
Result<std::string> public_address_of(const std::string& host);

}  // namespace sluice::runner
