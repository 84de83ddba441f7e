// What the statuses of answers mean.
#pragma once

#include <string_view>

namespace sluice::http {

// The reason phrase of a status line; empty for a status that this server does not send.
std::string_view reason_of(int status);
// 1xx, 204 and 304: no body, and nothing said about one.
bool has_no_body(int status);

}  // namespace sluice::http
