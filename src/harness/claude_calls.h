// The calls that Claude Code makes, and the subagents that it starts: each call is reported once as running and once as
// ended, in that order, however often and from however many sides the program mentions it.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "harness/harness.h"

namespace sluice::harness {

class ClaudeCalls final {
 public:
  using Out = std::vector<Heard>&;

  void began(std::string_view id, std::string_view name, Out out);
  void piece(std::string_view id, std::string_view text, Out out);
  // `subagent` is the one that calls; empty: the agent itself. A todo list is reported as well.
  void running(const ProgramCall& call, std::string_view subagent, Out out);
  void ended(std::string_view id, std::string text, bool failed, Out out);

  // The call `id` has started a subagent, to which hooks refer by `agent_id`.
  void subagent_seen(std::string_view id, std::string_view agent_id, std::string_view what_for, Out out);
  std::string subagent_of(std::string_view agent_id) const;  // empty: not known

 private:
  enum class State : uint8_t { written, runs, over };
  struct Call {
    State state = State::written;
    std::string subagent;
  };
  Call* find(std::string_view id, State state);
  // Null when it is known already, or one too many.
  Call* add(std::string_view id, Out out);

  std::map<std::string, Call, std::less<>> calls_;
  std::map<std::string, bool, std::less<>> subagents_;           // by the call's id; true while it works
  std::map<std::string, std::string, std::less<>> agent_calls_;  // the call's id by the agent's
  bool is_full_ = false;                                         // and that was said
};

// "lookup" for "mcp__sluice__lookup".
std::string reported_name(std::string_view name);
bool is_host_tool(std::string_view name);

}  // namespace sluice::harness
