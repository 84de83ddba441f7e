#include "api/integration/named_materials.h"

#include <algorithm>

#include "api/integration/message_input.h"

namespace sluice::api::integration {
namespace {

void refuse_missing(const Asked& asked, const Named& named, const store::FoundMaterials& found) {
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
  refused(asked, findings);
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
  if (named.empty()) return then({});
  auto names = named.names;
  asked->store().materials(
      asked->tenant().id, std::move(names),
      [asked, named = std::move(named), then = std::move(then)](Result<store::FoundMaterials> found) mutable {
        if (!found) return asked->fail(found.error());
        if (!found.value().missing.empty()) return refuse_missing(asked, named, found.value());
        then(std::move(found).take());
      });
}

void check_materials(const Asked& asked, std::vector<Named> named, Callback<void()> then) {
  if (named.empty()) return then();
  auto next = std::move(named.back());
  named.pop_back();
  find_materials(asked, std::move(next),
                 [asked, named = std::move(named), then = std::move(then)](const store::FoundMaterials&) mutable {
                   check_materials(asked, std::move(named), std::move(then));
                 });
}

}  // namespace sluice::api::integration
