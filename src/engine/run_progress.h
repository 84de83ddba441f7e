// A run as it has been decided so far, which may be more than is on disk: its record and its message, its open tool
// calls, and what the journal says of its resumption. It takes the steps of the lifecycle table, and gives the writer
// the events of them.
//
// Called from the loop's thread. Duties are performed by LiveRun when a step is on disk.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "engine/run_writer.h"

namespace sluice::engine {

class RunProgress final {
 public:
  // `message` is the assistant message as the journal makes it so far.
  RunProgress(const RunNeeds& needs, RunWriter& writer, model::Run run, model::Message message, std::string request_id);

  RunRecord& record() { return record_; }
  const model::Run& run() const { return record_.run; }
  const std::string& request_id() const { return request_id_; }
  int64_t accepted_us() const { return accepted_us_; }
  // Of the problem with which the run ended; empty before, and without one.
  std::string_view problem_name() const { return problem_name_; }
  const OpenSteps& steps() const { return steps_; }
  void remember_steps(OpenSteps steps) { steps_ = std::move(steps); }

  // Takes the step of the lifecycle. The answer is the duty that follows once it is on disk; nothing if `what` may not
  // happen now.
  std::optional<Duty> apply(Happening what);
  // Returns to the park from which a decision led that was not written.
  void return_to_park(OpenSteps steps);

  void add(model::EventKind kind, std::string body);
  // An event that the agent, or the engine for it, reports.
  void report(model::RunEvent event);
  void complete(model::Usage usage);
  // Ends the run with this event; tool calls that are open end as failed, for the reason `open_steps`.
  void end(model::EventKind kind, const model::Problem& problem, std::string_view open_steps);

  // What has been written of the run, in the order of its journal.
  void note_written(const model::RunEvent& event);
  // How often the run was resumed after an approval, as far as that is on disk.
  int64_t resumed_count() const { return resumed_count_; }
  void remember_resumed(int64_t count) { resumed_count_ = count; }

  // The journal has a mark by which work elsewhere is continued. Work that begins anew must take it back first.
  bool is_marked() const { return is_marked_; }
  void remember_mark() { is_marked_ = true; }
  // `then` when it is on disk that the run is not continued from its checkpoint, or its mark, a second time.
  void use_up_checkpoint(Callback<void()> then);
  void clear_mark(Callback<void()> then);

  // The run is parked, perhaps for days: unused memory is given back.
  void shrink() { record_.message.content.shrink_to_fit(); }

 private:
  void enter(RunState state);

  const RunNeeds& needs_;
  RunWriter& writer_;
  RunRecord record_;
  std::string request_id_;
  int64_t accepted_us_;
  OpenSteps steps_;
  int64_t resumed_count_ = 0;
  std::string_view problem_name_;
  bool is_marked_ = false;
};

}  // namespace sluice::engine
