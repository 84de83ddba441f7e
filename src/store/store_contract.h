// The contract suite's fixture: each story is told to every kind of store.
#pragma once

#include "store/contract_world.h"

namespace sluice::store {

enum class Backend : uint8_t { memory, sqlite };

class StoreContract : public StoreTeller, public testing::TestWithParam<Backend> {
 public:
  StoreContract() { open(); }

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
  }

  MemoryDisk disk_;
  ScratchFolder folder_;
};

inline std::string name_of_backend(const testing::TestParamInfo<Backend>& info) {
  return info.param == Backend::memory ? "memory" : "sqlite";
}

}  // namespace sluice::store
