// Which URLs an agent may have this server call.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace sluice::runner {

// Whether `url` begins with one of `rules`: the same scheme, host and port, and a path that begins with
// the rule's, whole segment by whole segment. The rule "*" allows everything. What cannot be read
// without doubt is not allowed.
bool is_allowed(std::string_view url, std::span<const std::string> rules);

}  // namespace sluice::runner
