#include "engine/materials.h"

#include <algorithm>
#include <set>

#include "base/check.h"
#include "base/json.h"
#include "gates/gates.h"
#include "model/json.h"

namespace sluice::engine {

store::MaterialNames materials_named(const model::Agent& agent, const std::optional<std::string>& of_conversation,
                                     const model::Message& message) {
  store::MaterialNames names;
  names.repository = message.repository_id ? message.repository_id : of_conversation;
  for (const auto& id : agent.skill_ids) names.skills.push_back(id.text());
  for (const auto& id : message.skill_ids.value_or(std::vector<std::string>{})) {
    if (std::ranges::find(names.skills, id) == names.skills.end()) names.skills.push_back(id);
  }
  if (message.env_name) names.environment = message.env_name;
  if (!names.environment && agent.environment_id) names.environment = agent.environment_id->text();
  return names;
}

void give(store::FoundMaterials found, dispatch::Materials& materials) {
  SLUICE_CHECK(found.missing.empty());  // such a run is refused
  if (auto& repository = found.repository) {
    materials.repository = {repository->id.text(), repository->url, repository->ref, repository->depth,
                            repository->credential_alias};
  }
  for (auto& skill : found.skills) {
    materials.skills.push_back({skill.id.text(), skill.name, skill.description, skill.sha256});
  }
  if (auto& environment = found.environment) {
    materials.variables.merge(environment->variables);
    // It says where the work is done (S-8), to us and not to the box.
    materials.variables.erase("SANDBOX_URL");
    materials.setup_script = std::move(environment->script);
  }
}

void give_builtin_skills(const model::RunExtras& extras, MaterialSource& material_source,
                         dispatch::Materials& materials) {
  for (const auto& name : extras.builtin_skills) {
    if (std::ranges::find(materials.skills, name, &dispatch::SkillUse::name) != materials.skills.end()) continue;
    if (auto skill = material_source.builtin_skill(name)) materials.skills.push_back(*std::move(skill));
  }
}

model::WorkspaceUse workspace_use_of(const model::Agent& agent, const model::RunExtras& extras) {
  return extras.builtin_skills.empty() ? agent.kit.workspace : model::WorkspaceUse::write;
}

std::function<bool(const vault::Secret&)> secrets_looked_for(const dispatch::Dispatch& work) {
  std::set<std::string, std::less<>> named;  // that the server itself uses
  if (const auto& alias = work.agent.model.key_alias) named.insert(*alias);
  if (const auto& inference = work.extras.inference; inference && inference->model.key_alias) {
    named.insert(*inference->model.key_alias);
  }
  if (const auto& repository = work.materials.repository; repository && repository->credential_alias) {
    named.insert(*repository->credential_alias);
  }
  std::string kit;
  json::Writer writer(kit);
  writer.begin_object();
  model::append_kit_members(writer, work.agent.kit);
  writer.end_object();
  return [policy = work.agent.policy, named = std::move(named), kit = std::move(kit)](const vault::Secret& secret) {
    return secret.scope != model::SecretScope::tenant || named.contains(secret.alias) ||
           kit.find(vault::placeholder(secret.alias)) != std::string::npos ||
           gates::secret_may_be_used(policy, secret.alias, secret.hosts);
  };
}

void give_attachments(const model::RunExtras& extras, dispatch::Materials& materials) {
  if (!extras.chat) return;
  for (const auto& file : extras.chat->attachments) {
    const auto dot = file.name.rfind('.');
    const auto cut = dot == std::string::npos || dot == 0 ? file.name.size() : dot;
    auto name = file.name;
    for (int n = 1; std::ranges::find(materials.files, name, &dispatch::FileUse::name) != materials.files.end(); ++n) {
      name = file.name.substr(0, cut) + "-" + std::to_string(n) + file.name.substr(cut);
    }
    materials.files.push_back({std::move(name), file.sha256, file.size_bytes});
  }
}

}  // namespace sluice::engine
