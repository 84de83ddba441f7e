// The libraries that this program was linked with, and their versions as they run: what an operator compares with the
// advisories of the day.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sluice::app {

struct Library {
  std::string_view name;  // as Debian calls its file: "libssl"
  std::string version;
};

// In the order of their names.
std::vector<Library> libraries();

}  // namespace sluice::app
