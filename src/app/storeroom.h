// Where the server's own runs find the bundles that they name, and leave the files that they make.
#pragma once

#include "engine/engine.h"
#include "files/files.h"
#include "store/store.h"
#include "world/world.h"

namespace sluice::app {

// All of them must outlive it and every run's supplies.
struct StoreroomNeeds {
  store::Store& store;
  files::Contents& contents;
  world::Workers& workers;
  world::Loop& loop;
  world::IdSource& ids;
  world::Log& log;
};

class HouseStoreroom final : public engine::Storeroom {
 public:
  explicit HouseStoreroom(StoreroomNeeds needs) : needs_(needs) {}
  std::shared_ptr<harness::Supplies> supplies_for(const model::Run& run) override;

 private:
  StoreroomNeeds needs_;
};

}  // namespace sluice::app
