// What all work on one run has in common, whichever kind of agent carries it out: the events that it emits, without the
// values of secrets; text made of bytes that come in pieces; a clock and a client that stand still while the run is
// suspended.
//
// Everything here is called on the loop's thread. It knows no sandbox session, no tool and no model.
#pragma once

#include <algorithm>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/lifetime.h"
#include "base/time.h"
#include "dispatch/dispatch.h"
#include "model/event.h"
#include "model/model.h"
#include "models/models.h"
#include "net/net.h"
#include "runs/base_url.h"     // IWYU pragma: export
#include "runs/lifeline.h"     // IWYU pragma: export
#include "runs/output_text.h"  // IWYU pragma: export
#include "sandbox/sandbox.h"
#include "vault/vault.h"
#include "workspace/workspace.h"
#include "world/world.h"

namespace sluice::runs {

// ── text on its way out of a run, without the values of the run's secrets ──
// Where there are none, it is handed through.

// Shared with the engine, which replaces them, and with every event output: a sandbox's processes may outlive the run.
using SharedSecrets = std::shared_ptr<const vault::Secrets>;

// One stream, in pieces: what may be the beginning of a value is held back.
class ScrubbedText {
 public:
  // Null: there are none. Those that come while the text flows count from then on.
  explicit ScrubbedText(SharedSecrets secrets) : secrets_(std::move(secrets)) {}

  // What can be emitted now; perhaps nothing.
  std::string push(std::string piece);
  // The rest. What is pushed after it is another text.
  std::string finish();

 private:
  const SharedSecrets secrets_;
  std::shared_ptr<const vault::Scrubber> scrubber_;  // shared, because it is of many secrets
  std::optional<vault::ScrubStream> stream_;         // empty: there is nothing to look for
};

// A whole text.
std::string scrubbed(const SharedSecrets& secrets, std::string text);
// JSON whose strings are scrubbed, also the names of members but for those of the outermost object, which are ours.
// What is no JSON is scrubbed as text.
std::string scrubbed_json(const SharedSecrets& secrets, std::string text);

// ── events ──

// What a resumed run has emitted before, and must not emit again.
class Replay {
 public:
  Replay() = default;
  Replay(std::string emitted_text, std::string emitted_reasoning)
      : text_{std::move(emitted_text)}, reasoning_{std::move(emitted_reasoning)} {}

  // The part of `delta` that was not emitted before; none at all when the model does not say again
  // what it said.
  std::optional<std::string_view> text(std::string_view delta) { return text_.skip(delta); }
  std::optional<std::string_view> reasoning(std::string_view delta) { return reasoning_.skip(delta); }

  // The model has said again everything that was emitted before.
  bool is_over() const { return text_.is_over() && reasoning_.is_over(); }

 private:
  struct Emitted {
    std::string bytes;
    std::size_t repeated = 0;

    bool is_over() const { return repeated == bytes.size(); }
    std::optional<std::string_view> skip(std::string_view delta) {
      const std::size_t known = std::min(delta.size(), bytes.size() - repeated);
      if (bytes.compare(repeated, known, delta.substr(0, known)) != 0) return std::nullopt;
      repeated += known;
      return delta.substr(known);
    }
  };
  Emitted text_;
  Emitted reasoning_;
};

// The events of a run, in order and without the values of secrets.
//
// Words of the model (text, reasoning, filler) are streams: what may be the beginning of a value waits for more, but
// never longer than until another event comes.
class EventOutput {
 public:
  // `loop` and `listener` must outlive this. The listener may drop this whenever it is
  // called.
  EventOutput(world::Loop& loop, SharedSecrets secrets, dispatch::DispatchListener& listener);

  // What was emitted before a restart, and is not emitted again.
  void skip(Replay replay) { replay_ = std::move(replay); }
  const Replay& replay() const { return replay_; }
  // The model did not say again what it said.
  bool has_diverged() const { return has_diverged_; }

  void speak(model::EventKind kind, std::string text);
  void emit(const model::EventData& event);
  void emit_phase(std::string_view phase, std::string_view words, int64_t duration_ms);
  // Emits what was held back: no more of its stream comes for now.
  void flush();

  // While the run waits for a human, events are kept, and go_on() emits them in their order.
  void pause() { is_paused_ = true; }
  void go_on();

  std::string scrubbed(std::string text) const { return runs::scrubbed(secrets_, std::move(text)); }

 private:
  void say(model::EventKind kind, std::string text);
  void give(model::RunEvent event);

  world::Loop& loop_;
  const SharedSecrets secrets_;
  dispatch::DispatchListener& listener_;
  Replay replay_;
  bool has_diverged_ = false;
  std::optional<model::EventKind> speaking_;  // whose words `words_` may hold back
  ScrubbedText words_;
  bool is_paused_ = false;
  std::vector<model::RunEvent> waiting_;
  Lifetime lifetime_;
};

// ── the events that several parts of a run report: about tools, files, and lines for the trace ──

// The outcome of a call of a tool, as the model is shown it.
struct ToolAnswer {
  std::string text;
  bool failed = false;
};

// Long arguments are shortened, because a file that is written need not be reported twice.
model::events::Step step_running(std::string_view id, const models::ToolCall& call);
model::events::Step step_ended(std::string_view id, std::string_view name, const ToolAnswer& answer,
                               int64_t duration_ms);
model::events::Output printed(std::string_view id, sandbox::Stream stream, std::string_view text);
model::events::Log log_line(std::string_view level, std::string_view text);  // valid UTF-8
model::events::File file_event(const workspace::FileNews& news, Timestamp at);
model::events::Custom custom_event(std::string_view name, std::string_view value);  // `value`: JSON
model::events::Custom assets_event(const std::vector<dispatch::KeptAsset>& files);  // returned and kept
model::events::Diff diff_event(std::string_view diff);
// What the run alone changed, where the diff of the whole workspace has more or less in it.
model::events::Custom run_diff_event(std::string_view diff);
model::events::Custom overflow_event();
// So many changes of files were not reported one by one.
model::events::Custom more_files_event(int64_t count);

// ── a clock and an HTTP client of one run, which stand still while the run is suspended ──

// Time as it counts for the run. While it stands still no timer is due; what is deferred or posted comes all the same.
class RunClock final : public world::Loop, private world::Timer::Keeper {
 public:
  explicit RunClock(world::Loop& loop) : loop_(loop) {}

  Timestamp now() const override { return loop_.now(); }
  int64_t monotonic_us() const override { return (is_still_ ? still_from_us_ : loop_.monotonic_us()) - still_us_; }
  world::Timer after(Millis delay, Callback<void()> then) override;
  void defer(Callback<void()> then) override { loop_.defer(std::move(then)); }
  void post(Callback<void()> then) override { loop_.post(std::move(then)); }

  void stand_still(bool still);
  bool stands_still() const { return is_still_; }

 private:
  struct Waiting {
    int64_t due_us;  // by this clock
    Callback<void()> then;
    world::Timer timer;  // not set while it stands still
  };
  void forget(uint64_t ticket) override { waiting_.erase(ticket); }
  void watch(uint64_t ticket, Waiting& waiting);

  world::Loop& loop_;
  bool is_still_ = false;
  int64_t still_from_us_ = 0;
  int64_t still_us_ = 0;  // altogether, before that
  uint64_t next_ticket_ = 1;
  std::map<uint64_t, Waiting> waiting_;
};

// Requests of models' providers, webhooks and servers of MCP. While they are held none is begun; those under way are
// heard to their end.
class RunClient final : public net::Client {
 public:
  explicit RunClient(net::Client& client) : client_(client) {}

  std::unique_ptr<net::Call> call(net::ClientRequest request, net::CallListener& listener) override;

  void hold(bool held);

 private:
  class HeldCall;

  net::Client& client_;
  bool is_held_ = false;
  std::list<HeldCall*> waiting_;  // in order
};

}  // namespace sluice::runs
