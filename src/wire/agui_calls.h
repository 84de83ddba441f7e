// The tool calls of an AG-UI stream: begun, their arguments written in pieces, ended and answered, each of them once
// and in that order, whatever order an agent program reports them in. Used by one fold, on its thread.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

#include "wire/agui_voices.h"

namespace sluice::wire {

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
