#include "api/integration/runtime_input.h"

#include <algorithm>

#include "api/integration/kit_input.h"

namespace sluice::api::integration {
namespace {

constexpr std::string_view runtime_names[] = {"agent_type", "mode", "sticky_ttl_seconds"};

}  // namespace

std::optional<model::Runtime> read_runtime(const Fields& fields, const model::TenantLimits& limits,
                                           const model::Runtime& before) {
  if (fields.null("runtime")) return model::Runtime{.agent_type = before.agent_type};
  const auto inner = fields.object("runtime", runtime_names);
  if (!inner) return std::nullopt;
  model::Runtime out = before;
  const auto agent_type = inner->text("agent_type", name_rule);
  if (agent_type && !model::is_agent_type(*agent_type)) {
    inner->refuse("agent_type", "must be one of " + agent_type_words());
  } else if (agent_type && !before.agent_type.empty() && *agent_type != before.agent_type) {
    inner->refuse("agent_type", "is " + before.agent_type + " and cannot be changed: a session belongs to its program");
  }
  out.agent_type = agent_type.value_or(before.agent_type);
  if (inner->null("mode")) {
    out.mode = model::Runtime{}.mode;
  } else {
    out.mode = inner->word("mode", model::placement_mode_named, "pooled, sticky").value_or(before.mode);
  }
  const int64_t most = std::min(limits.max_sticky_ttl_seconds, model::sticky_ttl_seconds_max);
  const auto ttl = inner->integer("sticky_ttl_seconds", model::sticky_ttl_seconds_min, most);
  if (inner->null("sticky_ttl_seconds")) out.sticky_ttl_seconds = model::Runtime{}.sticky_ttl_seconds;
  // One that nobody named gives way to a limit that was lowered since.
  out.sticky_ttl_seconds = ttl.value_or(std::min(out.sticky_ttl_seconds, most));
  return out;
}

}  // namespace sluice::api::integration
