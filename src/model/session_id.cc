#include "model/session_id.h"

#include <algorithm>

namespace sluice::model {

bool is_session_id(std::string_view text) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
           c == '.' || c == ':';
  };
  return !text.empty() && text.size() <= session_id_chars_max && text.front() != '-' && text.front() != '.' &&
         std::ranges::all_of(text, fits);
}

}  // namespace sluice::model
