#include "model/kit.h"

#include <algorithm>

namespace sluice::model {

bool is_agent_type(std::string_view name) { return std::ranges::find(agent_types, name) != std::end(agent_types); }

}  // namespace sluice::model
