// Claude Code, driven by lines of JSON in both directions ("stream-json") with its control protocol among them.
//
// What it tells comes several times: as pieces while the model writes, whole when a block is done, and again when it
// asks whether a call may run. Told is the first of these; a block whose pieces were told and that broke off is taken
// back, because the model begins it anew.
//
// Who is asked: a hook before every call, registered when the program starts, sees all of them, while the program asks
// by itself only about those that its own rules do not allow. Where the process waits for the human, the hook answers
// "ask", so that the question proper follows, which waits for as long as it takes. Where the process is to end, the
// hook's own question is told, because only a hook can put a call off ("defer").
#pragma once

#include <map>
#include <set>

#include "base/json.h"
#include "harness/claude_calls.h"
#include "harness/line_splitter.h"

namespace sluice::harness {

// The agent's answer as it is told. Its last block may be taken back until it is settled.
class ClaudeDraft final {
 public:
  using Out = std::vector<Heard>&;
  void add(std::string_view piece, Out out);
  // The block is whole, and this is its text.
  void settle(std::string_view text, Out out);
  // The block broke off.
  void drop(Out out);

 private:
  std::size_t settled_bytes_ = 0;
  std::string open_;  // told of the block that is not settled
};

class Claude final : public Dialect {
 public:
  explicit Claude(const Assignment& assignment);

  std::string opening() override;
  std::vector<Heard> feed(std::string_view bytes) override;
  std::vector<Heard> end(std::string_view exit_words, std::string_view stderr_tail) override;
  std::string take_output() override;
  bool is_done_writing() const override { return is_over_; }
  void answer(uint64_t question, const Answer& answer) override;
  void interrupt() override;

 private:
  using Out = std::vector<Heard>&;
  struct Question {
    enum class Kind : uint8_t { hook, permission, host };
    Kind kind = Kind::hook;
    std::string request_id;
    ProgramCall call;
    std::string input;  // JSON, as it was asked about
    bool is_subagents = false;
    std::string rpc_id;  // JSON; of a host's tool
  };

  // claude.cc: what it tells.
  void hear(std::string_view line, Out out);
  void hear_stream(json::Value event, Out out);
  void hear_delta(json::Value event, Out out);
  void hear_assistant(json::Value line, Out out);
  void hear_block(json::Value block, std::string_view message, std::string_view subagent, Out out);
  void hear_user(json::Value line, Out out);
  void hear_system(json::Value line, Out out);
  void hear_result(json::Value line, Out out);
  void count(json::Value usage);
  void count_result(json::Value line, Out out);
  void tell_usage(const model::Usage& usage, Out out);
  void finish(Heard last, Out out);
  void complain(std::string words, Out out);

  // claude_control.cc: what it asks.
  void hear_request(json::Value line, Out out);
  void hear_hook(std::string_view request_id, json::Value request, Out out);
  void hear_permission(std::string_view request_id, json::Value request, Out out);
  void hear_rpc(std::string_view request_id, json::Value request, Out out);
  void hear_host_call(std::string_view request_id, json::Value message, Out out);
  void hear_response(json::Value line, Out out);
  void hear_withdrawal(std::string_view request_id, Out out);
  bool ask(Question question, const std::string& subagent, Heard::Kind kind, Out out);
  void answer_hook(const Question& question, const Answer& answer);
  void write_hook(std::string_view request_id, std::string_view decision, std::string_view why);
  void write_allow(std::string_view request_id, std::string_view input);
  void write_deny(std::string_view request_id, std::string_view why);
  void write_rpc(std::string_view request_id, std::string_view rpc_id, std::string_view member, std::string_view json);
  void write_response(std::string_view request_id, std::string_view json);
  void write_refusal(std::string_view request_id, std::string_view why);

  std::string system_prompt_;
  std::string prompt_;
  std::vector<model::HostTool> tools_;
  bool asks_;
  bool may_defer_;

  LineSplitter lines_;
  std::string output_;
  bool has_session_ = false;
  bool is_over_ = false;
  bool is_interrupted_ = false;
  int complaints_ = 0;

  ClaudeDraft draft_;
  ClaudeCalls calls_;
  std::string message_;                           // that is being written
  bool has_reasoned_ = false;                     // pieces of its thinking were told
  std::map<int64_t, std::string> calls_written_;  // by the block's number in the message
  model::Usage counted_;                          // of the messages before
  model::Usage counting_;                         // of the message that is being written
  model::Usage told_usage_;

  uint64_t last_question_ = 0;
  std::map<uint64_t, Question> questions_;
  std::set<std::string, std::less<>> allowed_;  // calls that the hook was allowed
  bool is_deferring_ = false;
};

}  // namespace sluice::harness
