// Reads the lines of one dispatch at one runner to the end, through as many connections as that takes. Used on the
// loop's thread.
//
// A broken connection is made again for as long as the runner keeps the dispatch, and every line is delivered once. A
// runner that cannot be re-attached to (no Sluice-Dispatch in its answer) is lost with its connection.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/lifetime.h"
#include "dispatch/envelope.h"
#include "remote/fleet.h"
#include "remote/remote.h"

namespace sluice::remote {

// What all work of one dispatcher has in common.
struct Context {
  Context(RemoteNeeds its_needs, RemoteOptions its_options)
      : needs(its_needs),
        options(std::move(its_options)),
        requests(needs.client, needs.loop),
        fleet(options.runner_urls, requests, needs.loop, needs.log, needs.metrics) {}

  const RemoteNeeds needs;
  const RemoteOptions options;
  RunnerRequests requests;
  Fleet fleet;
  world::Counter& reattached =
      needs.metrics.counter("sluice_runner_reattached_total", "Connections to runners that broke and were made again.");
  world::Counter& lost = needs.metrics.counter("sluice_runner_lost_total", "Dispatches lost with their runner.");
  world::Counter& started_elsewhere =
      needs.metrics.counter("sluice_runner_begun_anew_total", "Lost dispatches that another runner was given.");
};

// The position up to which the lines of a runner are in the journal of a run. It is written after those lines, and the
// server that continues the run reads on from there.
struct Mark {
  std::string runner;              // its URL
  std::string execution;           // the dispatch, as the runner calls it
  int64_t line = 0;                // all lines up to this one are in the journal
  bool begun = false;              // an effect besides text was reported, so no other runner can do the rest
  bool careful = false;            // nothing is done there before the server has written that it begins
  int losses = 0;                  // of runners that had it before
  bool last = false;               // the line after it was the last, and the run's end is written along with this
  std::vector<std::string> steps;  // ids of those that were running

  friend bool operator==(const Mark&, const Mark&) = default;
};

std::string to_json(const Mark& mark);
// Empty if the text is not a mark.
std::optional<Mark> read_mark(std::string_view text);

class RunnerStreamListener {
 public:
  virtual ~RunnerStreamListener() = default;
  // The lines of one read from the network; never empty. The listener may destroy the RunnerStream.
  virtual void on_lines(std::vector<dispatch::Line> lines) = 0;
  // The runner did not accept the dispatch. `status` 0: it was not reached, and nothing was begun there.
  virtual void on_refused(int status, std::string why) = 0;
  // This server may not send requests to that address; nothing was sent.
  virtual void on_forbidden(std::string why) = 0;
  // The runner had accepted it and cannot be reached any more. It may still be at work.
  virtual void on_lost(std::string why) = 0;
  // Another server reads the dispatch now.
  virtual void on_taken(std::string why) = 0;
  // A line could not be parsed. The dispatch should be killed; what it did is unknown.
  virtual void on_nonsense(std::string why) = 0;
};

class RunnerStream final : private net::CallListener {
 public:
  // `from` is the position to continue from. Sends nothing yet.
  RunnerStream(std::shared_ptr<Context> context, const Mark& from, RunnerStreamListener& listener);

  // Call one of these once; callbacks never come from inside. With `resumed`, only a runner that can continue a partial
  // answer accepts the dispatch.
  void begin(std::string body, const std::string& traceparent, int64_t total_ms_max, bool resumed);
  void resume();

  // Lines up to this one are on disk. The runner is informed soon; at once if it waits for that or if it was the last
  // line.
  void acknowledge(int64_t line);
  void acknowledge_at_once(int64_t line);
  // Stops reading and has the runner kill the dispatch. Calls `gone` when nothing is left of it, also if the runner
  // cannot be reached for so long that it has killed the dispatch by itself.
  void kill(Callback<void()> gone);
  // Kills the dispatch without waiting for the end.
  void dismiss();

  // The number of the last line that was read.
  int64_t line() const { return lines_.line_count(); }
  const std::vector<std::string>& running() const { return lines_.running(); }
  // Whether the runner waits before each step until the line about it is on disk.
  bool is_careful() const { return careful_; }
  bool was_interrupted() const { return interrupted_; }

 private:
  void on_head(int status, const net::Headers& headers) override;
  void on_body(std::string_view bytes) override;
  void on_end(net::CallEnd end) override;

  net::ClientRequest request_to(std::string method, const std::string& path) const;
  void on_refusal(int status);
  void reconnect(std::string why);
  void attach_again();
  void send_acknowledgement();
  void ask_to_kill();
  void report_gone();
  bool is_patient() const;
  void lose(std::string why);

  const std::shared_ptr<Context> context_;
  const std::string runner_;
  const bool is_public_only_;
  const std::string dispatch_;
  const std::string reader_;
  RunnerStreamListener& listener_;
  dispatch::LineReader lines_;
  bool resumed_ = false;
  bool careful_ = false;
  bool taken_ = false;        // the runner has accepted it
  bool can_return_ = false;   // and keeps it for re-attaching
  bool posted_ = false;       // posted, but not answered yet
  bool interrupted_ = false;  // read through more than one connection
  int64_t broke_us_ = 0;      // when the connection broke
  int64_t wait_ms_ = 0;       // before the next attempt
  int64_t durable_line_ = 0;  // on disk
  int64_t safe_line_ = 0;     // on disk, but not acknowledged to the runner
  Callback<void()> gone_;     // set: the dispatch is being killed
  std::unique_ptr<net::Call> call_;
  world::Timer again_;
  world::Timer acknowledging_;
  Lifetime lifetime_;
};

}  // namespace sluice::remote
