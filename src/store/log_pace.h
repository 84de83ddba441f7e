// When SQLite's write-ahead log is moved into the database, and when the writer waits for readers so that the log can
// begin anew. Without a clock and without a database, so that a test can say what they do.
#pragma once

namespace sluice::store {

// In frames: each is a page of 4 KiB and its header.
struct LogBounds {
  int busy = 4'000;  // the log is moved when it has grown by so much since the last time
  int idle = 1'000;  // the same while nothing waits to be written
  int max = 40'000;  // past it the writer waits a moment for readers
};
inline constexpr int log_frame_bytes = 4096 + 24;

class LogPace {
 public:
  explicit LogPace(LogBounds bounds) : bounds_(bounds) {}

  // Is it time to move what is in the log?
  bool is_due(int frame_count, bool idle) {
    // Fewer than last time: the log was begun anew since.
    if (frame_count < moved_at_) {
      moved_at_ = 0;
      blocked_at_ = -1;
    }
    return frame_count - moved_at_ >= (idle ? bounds_.idle : bounds_.busy);
  }
  // Moved, but for the frames after `moved_count`, which a reader keeps back. Is it worth waiting for readers? Short
  // reads are over within milliseconds. One that kept the log back through a whole wait will do so for long (a backup,
  // an export), and until the log has moved on from there another wait would only keep those who write waiting, too.
  bool should_wait(int frame_count, int moved_count) {
    moved_at_ = frame_count;
    return frame_count > bounds_.max && moved_count != blocked_at_;
  }
  void waited_in_vain(int moved_count) { blocked_at_ = moved_count; }

 private:
  const LogBounds bounds_;
  int moved_at_ = 0;     // how many frames the log had when it was moved last
  int blocked_at_ = -1;  // up to where it had been moved when readers were waited for in vain
};

}  // namespace sluice::store
