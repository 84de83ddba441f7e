// Messages of JSON-RPC, as both sides write them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace sluice::mcp {

inline constexpr int64_t parse_error = -32700;
inline constexpr int64_t invalid_request = -32600;
inline constexpr int64_t method_not_found = -32601;
inline constexpr int64_t invalid_params = -32602;

// `id`, `result` and `params` are JSON.
std::string response(std::string_view id, std::string_view result);
std::string error_response(std::string_view id, int64_t code, std::string_view words);
std::string notification(std::string_view method, std::string_view params);

// At most `bytes_max` of valid UTF-8, cut between two characters, with "…" after it when there was more.
std::string cut(std::string_view text, std::size_t bytes_max);

}  // namespace sluice::mcp
