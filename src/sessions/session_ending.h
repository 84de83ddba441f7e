// Ends a session well: compares the workspace with what it was, returns files, and keeps what changed as a layer.
// Unless the conversation keeps its sandbox, that is killed first and proven gone, so that nothing changes any more. On
// the loop's thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/callback.h"
#include "sessions/file_events.h"
#include "sessions/session_core.h"
#include "sessions/session_holding.h"

namespace sluice::sessions {

class SessionEnding final {
 public:
  // All must outlive this.
  SessionEnding(SessionCore& core, SessionHolding& holding, FileEvents& files)
      : core_(core), holding_(holding), files_(files) {}

  // `text` is the answer. `done` is called at once when nothing was ever open (`was_open`) and the conversation has no
  // workspace.
  void begin(std::string text, bool was_open, Callback<void()> done);
  // The run is suspended no more.
  void go_on();

 private:
  struct Made;
  struct Drafted;

  void report_kept_diff(Callback<void()> done);
  bool report_diffs(const std::optional<std::string>& own, const std::string& all);
  void find_layers();
  void look_for_changes();
  void report_changes(Made made);
  void hand_back(workspace::Assets assets);
  void draft();
  void keep_draft(Drafted drafted);
  void end();
  bool keeps_sandbox() const;
  std::vector<std::string> undiffed_directories() const;

  SessionCore& core_;
  SessionHolding& holding_;
  FileEvents& files_;
  std::string text_;
  bool ends_later_ = false;  // the sandbox is kept, and does not run on before it is known that the run is still ours
  Callback<void()> done_;
};

}  // namespace sluice::sessions
