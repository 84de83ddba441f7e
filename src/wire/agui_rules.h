// The order in which AG-UI's events may come: what its client refuses, and what it leaves to the sender. Every event is
// checked here before it is sent, in all builds. This is the last line of defence: AguiProjector repairs what an agent
// does wrong before.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::wire {

enum class AguiPeer : uint8_t { current, old, tanstack };

enum class AguiType : uint8_t {
  run_started,
  run_finished,
  run_error,
  step_started,
  step_finished,
  text_start,
  text_content,
  text_end,
  call_start,
  call_args,
  call_end,
  call_result,
  reasoning_start,
  reasoning_end,
  reasoning_message_start,
  reasoning_message_content,
  reasoning_message_end,
  messages_snapshot,
  subagent_started,
  subagent_finished,
  subagent_error,
  custom,
};

std::string_view name_of(AguiType type);  // "TEXT_MESSAGE_START"
std::optional<AguiType> agui_type_named(std::string_view name);
constexpr bool is_terminal(AguiType type) { return type == AguiType::run_finished || type == AguiType::run_error; }

// What the rules look at.
struct AguiEvent {
  AguiType type;
  std::string_view id;      // of the run, message, call or subagent; the step's name; of a result: its call
  std::string_view owner;   // the subagent whose it is; empty: the agent itself
  std::string_view parent;  // of a call that begins: the message it is part of, if one is named
};

class AguiRules {
 public:
  explicit AguiRules(AguiPeer peer) : peer_(peer) {}

  // Empty when `event` may come now; it then has. Else what is wrong with it.
  std::string_view admit(const AguiEvent& event);
  // A call that an earlier run of the thread began: its result may come without it.
  void know_call(std::string_view id) { calls_.emplace(id, false); }
  // Empty when the run may end with this call left to the client.
  std::string_view admit_pending(std::string_view call) const;

 private:
  enum class Phase : uint8_t { before, open, finished, failed };
  enum class Family : uint8_t { none, text, call, span, reasoning, step, subagent };
  enum class Act : uint8_t { none, open, go_on, close };
  struct Open {
    Family family;
    std::string id;
    std::string owner;
  };
  using Owners = std::map<std::string, std::string, std::less<>>;

  static Family family_of(AguiType type);
  static Act act_of(AguiType type);
  std::string_view admit_run(const AguiEvent& event);
  std::string_view admit_open(const AguiEvent& event, Family family);
  std::string_view admit_result(const AguiEvent& event);
  // Where in open_, or its size.
  std::size_t find(Family family, const AguiEvent& event) const;
  bool is_open(Family family, std::string_view id) const;

  AguiPeer peer_;
  Phase phase_ = Phase::before;
  std::string run_;
  std::vector<Open> open_;                              // few
  std::map<std::string, bool, std::less<>> calls_;      // and whether it has its result
  std::map<std::string, bool, std::less<>> subagents_;  // and whether it is done
  Owners messages_;                                     // of texts and reasonings, open or not
  Owners call_owners_;
};

}  // namespace sluice::wire
