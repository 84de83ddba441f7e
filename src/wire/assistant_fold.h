// A run as the Assistant's frames, for a browser (A-1; docs/assistant.md): `chat` first, `done` last and once, and
// before it the whole message as it is kept. Logs are for the trace.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "journal/journal.h"
#include "model/model.h"
#include "wire/chat_messages.h"

namespace sluice::wire {

class AssistantFold {
 public:
  // Frames up to and including `after` are left out; -1: none is.
  AssistantFold(const model::Run& run, int64_t after);

  // Appends the frames for `news` to `out`. Positions must be consecutive.
  void apply(const journal::Committed& news, std::string& out);

  int64_t next_seq() const { return next_seq_; }
  model::Position at() const { return at_; }
  bool ended() const { return ended_; }

 private:
  friend class ChatHistory;

  template <typename Members>
  void write(std::string_view type, Members members);
  void write_text(std::string_view type, std::string_view text);
  void write_step(const StepBlock& step, bool with_args);

  void begin(const model::events::Accepted& accepted);
  void show_queued(const model::events::Queued& queued);
  void take_back(const model::events::Replaced& replaced);
  void show_step(const model::events::Step& event);
  void show_call(const model::events::Call& call);
  void show_output(const model::events::Output& output);
  void show_file(const model::events::File& file);
  void show_diff(const model::events::Diff& event);
  void show_custom(const model::events::Custom& custom);
  void show_run_diff(std::string_view whole);
  void show_assets(json::Value files);
  void show_gate(const model::events::Gate& gate);
  void close_gate(std::string_view status);
  void show_subagent(const model::events::Subagent& event);
  void show_subagent_text(const model::events::SubagentText& event);
  // Calls that were being written are not going to be.
  void give_up_calls(std::string_view why);
  void finish(const model::events::Completed& completed);
  void fail(const model::events::EndProblem& problem, ChatAnswer::Status status);

  model::Run run_;
  model::ChatTurn chat_;
  ChatAnswer answer_;
  int64_t after_;
  int64_t next_seq_ = 0;
  model::Position at_;
  bool ended_ = false;
  std::string* out_ = nullptr;  // of one apply(), as the next
  Timestamp now_;
};

// One turn for a client that comes later: what its frames amount to.
class ChatHistory {
 public:
  explicit ChatHistory(const model::Run& run);

  void apply(const journal::Committed& news);
  bool ended() const { return fold_.ended(); }
  // Number of the last frame.
  int64_t last_frame() const { return fold_.next_seq() - 1; }
  // `text` is what was asked, which the journal does not have.
  void append_question(json::Writer& writer, std::string_view text) const;
  // Of a turn that has ended.
  void append_answer(json::Writer& writer) const;

 private:
  AssistantFold fold_;
};

}  // namespace sluice::wire
