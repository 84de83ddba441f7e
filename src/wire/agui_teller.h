// Turns a run's events into AG-UI's, segment after segment, and keeps what they amount to. It repairs what an agent
// program does out of order, so that the rules (agui_rules.h) have nothing to find.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "model/model.h"
#include "wire/agui_transcript.h"
#include "wire/agui_writer.h"

namespace sluice::wire {

class AguiTeller {
 public:
  AguiTeller(const View& view, const model::Run& run);

  void apply(const model::RunEvent& event, std::string& out);

  int64_t count() const { return segment_ == view_.segment ? writer_.count() : 0; }
  // The segment that is asked for is over, or will never be.
  bool is_over() const { return is_run_over_ || (segment_ == view_.segment && writer_.is_over()); }
  int64_t violations() const { return writer_.violations(); }
  const AguiTranscript& transcript() const { return transcript_; }
  // How many messages the transcript had when the segment that goes on now began.
  int64_t count_before_segment() const { return count_before_segment_; }
  // That wait for an answer now, as JSON objects with commas between them; empty: none does.
  const std::string& interrupts() const { return interrupts_; }
  // As the client sent it; empty when no client did.
  const std::string& user_message() const { return user_message_; }
  std::string_view earlier_messages() const { return std::string_view(client_messages_).substr(0, earlier_bytes_); }

 private:
  // What one agent, the first or a subagent, has open.
  struct Lane {
    std::string owner;
    std::string text;  // the message that is being said
    std::string text_head;
    std::string thoughts;
    std::string thoughts_head;
    std::string round;  // the message that calls are part of; empty: they begin one
  };
  struct Call {
    std::string owner;
    std::string head;  // of its arguments' frames
    bool is_open = true;
    bool has_arguments = false;
    bool is_answered = false;
    bool is_taken_back = false;  // it may begin again
  };
  struct Subagent {
    Lane lane;
    std::string name = "subagent";
    std::string step;
    bool is_told = false;  // in this segment
    bool is_done = false;
  };
  struct Usage {
    int64_t input = 0;
    int64_t output = 0;
    std::string model;
  };
  enum class Ending : uint8_t { done, parked, broken };

  // ── segments ──
  void begin_segment();
  bool wakes(const model::RunEvent& event);
  void take_names(json::Value accepted);
  void take_answers(json::Value body);
  void tell_conversation();

  // ── what happens ──
  void tell(const model::RunEvent& event);
  void tell_body(model::EventKind kind, json::Value body);
  void tell_step(json::Value body);
  void tell_call(json::Value body);
  void tell_output(json::Value body);
  void tell_log(json::Value body);
  void tell_custom(json::Value body);
  void tell_diff(json::Value body);
  void tell_queued(json::Value body);
  void take_back(json::Value body);
  void note_usage(json::Value body);

  // ── words, thoughts, calls ──
  void say_answer(std::string_view text);
  void say(Lane& lane, std::string_view text);
  void think(Lane& lane, std::string_view text);
  void close_text(Lane& lane);
  void close_thoughts(Lane& lane);
  void close(Lane& lane);
  // The call of that step, begun if it was not.
  Call& call_for(Lane& asked, const std::string& id, std::string_view name);
  void add_arguments(const std::string& id, Call& call, std::string_view text);
  void end_call(const std::string& id, Call& call);
  void answer(const std::string& id, Call& call, std::string_view content, bool failed);
  // All of a call that is only asked about as yet.
  void tell_whole_call(const model::ClientCall& asked);

  // ── subagents (agui_subagents.cc) ──
  // Whose the event is; null: of one that is done, and not to be heard of again.
  Lane* lane_of(json::Value body);
  // At work from here on, if it was not; null: it is done.
  Subagent* subagent_named(std::string_view id);
  void rouse(Subagent& subagent);
  void tell_subagent(json::Value body);
  void tell_subagent_text(json::Value body);
  void end_subagent(Subagent& subagent, Ending ending, std::string_view error);
  // Whether what that agent does is told as if the first one did it, or not at all.
  bool tells_of(std::string_view owner) const;

  // ── ends (agui_ends.cc) ──
  void close_everything(Ending ending);
  void park(json::Value approval);
  // What came while nobody was told: of a run that ends, its own words are why a call failed.
  void tell_late_steps(bool is_end);
  // The calls that wait for what will not come.
  void give_up_calls(std::string_view problem);
  static std::string interrupts_in(std::string_view outcome);
  void interrupt(json::Value approval, const std::vector<model::RequestedItem>& items);
  void leave_to_client(const std::vector<model::RequestedItem>& items);
  std::string client_tool_interrupts(const std::vector<model::RequestedItem>& items) const;
  void end_run(model::EventKind kind, std::string_view body);
  void fail(std::string_view code, std::string_view message);
  // `outcome`: JSON.
  void finish(std::string_view outcome, std::string_view finish_reason);
  void append_usage(json::Writer& writer) const;
  void tell_snapshot();

  template <typename Members>
  void custom(std::string_view name, Members members) {
    writer_.tell({AguiType::custom, name}, [&](json::Writer& writer) {
      writer.key("name").string(name).key("value");
      members(writer);
    });
  }
  void custom_as_it_is(std::string_view name, json::Value value);

  View view_;
  model::Run run_;
  AguiWriter writer_;
  AguiTranscript transcript_;

  int64_t segment_ = -1;
  int64_t count_before_segment_ = 0;
  bool is_parked_ = false;
  std::string interrupts_;
  std::vector<std::string> late_steps_;  // that came during the wait
  bool is_run_over_ = false;
  bool has_client_ = false;    // an AG-UI client began the run
  bool has_answered_ = false;  // with words of the agent itself
  std::string thread_id_;
  std::string run_id_;  // of this segment
  std::optional<std::string> parent_run_id_;
  std::optional<std::string> next_run_id_;
  std::string client_messages_;    // JSON objects with commas between them
  std::size_t earlier_bytes_ = 0;  // of them, before the user's last
  std::string user_message_;

  Lane main_;
  std::map<std::string, Call, std::less<>> calls_;
  std::map<std::string, Subagent, std::less<>> subagents_;
  std::set<std::string, std::less<>> answered_by_client_;
  std::map<std::string, int, std::less<>> phases_;  // how often there was one of that name
  Usage usage_;
  Usage usage_before_;  // of the segments before
};

// The member's text; empty when there is none.
std::string text_in(json::Value object, std::string_view name);
// Frames have an end: what is longer than clients take is cut.
std::string_view cut_to_fit(std::string_view text);

}  // namespace sluice::wire
