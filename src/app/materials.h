// Gives the server's own runs their skill bundles and uploaded files, keeps the files that they return, and gives them
// access to their workspace. Used from the loop's thread; files are read and written on worker threads.
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

// All of them must outlive this object and the supplies of every run.
struct RunMaterialsNeeds {
  store::Store& store;
  files::Contents& contents;
  world::SharedWorkers& workers;
  world::Loop& loop;
  world::IdSource& ids;
  world::Log& log;
};

struct RunMaterialsOptions {
  std::string server_url;       // this server's URL as its own egress reaches it
  std::string run_bearer_root;  // bearers of sandboxes are derived from it
  // Deadline for reading a bundle or a file and for keeping a run's files, because a disk or a network may never
  // answer.
  int64_t answer_ms_max = 300'000;
};

class RunMaterials final : public engine::MaterialSource {
 public:
  RunMaterials(RunMaterialsNeeds needs, RunMaterialsOptions options)
      : needs_(needs),
        options_(std::move(options)),
        builtin_skills_(std::make_shared<const BuiltinSkills>(skills::builtin_skills())) {}
  std::shared_ptr<dispatch::Supplies> supplies_for(const model::Run& run) override;
  dispatch::WorkspaceAccess workspace_for(const model::Run& run, model::WorkspaceUse use) override;
  std::optional<dispatch::SkillUse> builtin_skill(std::string_view name) override;

 private:
  using BuiltinSkills = std::vector<skills::BuiltinSkill>;

  RunMaterialsNeeds needs_;
  RunMaterialsOptions options_;
  std::shared_ptr<const BuiltinSkills> builtin_skills_;  // shared with the supplies of runs
};

}  // namespace sluice::app
