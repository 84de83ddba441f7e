// The JSON of checkpoints, as far as those of the native loop and of agent programs agree: a reader that notes what is
// missing, and the state of the sandbox session. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "sessions/sessions.h"

namespace sluice::agents {

// Reads members that must be there. The first that is missing or wrong is the fault of the whole checkpoint.
class CheckpointReader {
 public:
  json::Value member(json::Value from, std::string_view name, json::Kind kind);
  std::string text(json::Value from, std::string_view name);
  int64_t number(json::Value from, std::string_view name);
  bool flag(json::Value from, std::string_view name);
  std::vector<std::string> names(json::Value from, std::string_view name);
  sessions::SessionState session(json::Value from);  // its member "hands"

  void blame(std::string what) {
    if (fault_.empty()) fault_ = std::move(what);
  }
  // `corrupt`, in words, once anything was blamed.
  Result<Unit> verdict() const;

 private:
  std::string fault_;
};

void write_names(json::Writer& writer, const std::vector<std::string>& names);
// The value of the member "hands".
void write_session(json::Writer& writer, const sessions::SessionState& state);

}  // namespace sluice::agents
