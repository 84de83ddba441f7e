// The stop of a server: it accepts no more, lets go of runs that wait for a slot or a human, and waits until nothing is
// at work, or until a deadline.
//
// Called from the loop's thread. It closes nothing itself: RunEngine drops what is left at the deadline.
#pragma once

#include "engine/admission.h"

namespace sluice::engine {

class Draining final {
 public:
  Draining(Admission& admission, world::Loop& loop) : admission_(admission), loop_(loop) {}

  bool has_begun() const { return has_begun_; }
  // Nothing begins any more.
  bool is_closed() const { return is_closed_; }
  // The server stops, and what comes next of the run does not come from this one.
  bool leaves(model::RunId run) const { return has_begun_ && (is_closed_ || !admission_.is_at_work(run)); }
  // The run waits, and the next server carries it. Its sandbox is given up; the reason is for its readers and waiters.
  Error let_go(const model::Run& run);

  // `done` is kept until end() gives it back; `too_late` is called at the deadline.
  void begin(Millis deadline, Callback<void()> done, Callback<void()> too_late);
  // It has begun, and nothing is at work any more.
  bool may_end() const { return has_begun_ && done_ && !admission_.anyone_at_work(); }
  Callback<void()> end();

  static Error why() { return {ErrorKind::unavailable, "the server stops; the next one resumes the run"}; }

 private:
  Admission& admission_;
  world::Loop& loop_;
  bool has_begun_ = false, is_closed_ = false;
  Callback<void()> done_;
  world::Timer deadline_;
};

}  // namespace sluice::engine
