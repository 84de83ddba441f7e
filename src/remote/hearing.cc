#include "remote/hearing.h"

#include <algorithm>
#include <utility>

namespace sluice::remote {
namespace {

constexpr int64_t wait_first_ms = 100;
constexpr int64_t wait_ms_max = 2'000;
constexpr Millis acknowledge_every{1'000};
constexpr int64_t errand_ms_max = 10'000;
constexpr Millis unanswered_max{10'000};  // for a post, while the dispatch is to be killed
constexpr int64_t kill_ms_max = 30'000;   // the runner answers when nothing is left

// A tenant named it, and no rule of the operator does.
bool is_public_only(const RemoteOptions& options, const std::string& runner) {
  const bool is_own = std::ranges::find(options.runner_urls, runner) != options.runner_urls.end();
  return !is_own && net::reach_of(runner, options.named_urls) != net::Reach::anywhere;
}

}  // namespace

Hearing::Hearing(std::shared_ptr<Context> context, const Mark& from, HearingListener& listener)
    : context_(std::move(context)),
      runner_(from.runner),
      is_public_only_(is_public_only(context_->options, runner_)),
      dispatch_(from.execution),
      reader_(context_->needs.ids.make<model::RequestId>().text()),
      listener_(listener),
      lines_(from.line, from.steps),
      careful_(from.careful),
      durable_line_(from.line) {}

net::ClientRequest Hearing::request_to(std::string method, const std::string& path) const {
  const auto& options = context_->options;
  net::ClientRequest request{.method = std::move(method),
                             .url = runner_ + path,
                             .headers = {{std::string(harness::reader_header), reader_}},
                             .public_addresses_only = is_public_only_,
                             .connect_ms_max = options.connect_ms_max};
  if (!options.runner_key.empty()) request.headers.add("Authorization", "Bearer " + options.runner_key);
  return request;
}

void Hearing::begin(std::string body, const std::string& traceparent, int64_t total_ms_max, bool resumed) {
  resumed_ = resumed;
  auto request = request_to(
      "POST", "/stream?profile=" + std::string(resumed ? harness::resumed_profile : std::string_view("extended")));
  request.headers.add("Content-Type", "application/json");
  request.headers.add("Accept", "application/x-ndjson");
  request.headers.add(harness::reattach_header, std::to_string(context_->options.reattach_ms / 1000));
  request.headers.add(harness::dispatch_header, dispatch_);
  request.headers.add(harness::careful_header, "1");
  if (!traceparent.empty()) request.headers.add("traceparent", traceparent);
  request.body = std::move(body);
  request.idle_ms_max = context_->options.silence_ms_max;
  request.total_ms_max = total_ms_max;
  posted_ = true;
  call_ = context_->needs.client.call(std::move(request), *this);
}

void Hearing::go_on() {
  taken_ = true;
  can_return_ = true;
  come_back("");
}

// ── what comes ──────────────────────────────────────────────────────────────────────────────────

void Hearing::on_head(int status, const net::Headers& headers) {
  if (status != 200) return hear_refusal(status);
  if (!posted_) context_->reattached.add();
  posted_ = false;
  taken_ = true;
  can_return_ = headers.find(harness::dispatch_header) == dispatch_;
  careful_ = can_return_ && headers.find(harness::careful_header).has_value();
  broke_us_ = 0;
  wait_ms_ = 0;
  if (gone_) return ask_to_kill();
  // It may wait for what was said when the connection, or the server, broke.
  if (interrupted_ && durable_line_ > 0) acknowledge_at_once(durable_line_);
  if (!resumed_ || careful_) return;
  // Whoever knows no dispatches by name knows no profiles either. It dies with its connection, before it told anything.
  dismiss();
  listener_.on_refused(status, "it does not know how to go on after what was told");
}

void Hearing::hear_refusal(int status) {
  call_.reset();
  const auto words = "status " + std::to_string(status);
  if (gone_) return posted_ ? say_gone() : ask_to_kill();
  if (posted_) return listener_.on_refused(status, words);
  if (status == 404 && !taken_) return listener_.on_refused(0, "it did not come to begin");
  if (status == 404) return lose("it does not know the dispatch any more");
  if (status == 409) return listener_.on_taken("Another server hears the dispatch at " + runner_ + " now.");
  // Also when it refuses the key: it is at work until it gives the dispatch up by itself.
  come_back(words);
}

void Hearing::on_body(std::string_view bytes) {
  if (gone_) return;
  auto lines = lines_.feed(bytes);
  if (!lines) {
    dismiss();
    return listener_.on_nonsense("The runner's lines are not understood: " + lines.error().what + ".");
  }
  if (!lines.value().empty()) listener_.on_lines(std::move(lines).take());
}

void Hearing::on_end(net::CallEnd end) {
  call_.reset();
  const bool is_forbidden = end.failure == net::CallFailure::refused;
  const bool unheard = posted_ && (is_forbidden || end.failure == net::CallFailure::unreachable);
  if (gone_) return unheard ? say_gone() : ask_to_kill();
  if (lines_.end()) return;  // all of it was heard
  if (is_forbidden) return unheard ? listener_.on_forbidden(end.what) : lose(end.what);
  const auto why = end.failure ? end.what : "the lines ended before the result";
  if (unheard) return listener_.on_refused(0, why);
  if (posted_) taken_ = false;  // or not: whoever asks will hear
  if (taken_ && !can_return_) return lose(why);
  come_back(why);
}

// ── coming back ─────────────────────────────────────────────────────────────────────────────────

bool Hearing::is_patient() const {
  return context_->needs.loop.monotonic_us() - broke_us_ < context_->options.reattach_ms * 1000;
}

void Hearing::come_back(std::string why) {
  const auto& needs = context_->needs;
  call_.reset();
  posted_ = false;
  interrupted_ = true;
  lines_.forget_partial();
  if (broke_us_ == 0) broke_us_ = needs.loop.monotonic_us();
  if (!is_patient()) return lose(std::move(why));
  needs.log.write(world::LogLevel::info, "runner asked to go on",
                  {{"runner", runner_}, {"dispatch", dispatch_}, {"line", line()}, {"why", why}});
  again_ = needs.loop.after({wait_ms_}, [this] { ask_again(); });
  wait_ms_ = std::clamp(wait_ms_ * 2, wait_first_ms, wait_ms_max);
}

void Hearing::ask_again() {
  auto request = request_to("GET", "/stream/" + dispatch_ + "?after=" + std::to_string(line()));
  request.idle_ms_max = context_->options.silence_ms_max;
  request.total_ms_max = 0;
  call_ = context_->needs.client.call(std::move(request), *this);
}

void Hearing::lose(std::string why) {
  call_.reset();
  again_.cancel();
  if (taken_) return listener_.on_lost("The runner at " + runner_ + " was lost: " + why + ".");
  listener_.on_refused(0, std::move(why));
}

// ── what the runner is told ─────────────────────────────────────────────────────────────────────

void Hearing::acknowledge(int64_t line) {
  durable_line_ = std::max(line, durable_line_);
  const bool waiting = std::exchange(safe_line_, std::max(line, safe_line_)) != 0;
  if (waiting || !can_return_) return;
  acknowledging_ = context_->needs.loop.after(acknowledge_every, [this] { send_acknowledgement(); });
}

void Hearing::acknowledge_at_once(int64_t line) {
  acknowledging_.cancel();
  durable_line_ = safe_line_ = std::max(line, durable_line_);
  if (can_return_) send_acknowledgement();
}

// One that is lost is sent again, as the runner may wait for it; the last one, when nobody is left to do that, is made
// up for by time.
void Hearing::send_acknowledgement() {
  auto request = request_to("POST", "/stream/" + dispatch_ + "/ack");
  request.headers.add("Content-Type", "application/json");
  request.body = "{\"line\":" + std::to_string(std::exchange(safe_line_, 0)) + "}";
  request.total_ms_max = errand_ms_max;
  context_->errands.send(std::move(request), [this, alive = std::weak_ptr(alive_)](const ErrandAnswer& answer) {
    const bool is_lost = answer.status == 0 || answer.status == 408 || answer.status == 429 || answer.status >= 500;
    if (!alive.expired() && is_lost && call_ && !gone_) acknowledge(durable_line_);
  });
}

void Hearing::kill(Callback<void()> gone) {
  gone_ = std::move(gone);
  again_.cancel();
  acknowledging_.cancel();
  // Before the runner has answered it may not have begun, and would not know what to kill. If it begins what nobody
  // waits for any more, the tokens of a cancelled run open nothing.
  if (posted_ && call_) {
    again_ = context_->needs.loop.after(unanswered_max, [this] { ask_to_kill(); });
    return;
  }
  ask_to_kill();
}

void Hearing::dismiss() {
  call_.reset();
  auto request = request_to("DELETE", "/stream/" + dispatch_);
  request.total_ms_max = kill_ms_max;
  if (can_return_) context_->errands.send(std::move(request));
}

void Hearing::say_gone() {
  again_.cancel();
  context_->needs.loop.defer([alive = std::weak_ptr(alive_), gone = std::move(gone_)]() mutable {
    if (!alive.expired()) gone();
  });
}

void Hearing::ask_to_kill() {
  const bool dies_alone = taken_ && !can_return_;
  again_.cancel();
  call_.reset();
  if (broke_us_ == 0) broke_us_ = context_->needs.loop.monotonic_us();
  if (dies_alone || !is_patient()) return say_gone();
  auto request = request_to("DELETE", "/stream/" + dispatch_);
  request.total_ms_max = kill_ms_max;
  context_->errands.send(std::move(request), [this, alive = std::weak_ptr(alive_)](const ErrandAnswer& answer) {
    if (alive.expired()) return;
    // 404: nothing is left. 409: it is somebody else's now.
    if (answer.status == 204 || answer.status == 404 || answer.status == 409) return say_gone();
    wait_ms_ = std::clamp(wait_ms_ * 2, wait_first_ms, wait_ms_max);
    again_ = context_->needs.loop.after({wait_ms_}, [this] { ask_to_kill(); });
  });
}

}  // namespace sluice::remote
