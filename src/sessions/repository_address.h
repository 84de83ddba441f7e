// Where a repository is: the one host and port that its clone may reach.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace sluice::sessions {

struct RepositoryHost {
  std::string name;  // in lower case without a dot at its end, or an address without brackets
  int port = 0;
  bool public_only = true;  // only the rule "*" allows it; a host that a rule names may be anywhere
};

// `url` has a scheme of git's. `denied`, in words, when git and the server could read its host in two ways.
Result<RepositoryHost> repository_host(std::string_view url, const std::vector<std::string>& rules);

}  // namespace sluice::sessions
