// What the launch of a run needs from the store, besides the run's agent: part of the journal's public header, because
// accept() reads it along with what it decides, so that the usual launch waits for the store only once.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "model/model.h"

namespace sluice::journal {

// The materials that a run names, each by its id as text; the environment also by its name.
struct MaterialNames {
  std::optional<std::string> repository;
  std::vector<std::string> skills;
  std::optional<std::string> environment;
  bool empty() const { return !repository && skills.empty() && !environment; }
};
// Those that the tenant has, and the names of those that it does not have, for the error message.
struct FoundMaterials {
  std::optional<model::Repository> repository;
  std::vector<model::Skill> skills;  // in the order asked for
  std::optional<model::Environment> environment;
  std::vector<std::string> missing;
};

struct Turn {
  model::Role role;
  std::string content;
  Timestamp at;
};

struct LaunchQuestion {
  MaterialNames names;
  int turns_max = 0;  // of the history
};
struct LaunchRecords {
  FoundMaterials materials;
  std::vector<model::SealedSecret> secrets;  // in reach, the conversation's before the agent's before the tenant's
  // The last completed turns before the run's message that were not replaced, oldest first.
  std::vector<Turn> history;
};

// What a run asks depends on its agent and its conversation, which only the store knows when a message is accepted.
// Called on a thread of the store.
using AskForLaunch = std::function<LaunchQuestion(const model::Agent& agent, const model::Conversation& conversation)>;

}  // namespace sluice::journal
