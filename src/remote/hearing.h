// One dispatch at one runner, heard to its end through as many connections as that takes.
//
// A connection that breaks is made again, with patience for as long as the runner keeps the dispatch; every line is
// heard once. A runner that does not know of coming back (no Sluice-Dispatch in its answer) is lost with its
// connection.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "harness/envelope.h"
#include "remote/context.h"
#include "remote/mark.h"

namespace sluice::remote {

class HearingListener {
 public:
  virtual ~HearingListener() = default;
  // What one read from the network brought; never nothing. It may drop the Hearing.
  virtual void on_lines(std::vector<harness::Line> lines) = 0;
  // The runner did not take the dispatch. `status` 0: it was not reached, and nothing was begun there.
  virtual void on_refused(int status, std::string why) = 0;
  // This server may not ask there, and nothing was sent.
  virtual void on_forbidden(std::string why) = 0;
  // It had taken it, and nothing more will be heard of it; but it may be at work, if nothing says that it died.
  virtual void on_lost(std::string why) = 0;
  // Another server hears it now.
  virtual void on_taken(std::string why) = 0;
  // What it tells is not understood; it is to be killed there, and who knows what it did.
  virtual void on_nonsense(std::string why) = 0;
};

class Hearing final : private net::CallListener {
 public:
  // `from` says where it goes on. Nothing is asked yet.
  Hearing(std::shared_ptr<Context> context, const Mark& from, HearingListener& listener);

  // One of them, once. Their callbacks never come from inside. With `resumed` only a runner takes it that knows how to
  // go on after what was told.
  void begin(std::string body, const std::string& traceparent, int64_t total_ms_max, bool resumed);
  void go_on();

  // Lines up to this one are on disk. Told to the runner by and by; at once if it waits for that, or it was the last.
  void acknowledge(int64_t line);
  void acknowledge_at_once(int64_t line);
  // Hears no more and has the runner kill it; `gone` when nothing is left of it there, also if it cannot be reached for
  // so long that it has done so by itself.
  void kill(Callback<void()> gone);
  // The same, and nobody waits for it.
  void dismiss();

  // Where it stands.
  int64_t line() const { return lines_.line_count(); }
  const std::vector<std::string>& running() const { return lines_.running(); }
  // It does nothing before it knows that the line which tells of it is on disk.
  bool is_careful() const { return careful_; }
  bool was_interrupted() const { return interrupted_; }

 private:
  void on_head(int status, const net::Headers& headers) override;
  void on_body(std::string_view bytes) override;
  void on_end(net::CallEnd end) override;

  net::ClientRequest request_to(std::string method, const std::string& path) const;
  void hear_refusal(int status);
  void come_back(std::string why);
  void ask_again();
  void send_acknowledgement();
  void ask_to_kill();
  void say_gone();
  bool is_patient() const;
  void lose(std::string why);

  const std::shared_ptr<Context> context_;
  const std::string runner_;
  const bool is_public_only_;
  const std::string dispatch_;
  const std::string reader_;
  HearingListener& listener_;
  harness::LineReader lines_;
  bool resumed_ = false;
  bool careful_ = false;
  bool taken_ = false;        // the runner has said so
  bool can_return_ = false;   // and that it keeps it for a while
  bool posted_ = false;       // it was begun here, and not answered yet
  bool interrupted_ = false;  // heard through more than one connection
  int64_t broke_us_ = 0;      // when the connection did
  int64_t wait_ms_ = 0;       // before the next attempt
  int64_t durable_line_ = 0;  // on disk
  int64_t safe_line_ = 0;     // on disk, and not told to the runner
  Callback<void()> gone_;     // set: it is being killed
  std::unique_ptr<net::Call> call_;
  world::Timer again_;
  world::Timer acknowledging_;
  std::shared_ptr<const char> alive_ = std::make_shared<const char>('\0');
};

}  // namespace sluice::remote
