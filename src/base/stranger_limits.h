// Bounds on what clients can make the server hold before they have shown a key, and after it, without reading answers.
#pragma once

#include <cstddef>

namespace sluice::limits {

// Requests of which some is missing, so that those with a key have bodies_in_flight_bytes_max to themselves.
inline constexpr std::size_t unjudged_body_bytes_max = 4 * 1024;  // past it the key is looked at before the body
inline constexpr std::size_t open_body_bytes_max = 2 * 1024;      // where no key is asked for: a code to log in
inline constexpr std::size_t strangers_bytes_max = 128 * 1024 * 1024;
inline constexpr std::size_t strangers_bytes_per_address_max = 16 * 1024 * 1024;

// HTTP/2: as unread_answers_bytes_max, without a key. Only what an answer does not share with others counts.
inline constexpr std::size_t strangers_unread_answers_bytes_max = 256 * 1024;
// Clients of one tenant that do not read: past it no long answer is begun for any client of the tenant.
inline constexpr std::size_t unread_answers_bytes_of_tenant_max = 64 * 1024 * 1024;
// Many clients that do not read: of all connections together. Past it those that hold the most are closed.
inline constexpr std::size_t unread_answers_bytes_in_all_max = 256 * 1024 * 1024;

}  // namespace sluice::limits
