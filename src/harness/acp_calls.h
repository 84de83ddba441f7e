// The calls that an agent tells of in the Agent Client Protocol, put together from what it says of each piece by piece.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "harness/harness.h"

namespace sluice::harness {

class AcpCalls final {
 public:
  explicit AcpCalls(const Assignment& assignment);

  // A tool_call or a tool_call_update. `subagent`: the session below the agent's own that it is of; ids are a
  // session's.
  void hear(const json::Value& update, std::string_view subagent, std::vector<Heard>& heard);
  // Grok's tool_call_delta_chunk: a piece of a call that is being written.
  void hear_piece(const json::Value& update, std::vector<Heard>& heard);
  // No more pieces of the calls that were being written will come.
  void end_pieces() { writing_.clear(); }
  // The permission that is asked for: of what is asked, whatever was reported of the call; which is reported before if
  // it was not and is not the host's.
  Heard asked_for(const json::Value& tool_call, std::string_view subagent, std::vector<Heard>& heard);
  // It is carried out by the host, where rules are kept as well.
  bool is_of_host(const ProgramCall& call) const { return host_tools_.contains(call.name); }

 private:
  struct Call {
    ProgramCall call;
    std::string subagent;
    bool is_told = false;
    bool is_over = false;
    std::string output;  // reported so far
  };

  // Whose call it is that the agent asks for in its own session.
  std::string_view owner_of(std::string_view id) const;
  // Null: it is over, or one too many.
  Call* open(const json::Value& update, std::string_view subagent, std::vector<Heard>& heard);
  // As `update` has it: a question (`is_asked`) says it otherwise than a call.
  ProgramCall read(ProgramCall call, const json::Value& update, bool is_asked) const;
  std::string arguments_of(std::string_view tool, const json::Value& raw) const;
  void run(Call& call, std::vector<Heard>& heard) const;
  void tell_output(Call& call, std::string_view whole, std::vector<Heard>& heard) const;
  std::string own_name_of(const json::Value& update) const;
  std::string name_of(const json::Value& update) const;
  std::string without_prefix(std::string_view name) const;

  std::string agent_type_;
  std::set<std::string, std::less<>> host_tools_;
  std::map<std::string, Call> calls_;
  bool is_full_ = false;                    // and that was said
  std::map<int64_t, std::string> writing_;  // ids, by their place in the model's answer
};

}  // namespace sluice::harness
