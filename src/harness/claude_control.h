// The control protocol of Claude Code: the requests that the program sends, and the answers to them.
//
// A hook before every call is registered when the program starts and sees all calls, while the program itself asks only
// about those that its own rules do not allow. If the process waits for the human, the hook answers "ask", so that the
// program's own question follows, which waits without limit. If the process is to end, the hook's request becomes the
// question, because only a hook can put a call off ("defer").
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "harness/claude_calls.h"
#include "harness/harness.h"

namespace sluice::harness {

class ClaudeControl final {
 public:
  using Out = std::vector<Heard>&;

  // `calls` must outlive this.
  ClaudeControl(const Assignment& assignment, ClaudeCalls& calls);

  std::string opening();
  void read_request(json::Value line, Out out);
  // The end of the turn, if the program refused to be set up.
  std::optional<Heard> read_response(json::Value line);
  void read_withdrawal(std::string_view request_id, Out out);
  void answer(uint64_t question, const Answer& answer);
  void drop_questions() { questions_.clear(); }
  void interrupt();
  std::string take_output() { return std::exchange(output_, {}); }

 private:
  struct Question {
    enum class Kind : uint8_t { hook, permission, host };
    Kind kind = Kind::hook;
    std::string request_id;
    ProgramCall call;
    std::string input;  // JSON, as it was asked about
    bool is_subagents = false;
    std::string rpc_id;  // JSON; of a host's tool
  };

  void read_hook(std::string_view request_id, json::Value request, Out out);
  void read_permission(std::string_view request_id, json::Value request, Out out);
  void read_rpc(std::string_view request_id, json::Value request, Out out);
  void read_host_call(std::string_view request_id, json::Value message, Out out);
  bool ask(Question question, const std::string& subagent, Heard::Kind kind, Out out);
  void answer_hook(const Question& question, const Answer& answer);
  void write_hook(std::string_view request_id, std::string_view decision, std::string_view why);
  void write_allow(std::string_view request_id, std::string_view input);
  void write_deny(std::string_view request_id, std::string_view why);
  void write_rpc(std::string_view request_id, std::string_view rpc_id, std::string_view member, std::string_view json);
  void write_response(std::string_view request_id, std::string_view json);
  void write_refusal(std::string_view request_id, std::string_view why);

  const std::string system_prompt_;
  const std::string prompt_;
  const std::vector<model::HostTool> tools_;
  const bool asks_;
  const bool may_defer_;
  ClaudeCalls& calls_;

  std::string output_;
  uint64_t last_question_ = 0;
  std::map<uint64_t, Question> questions_;
  std::set<std::string, std::less<>> allowed_;  // calls that the hook was allowed
  bool is_deferring_ = false;
};

}  // namespace sluice::harness
