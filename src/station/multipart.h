// multipart/form-data (RFC 7578), written: the files of a run and its result.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "harness/harness.h"

namespace sluice::station {

struct Multipart {
  std::string content_type;
  std::string body;
};

// A part `files` for each asset, then a part `result`: {"message": …}. `boundary` is made longer until
// no part contains it.
Multipart multipart_of(const std::vector<harness::Asset>& assets, std::string_view result, std::string boundary);

}  // namespace sluice::station
