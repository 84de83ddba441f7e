// The form that brings a run back to its caller: its files and its result.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "harness/harness.h"
#include "http/multipart.h"

namespace sluice::station {

// A part `files` for each asset, then a part `result`: {"message": …}.
http::Multipart multipart_of(const std::vector<harness::Asset>& assets, std::string_view result, std::string boundary);

}  // namespace sluice::station
