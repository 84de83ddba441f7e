// Where the server's own runs find the bundles that they name, leave the files that they make, and get into their
// workspace.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "files/files.h"
#include "skills/skills.h"
#include "store/store.h"
#include "world/shared_workers.h"
#include "world/world.h"

namespace sluice::app {

// All of them must outlive it and every run's supplies.
struct StoreroomNeeds {
  store::Store& store;
  files::Contents& contents;
  world::SharedWorkers& workers;
  world::Loop& loop;
  world::IdSource& ids;
  world::Log& log;
};

struct StoreroomOptions {
  std::string server_url;       // of this server as its own egress reaches it
  std::string run_bearer_root;  // what boxes' bearers are derived from
  // To read a bundle or a file, and to keep a run's files: a disk, or a network, may never answer.
  int64_t answer_ms_max = 300'000;
};

class HouseStoreroom final : public engine::Storeroom {
 public:
  HouseStoreroom(StoreroomNeeds needs, StoreroomOptions options)
      : needs_(needs),
        options_(std::move(options)),
        builtin_skills_(std::make_shared<const BuiltinSkills>(skills::builtin_skills())) {}
  std::shared_ptr<harness::Supplies> supplies_for(const model::Run& run) override;
  harness::WorkspaceAccess workspace_for(const model::Run& run, model::WorkspaceUse use) override;
  std::optional<harness::SkillUse> builtin_skill(std::string_view name) override;

 private:
  using BuiltinSkills = std::vector<skills::BuiltinSkill>;

  StoreroomNeeds needs_;
  StoreroomOptions options_;
  std::shared_ptr<const BuiltinSkills> builtin_skills_;  // shared with the supplies of runs
};

}  // namespace sluice::app
