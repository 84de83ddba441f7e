// What a run's secrets are made of: those in use, and what is looked for.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "vault/vault.h"

namespace sluice::vault {

struct Secrets::State {
  std::function<bool(const Secret&)> is_looked_for;
  std::vector<Secret> now;
  std::vector<Secret> pinned;
  std::vector<Secret> ever;  // each value once: what is not in `now` may still come back from the network
  std::vector<Secret> ever_pinned;
  std::shared_ptr<const Scrubber> of_ever = std::make_shared<const Scrubber>(std::vector<Secret>());
  std::shared_ptr<const Scrubber> of_pinned;  // null: nothing was pinned
  std::shared_ptr<const Scrubber> scrubber = of_ever;
  uint64_t version = 0;     // of `ever`
  uint64_t last_asked = 0;  // among the replacements that Scrubbers has under way
  uint64_t last_used = 0;

  State() = default;
  ~State();
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  // What must be looked for once `next` is in use.
  std::vector<Secret> looked_for_with(const std::vector<Secret>& next) const;
  void use(std::vector<Secret> next, std::vector<Secret> looked_for, std::shared_ptr<const Scrubber> its_scrubber);
  void put_together();
};

}  // namespace sluice::vault
