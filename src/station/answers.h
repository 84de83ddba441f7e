// Parses the answers of a workspace to redeemed tokens (S-4): present members strictly, missing members with defaults.
// Unknown members are ignored. No I/O.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "dispatch/dispatch.h"

namespace sluice::station {

// GET {agent_url}/env
struct EnvAnswer {
  std::map<std::string, std::string> variables;
  std::string script;  // empty: none
};
// `invalid`, with the name of the member; also for read_config().
Result<EnvAnswer> read_env(std::string_view text);

// GET {agent_url}/config
struct ConfigAnswer {
  model::Agent agent;
  int64_t max_rounds = 10;
  std::vector<dispatch::SkillUse> skills;
  std::optional<dispatch::RepositoryUse> repository;
  std::vector<dispatch::HistoryTurn> history;  // the last limits::replay_turns_max
  std::vector<dispatch::FileUse> files;        // in the zip at files_url
  std::string files_url;
  std::string bearer;                                              // asbx_…; empty: none was given
  std::string workspace_url;                                       // of the workspace's API; empty: none was given
  model::WorkspaceUse workspace_use = model::WorkspaceUse::write;  // what its bearer is good for there
  bool resumed = false;  // another runner was lost with it: the agent continues after the text that was sent
  std::string told_text, told_reasoning;
  bool filler = false;
  bool inference = false;           // one call of the model, without tools
  std::vector<std::string> unused;  // what was asked for and this runner does not do
};
Result<ConfigAnswer> read_config(std::string_view text, const model::ModelChoice& default_model);

}  // namespace sluice::station
