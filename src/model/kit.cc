#include "model/kit.h"

#include <algorithm>

#include "model/enum_names.h"

namespace sluice::model {
namespace {

constexpr std::array<std::string_view, 3> workspace_use_names = {"none", "read", "write"};

}  // namespace

std::string_view name_of(WorkspaceUse use) { return name_in(workspace_use_names, use); }
std::optional<WorkspaceUse> workspace_use_named(std::string_view name) {
  return named<WorkspaceUse>(workspace_use_names, name);
}

bool is_agent_type(std::string_view name) { return std::ranges::find(agent_types, name) != std::end(agent_types); }

}  // namespace sluice::model
