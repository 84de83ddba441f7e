// What the agent and its subagents say, think and call in an AG-UI stream, with the messages and calls that are open.
// Own file: three classes with a job each, which AguiProjector puts together. Used by one fold, on its thread.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "model/event_codec.h"
#include "model/model.h"
#include "wire/agui_writer.h"

namespace sluice::wire {

// What a run amounts to as AG-UI messages: the agent's words, thoughts and calls, and the calls' results, with the ids
// that its stream has. Which ids there are does not depend on the reader.
class AguiTranscript {
 public:
  // Ids are `prefix`-1, `prefix`-2 and so on.
  explicit AguiTranscript(std::string prefix) : prefix_(std::move(prefix)) {}

  std::string add_words(std::string_view subagent) { return add(Role::assistant, subagent); }
  // What parts one round's text from the next in one content; messages are apart by themselves.
  void add_gap(std::size_t bytes) { gap_ += bytes; }
  std::string add_thoughts(std::string_view subagent) { return add(Role::reasoning, subagent); }
  void append(std::string_view message, std::string_view text);

  void add_call(std::string_view message, std::string_view call, std::string_view name);
  void append_arguments(std::string_view call, std::string_view arguments);
  // A call that was never finished, and is not going to be.
  void forget_call(std::string_view call);
  // Right after the message that has the call, and its other results: there the client puts it.
  std::string add_result(std::string_view call, std::string_view content, bool failed, std::string_view subagent);
  // The result of that call is the client's own, so that no stream repeats it.
  void mark_as_clients(std::string_view call);

  // Takes back what the agent itself said, but for its first `bytes`. The last message that has any of them, or "".
  std::string keep_words(std::size_t bytes);

  // Appends the messages as JSON objects, with commas between them.
  void append_json(std::string& out, bool with_subagents) const;

  int64_t count() const { return count_; }
  // The same of those that were begun when count() was `count`, and of results that are the client's own: what a
  // client has to know that is about to get the rest as a stream.
  void append_begun_json(std::string& out, int64_t count) const;

 private:
  enum class Role : uint8_t { assistant, reasoning, tool };
  struct Call {
    std::string id;
    std::string name;
    std::string arguments;
  };
  struct Entry {
    Role role;
    std::string id;
    std::string subagent;
    std::string text;
    std::vector<Call> calls;  // of an assistant's
    std::string call;         // of a tool's
    bool failed = false;
    bool is_clients = false;
    int64_t number = 0;
    std::size_t gap = 0;  // bytes of the answer before its text that are no message's
  };

  std::string add(Role role, std::string_view subagent);
  std::string next_id() { return prefix_ + "-" + std::to_string(++count_); }
  Entry* find(std::string_view id);
  Entry* find_call(std::string_view id);
  static void append_entry(std::string& out, const Entry& entry);

  std::string prefix_;
  int64_t count_ = 0;
  std::size_t gap_ = 0;  // of the text that comes next
  std::vector<Entry> entries_;
};

// What each agent says and thinks. Clients of AG-UI 1.0 see subagents; others would take a subagent's text for the
// agent's own, so for them it is only kept in the transcript.
class AguiVoices {
 public:
  // What one agent, the first or a subagent, has open.
  struct Lane {
    std::string owner;  // the subagent's id; empty: the agent itself
    std::string text;   // id of the message that is being said
    std::string text_head;
    std::string thoughts;  // id of the reasoning that goes on
    std::string thoughts_head;
    std::string round;  // the message that calls are part of; empty: they begin one
  };
  struct Subagent {
    Lane lane;
    std::string name = "subagent";
    std::string step;       // the tool call that started it
    bool is_begun = false;  // in this segment
    bool has_ended = false;
  };
  enum class Ending : uint8_t { done, parked, broken };

  AguiVoices(Format format, int64_t after, const model::Run& run)
      : run_(run), writer_(format, after), transcript_(run.message_id.text()) {}

  AguiWriter& writer() { return writer_; }
  const AguiWriter& writer() const { return writer_; }
  AguiTranscript& transcript() { return transcript_; }
  const AguiTranscript& transcript() const { return transcript_; }
  const model::Run& run() const { return run_; }
  Lane& agent() { return agent_; }

  // Subagents that go on are begun anew in each segment.
  void begin_segment();

  void say(Lane& lane, std::string_view text);
  void think(Lane& lane, std::string_view text);
  void close(Lane& lane);
  // Whether the stream shows what that agent does.
  bool shows(std::string_view owner) const;

  // The lane of the subagent, which is begun if it was not, or the agent's own where the id is empty. Null: that
  // subagent has ended, and nothing of it is shown any more.
  Lane* lane_of(std::string_view subagent);
  // The subagent of that event, begun if it was not; null: it has ended.
  Subagent* begin(const model::events::Subagent& event);
  std::vector<std::string> begun_subagents() const;
  void end_subagent(std::string_view id, Ending ending, std::string_view error);

 private:
  Subagent* find_or_begin(std::string_view id);
  void close_text(Lane& lane);
  void close_thoughts(Lane& lane);

  model::Run run_;
  AguiWriter writer_;
  AguiTranscript transcript_;
  Lane agent_;
  std::map<std::string, Subagent, std::less<>> subagents_;
};

// The tool calls: begun, their arguments written in pieces, ended and answered, each of them once and in that order,
// whatever order an agent program reports them in.
class AguiCalls {
 public:
  AguiCalls(Format format, int64_t after, const model::Run& run) : voices_(format, after, run) {}

  AguiVoices& voices() { return voices_; }
  const AguiVoices& voices() const { return voices_; }

  // The calls that an earlier segment began may be answered in this one.
  void begin_segment();

  void write_call(const model::events::Call& event);
  void write_step(const model::events::Step& event);
  // All of a call that a human is asked about and that has not begun.
  void write_whole(const model::ClientCall& asked);
  // The client has its own answer to that step; no stream repeats it.
  void set_answered_by_client(std::string_view step_id);

  // The open calls of that agent, or of the subagent; all of them.
  void end_calls_of(std::string_view owner);
  void end_calls();
  // The agent begins its answer anew: what it was calling may begin again.
  void take_back();
  // Calls that wait for what will not come are answered with these words.
  void give_up(std::string_view why);
  // Leaves the call of that step to the client, whose id of it is returned; empty when it has its answer.
  std::string leave_to_client(std::string_view step_id);

 private:
  struct Call {
    std::string owner;  // the subagent's id; empty: the agent itself
    std::string head;   // of its arguments' frames
    bool is_open = true;
    bool has_arguments = false;
    bool is_answered = false;
    bool is_taken_back = false;  // it may begin again
  };

  // The call of that id, begun if it was not.
  Call& call_for(AguiVoices::Lane& asked, const std::string& id, std::string_view name);
  void add_arguments(const std::string& id, Call& call, std::string_view text);
  void end(const std::string& id, Call& call);
  void answer(const std::string& id, Call& call, std::string_view content, bool failed);

  AguiVoices voices_;
  std::map<std::string, Call, std::less<>> calls_;
  std::set<std::string, std::less<>> answered_by_client_;
};

}  // namespace sluice::wire
