#include "api/integration/named_materials.h"

#include <algorithm>

#include "api/integration/message_input.h"

namespace sluice::api::integration {
namespace {

std::optional<model::Problem> problem_of_missing(const Asked& asked, const Named& named,
                                                 const store::FoundMaterials& found) {
  Findings findings;
  if (named.names.repository && !found.repository) {
    findings.refuse(named.at + "/repository_id", "names no repository of this tenant");
  }
  for (std::size_t i = 0; i < named.names.skills.size(); ++i) {
    if (std::ranges::find(found.missing, named.names.skills[i]) == found.missing.end()) continue;
    findings.refuse(named.at + "/skill_ids/" + std::to_string(i), "names no skill of this tenant");
  }
  if (named.names.environment && !found.environment) {
    findings.refuse(named.at + "/" + std::string(named.environment_member), "names no environment of this tenant");
  }
  return problem_of(asked, findings);
}

// Answers only where the store cannot say.
void look_for_materials(const Asked& asked, Named named,
                        Callback<void(store::FoundMaterials, std::optional<model::Problem>)> then) {
  if (named.empty()) return then({}, std::nullopt);
  auto names = named.names;
  asked->store().materials(
      asked->tenant().id, std::move(names),
      [asked, named = std::move(named), then = std::move(then)](Result<store::FoundMaterials> found) mutable {
        if (!found) return asked->fail(found.error());
        auto problem = problem_of_missing(asked, named, found.value());
        then(std::move(found).take(), std::move(problem));
      });
}

}  // namespace

Named named_by(const MessageInput& input, std::string at) {
  Named out{.at = std::move(at)};
  out.names.repository = input.repository_id;
  if (input.skill_ids) out.names.skills = *input.skill_ids;
  out.names.environment = input.env_name;
  return out;
}

void find_materials(const Asked& asked, Named named, Callback<void(store::FoundMaterials)> then) {
  look_for_materials(
      asked, std::move(named),
      [asked, then = std::move(then)](store::FoundMaterials found, std::optional<model::Problem> problem) mutable {
        problem ? asked->problem(*problem) : then(std::move(found));
      });
}

void check_materials(const Asked& asked, std::vector<Named> named, Callback<void(std::optional<model::Problem>)> then) {
  if (named.empty()) return then(std::nullopt);
  auto next = std::move(named.back());
  named.pop_back();
  look_for_materials(asked, std::move(next),
                     [asked, named = std::move(named), then = std::move(then)](
                         const store::FoundMaterials&, std::optional<model::Problem> problem) mutable {
                       problem ? then(std::move(problem)) : check_materials(asked, std::move(named), std::move(then));
                     });
}

}  // namespace sluice::api::integration
