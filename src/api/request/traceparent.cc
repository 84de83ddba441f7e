#include "api/request/traceparent.h"

#include <algorithm>

namespace sluice::api {
namespace {

constexpr std::size_t known_size = 55;
constexpr std::size_t size_max = 256;  // a later version may add fields, not a novel

bool is_hex(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}
bool is_zero(std::string_view text) { return text.find_first_not_of('0') == std::string_view::npos; }

}  // namespace

bool is_traceparent(std::string_view text) {
  if (text.size() < known_size || text.size() > size_max) return false;
  const std::string_view version = text.substr(0, 2);
  const std::string_view trace_id = text.substr(3, 32);
  const std::string_view parent_id = text.substr(36, 16);
  if (text[2] != '-' || text[35] != '-' || text[52] != '-') return false;
  if (!is_hex(version) || !is_hex(trace_id) || !is_hex(parent_id) || !is_hex(text.substr(53, 2))) return false;
  if (version == "ff" || is_zero(trace_id) || is_zero(parent_id)) return false;
  if (text.size() == known_size) return true;
  return version != "00" && text[known_size] == '-' &&
         std::ranges::all_of(text, [](char c) { return c > ' ' && c <= '~'; });
}

}  // namespace sluice::api
