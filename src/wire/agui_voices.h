// The agent and its subagents in an AG-UI stream: what each of them says and thinks, with the messages that are open.
// Clients of AG-UI 1.0 see subagents; others would take a subagent's text for the agent's own, so for them it is only
// kept in the transcript. Used by one fold, on its thread; knows nothing of tool calls (agui_calls.h).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "model/event_codec.h"
#include "model/model.h"
#include "wire/agui_transcript.h"
#include "wire/agui_writer.h"

namespace sluice::wire {

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

}  // namespace sluice::wire
