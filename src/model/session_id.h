// The ids of agent programs' sessions, as clients may name them and runs report them (H-3).
#pragma once

#include <cstddef>
#include <string_view>

namespace sluice::model {

inline constexpr std::size_t session_id_chars_max = 200;

// Whether an agent program can be given this as the id of a session: `^[A-Za-z0-9_:][A-Za-z0-9_.:-]{0,199}$`. It may
// come from a client or from inside a sandbox, and must not be taken for an option or a path.
bool is_session_id(std::string_view text);

}  // namespace sluice::model
