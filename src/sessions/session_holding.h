// What becomes of the changes of a run: they are held while it waits for a human, and kept when it has ended well. On
// the loop's thread.
#pragma once

#include <string>
#include <vector>

#include "base/callback.h"
#include "sessions/session_core.h"

namespace sluice::sessions {

class FileEvents;

// Holds the changes while the run waits: with its sandbox (a conversation that keeps it) as a snapshot, or without, as
// a layer over which the sandbox is opened again.
class SessionHolding final {
 public:
  // `core` must outlive this.
  explicit SessionHolding(SessionCore& core);

  // What the last command changed in the workspace; nothing once its sandbox is gone. At once, or when it is known.
  void find_changed(Callback<void(std::vector<std::string>)> then);
  // Where the dispatch does not keep its sandbox, that is killed first and proven gone. Without a sandbox it ends at
  // once.
  Task<Outcome> hold();
  // What find_changed() found when it was held.
  const std::vector<std::string>& held_changed() const { return held_changed_; }
  // The wait is over, and the sandbox is still there.
  void go_on();
  // What was held is not needed any more: the run ends without it.
  void forget();
  // The sandbox went away. False while the run waits: it is opened again over what was held.
  bool is_lost_for_good();

  SessionState state() const;
  bool is_parked() const { return is_parked_; }
  bool has_held() const { return held_count_ != 0; }

 private:
  Task<Result<std::vector<std::string>>> changed_paths();
  Task<Result<std::string>> hold_changes();

  SessionCore& core_;
  std::string snapshot_;  // of the sandbox while it waits: its name; empty: none
  std::vector<std::string> held_changed_;
  int held_count_ = 0;       // the number of the last that was held, perhaps in a life before this one
  bool is_waiting_ = false;  // with the sandbox
  bool is_parked_ = false;   // without
  Sequence finding_;
};

// Ends a session well: compares the workspace with what it was, returns files, and keeps what changed as a layer.
// Unless the conversation keeps its sandbox, that is killed first and proven gone, so that nothing changes any more.
// `text` is the answer. Ends at once when nothing was ever open and the conversation has no workspace.
Task<Outcome> end_session(SessionCore& core, SessionHolding& holding, FileEvents& files, std::string text);

}  // namespace sluice::sessions
