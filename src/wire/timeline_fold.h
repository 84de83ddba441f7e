// A run as a picture of its phases: what it waited for, and what it did. It is a fold of the run's journal, like the
// streams, and is used on the thread that reads the journal.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/event_codec.h"
#include "model/model.h"

namespace sluice::wire {

class TimelineFold {
 public:
  explicit TimelineFold(Timestamp created_at) : created_at_(created_at) {}

  void apply(const model::RunEvent& event);
  // What is not over has no end.
  std::string json(const model::Run& run) const;

 private:
  struct Phase {
    std::string_view phase;  // queue, box, first_token, step, gate or text
    std::string label;
    int64_t from_ms = 0;  // since the run was created
    std::optional<int64_t> to_ms;
    std::string status;
    std::string id;
  };

  int64_t ms_of(Timestamp at) const { return at.ms - created_at_.ms; }
  // The index of a phase that begins.
  std::size_t open(std::string_view phase, std::string_view label, int64_t from_ms);
  void close(std::optional<std::size_t>& index, int64_t at_ms);

  void speak(std::string_view label, int64_t at_ms);
  void see_work(int64_t at_ms);
  void see_start(int64_t at_ms);
  void see_log(const model::events::Log& log, int64_t to_ms);
  void see_step(const model::events::Step& event, int64_t at_ms);
  void see_gate(const model::events::Gate& gate, int64_t at_ms);
  void leave_gate(std::string_view status, int64_t at_ms);
  // What the end means for the gate that the run waited at.
  void see_end(std::string_view gate_status, int64_t at_ms);

  Timestamp created_at_;
  std::vector<Phase> phases_;
  std::optional<std::size_t> queue_, first_token_, text_, gate_;  // those that are open
  std::map<std::string, std::size_t, std::less<>> steps_;         // by id
  bool has_worked_ = false;
};

}  // namespace sluice::wire
