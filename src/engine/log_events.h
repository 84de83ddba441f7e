// Events by which the engine tells the readers of a run what it does for the run. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "model/model.h"

namespace sluice::engine {

inline std::string list_of(const std::vector<std::string>& words) {
  std::string out;
  for (const auto& word : words) out += (out.empty() ? "" : ", ") + word;
  return out;
}

inline model::RunEvent warning(Timestamp at, std::string_view text) {
  std::string body;
  json::Writer writer(body);
  writer.begin_object().key("level").string("warn").key("text").string(text).end_object();
  return {model::EventKind::log, at, std::move(body)};
}

}  // namespace sluice::engine
