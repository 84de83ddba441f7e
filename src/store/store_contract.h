// The contract suite's fixture: each story is told to every kind of store.
#pragma once

#include "store/contract_world.h"

namespace sluice::store {

enum class Backend : uint8_t { memory, sqlite };

class StoreContract : public StoreTeller, public testing::TestWithParam<Backend> {
 public:
  StoreContract() { open(); }
  ~StoreContract() override { store_.reset(); }  // before the disk and the figures it uses

  // The server dies and another one comes.
  void restart() {
    store_.reset();
    open();
  }

 private:
  void open() {
    if (GetParam() == Backend::memory) {
      store_ = std::make_unique<MemoryStore>(disk_, loop_);
      return;
    }
    auto opened = open_sqlite({.path = folder_.file("sluice.db")}, loop_, metrics_);
    if (!opened) check_failed(opened.error().what.c_str(), __FILE__, __LINE__);
    store_ = std::move(opened).take();
  }

  MemoryDisk disk_;
  ScratchFolder folder_;
  world::Metrics metrics_;
};

inline std::string name_of_backend(const testing::TestParamInfo<Backend>& info) {
  return info.param == Backend::memory ? "memory" : "sqlite";
}

}  // namespace sluice::store
