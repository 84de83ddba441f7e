// W3C trace context: whether a header may be passed on.
#pragma once

#include <string_view>

namespace sluice::api {

// version "-" trace-id "-" parent-id "-" flags, lower-case hex, ids not all zero, version not ff.
bool is_traceparent(std::string_view text);

}  // namespace sluice::api
