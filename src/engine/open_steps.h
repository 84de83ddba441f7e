// Tool calls that have begun and not ended: however a run ends, each of its steps ends too (S-9). Values only.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/model.h"

namespace sluice::engine {

class OpenSteps {
 public:
  void see(const model::RunEvent& event);
  bool saw_any() const { return saw_any_; }
  // The missing ends, as failures for this reason. No step is open afterwards.
  std::vector<model::RunEvent> close(std::string_view why, Timestamp at);

 private:
  struct Step {
    std::string id;
    std::string name;
    Timestamp begun_at;
  };
  std::vector<Step> open_;
  bool saw_any_ = false;
};

}  // namespace sluice::engine
