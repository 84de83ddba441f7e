#include "engine/open_steps.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "model/event_codec.h"

namespace sluice::engine {

void OpenSteps::see(const model::RunEvent& event) {
  if (event.kind != model::EventKind::step) return;
  saw_any_ = true;
  const auto step = model::event_as<model::events::Step>(event);
  if (!step || step->id.empty() || step->status == model::events::StepStatus::unknown) return;
  if (step->status == model::events::StepStatus::running) {
    open_.push_back({step->id, step->name, event.at});
  } else {
    std::erase_if(open_, [&](const Step& open) { return open.id == step->id; });
  }
}

std::vector<model::RunEvent> OpenSteps::close(std::string_view why, Timestamp at) {
  std::vector<model::RunEvent> ends;
  for (const auto& step : std::exchange(open_, {})) {
    ends.push_back(model::encode(model::events::Step{.id = step.id,
                                                     .name = step.name,
                                                     .status = model::events::StepStatus::failed,
                                                     .error = std::string(why),
                                                     .duration_ms = std::max<int64_t>(0, at.ms - step.begun_at.ms)},
                                 at));
  }
  SLUICE_CHECK(open_.empty());
  return ends;
}

}  // namespace sluice::engine
