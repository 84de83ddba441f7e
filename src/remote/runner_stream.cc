#include "remote/runner_stream.h"

#include <algorithm>
#include <utility>
#include "base/json.h"
#include "net/net.h"

namespace sluice::remote {

std::string to_json(const Mark& mark) {
  std::string out;
  json::Writer writer(out);
  writer.begin_object().key("runner").string(mark.runner).key("execution").string(mark.execution);
  writer.key("line").integer(mark.line);
  if (mark.begun) writer.key("begun").boolean(true);
  if (mark.careful) writer.key("careful").boolean(true);
  if (mark.losses > 0) writer.key("losses").integer(mark.losses);
  if (mark.last) writer.key("last").boolean(true);
  if (!mark.steps.empty()) {
    writer.key("steps").begin_array();
    for (const auto& step : mark.steps) writer.string(step);
    writer.end_array();
  }
  writer.end_object();
  return out;
}

std::optional<Mark> read_mark(std::string_view text) {
  const auto document = json::Document::parse(text);
  if (!document || document.value().root().kind() != json::Kind::object) return std::nullopt;
  const auto root = document.value().root();
  const auto text_of = [&](std::string_view name) {
    const auto value = root.find(name);
    return std::string(value ? value->string().value_or("") : "");
  };
  Mark mark{.runner = text_of("runner"), .execution = text_of("execution")};
  const auto line = root.find("line");
  const auto number = line ? line->integer() : std::nullopt;
  if (mark.execution.empty() || !number || *number < 0 || !net::is_plain_url(mark.runner)) return std::nullopt;
  mark.line = *number;
  const auto flag = [&](std::string_view name) {
    const auto value = root.find(name);
    return value && value->boolean().value_or(false);
  };
  mark.begun = flag("begun");
  mark.careful = flag("careful");
  mark.last = flag("last");
  if (const auto losses = root.find("losses")) mark.losses = static_cast<int>(losses->integer().value_or(0));
  if (const auto steps = root.find("steps"); steps && steps->kind() == json::Kind::array) {
    steps->each_element([&](json::Value step) { mark.steps.emplace_back(step.string().value_or("")); });
  }
  return mark;
}

namespace {

constexpr int64_t wait_first_ms = 100;
constexpr int64_t wait_ms_max = 2'000;
constexpr Millis acknowledge_every{1'000};
constexpr int64_t request_ms_max = 10'000;
constexpr Millis unanswered_max{10'000};  // for a post, while the dispatch is to be killed
constexpr int64_t kill_ms_max = 30'000;   // the runner answers when nothing is left

// A tenant named it, and no rule of the operator does.
bool is_public_only(const RemoteOptions& options, const std::string& runner) {
  const bool is_own = std::ranges::find(options.runner_urls, runner) != options.runner_urls.end();
  return !is_own && net::reach_of(runner, options.named_urls) != net::Reach::anywhere;
}

}  // namespace

RunnerStream::RunnerStream(std::shared_ptr<Context> context, const Mark& from, RunnerStreamListener& listener)
    : context_(std::move(context)),
      runner_(from.runner),
      is_public_only_(is_public_only(context_->options, runner_)),
      dispatch_(from.execution),
      reader_(context_->needs.ids.make<model::RequestId>().text()),
      listener_(listener),
      lines_(from.line, from.steps),
      careful_(from.careful),
      durable_line_(from.line) {}

net::ClientRequest RunnerStream::request_to(std::string method, const std::string& path) const {
  const auto& options = context_->options;
  net::ClientRequest request{.method = std::move(method),
                             .url = runner_ + path,
                             .headers = {{std::string(dispatch::reader_header), reader_}},
                             .public_addresses_only = is_public_only_,
                             .connect_ms_max = options.connect_ms_max};
  if (!options.runner_key.empty()) request.headers.add("Authorization", "Bearer " + options.runner_key);
  return request;
}

void RunnerStream::begin(std::string body, const std::string& traceparent, int64_t total_ms_max, bool resumed) {
  resumed_ = resumed;
  auto request = request_to(
      "POST", std::string(dispatch::stream_path) +
                  "?profile=" + std::string(resumed ? dispatch::resumed_profile : std::string_view("extended")));
  request.headers.add("Content-Type", "application/json");
  request.headers.add("Accept", "application/x-ndjson");
  request.headers.add(dispatch::reattach_header, std::to_string(context_->options.reattach_ms / 1000));
  request.headers.add(dispatch::dispatch_header, dispatch_);
  request.headers.add(dispatch::careful_header, "1");
  if (!traceparent.empty()) request.headers.add("traceparent", traceparent);
  request.body = std::move(body);
  request.idle_ms_max = context_->options.silence_ms_max;
  request.total_ms_max = total_ms_max;
  posted_ = true;
  call_ = context_->needs.client.call(std::move(request), *this);
}

void RunnerStream::resume() {
  taken_ = true;
  can_return_ = true;
  reconnect("");
}

// ── what comes ──────────────────────────────────────────────────────────────────────────────────

void RunnerStream::on_head(int status, const net::Headers& headers) {
  if (status != 200) return on_refusal(status);
  if (!posted_) context_->reattached.add();
  posted_ = false;
  taken_ = true;
  can_return_ = headers.find(dispatch::dispatch_header) == dispatch_;
  careful_ = can_return_ && headers.find(dispatch::careful_header).has_value();
  broke_us_ = 0;
  wait_ms_ = 0;
  if (gone_) return ask_to_kill();
  // It may wait for what was said when the connection, or the server, broke.
  if (interrupted_ && durable_line_ > 0) acknowledge_at_once(durable_line_);
  if (!resumed_ || careful_) return;
  // A runner that has no names for dispatches ignores profiles too. The dispatch ends with its connection, before it
  // sent a line.
  dismiss();
  listener_.on_refused(status, "it cannot continue a partial answer");
}

void RunnerStream::on_refusal(int status) {
  call_.reset();
  const auto words = "status " + std::to_string(status);
  if (gone_) return posted_ ? report_gone() : ask_to_kill();
  if (posted_) return listener_.on_refused(status, words);
  if (status == 404 && !taken_) return listener_.on_refused(0, "it did not come to begin");
  if (status == 404) return lose("it does not know the dispatch any more");
  if (status == 409) return listener_.on_taken("Another server reads the dispatch at " + runner_ + " now.");
  // Also when it refuses the key: it is at work until it gives the dispatch up by itself.
  reconnect(words);
}

void RunnerStream::on_body(std::string_view bytes) {
  if (gone_) return;
  auto lines = lines_.feed(bytes);
  if (!lines) {
    dismiss();
    return listener_.on_nonsense("The runner's lines are not understood: " + lines.error().what + ".");
  }
  if (!lines.value().empty()) listener_.on_lines(std::move(lines).take());
}

void RunnerStream::on_end(net::CallEnd end) {
  call_.reset();
  const bool is_forbidden = end.failure == net::CallFailure::refused;
  const bool unsent = posted_ && (is_forbidden || end.failure == net::CallFailure::unreachable);
  if (gone_) return unsent ? report_gone() : ask_to_kill();
  if (lines_.end()) return;  // every line was read
  if (is_forbidden) return unsent ? listener_.on_forbidden(end.what) : lose(end.what);
  const auto why = end.failure ? end.what : "the lines ended before the result";
  if (unsent) return listener_.on_refused(0, why);
  if (posted_) taken_ = false;  // unknown: the next attempt decides
  if (taken_ && !can_return_) return lose(why);
  reconnect(why);
}

// ── coming back ─────────────────────────────────────────────────────────────────────────────────

bool RunnerStream::is_patient() const {
  return context_->needs.loop.monotonic_us() - broke_us_ < context_->options.reattach_ms * 1000;
}

void RunnerStream::reconnect(std::string why) {
  const auto& needs = context_->needs;
  call_.reset();
  posted_ = false;
  interrupted_ = true;
  lines_.forget_partial();
  if (broke_us_ == 0) broke_us_ = needs.loop.monotonic_us();
  if (!is_patient()) return lose(std::move(why));
  needs.log.write(world::LogLevel::info, "re-attaching to the runner",
                  {{"runner", runner_}, {"dispatch", dispatch_}, {"line", line()}, {"why", why}});
  again_ = needs.loop.after({wait_ms_}, [this] { attach_again(); });
  wait_ms_ = std::clamp(wait_ms_ * 2, wait_first_ms, wait_ms_max);
}

void RunnerStream::attach_again() {
  auto request = request_to("GET", dispatch::dispatch_path(dispatch_) + "?after=" + std::to_string(line()));
  request.idle_ms_max = context_->options.silence_ms_max;
  request.total_ms_max = 0;
  call_ = context_->needs.client.call(std::move(request), *this);
}

void RunnerStream::lose(std::string why) {
  call_.reset();
  again_.cancel();
  if (taken_) return listener_.on_lost("The runner at " + runner_ + " was lost: " + why + ".");
  listener_.on_refused(0, std::move(why));
}

// ── requests to the runner ──────────────────────────────────────────────────────────────────────

void RunnerStream::acknowledge(int64_t line) {
  durable_line_ = std::max(line, durable_line_);
  const bool waiting = std::exchange(safe_line_, std::max(line, safe_line_)) != 0;
  if (waiting || !can_return_) return;
  acknowledging_ = context_->needs.loop.after(acknowledge_every, [this] { send_acknowledgement(); });
}

void RunnerStream::acknowledge_at_once(int64_t line) {
  acknowledging_.cancel();
  durable_line_ = safe_line_ = std::max(line, durable_line_);
  if (can_return_) send_acknowledgement();
}

// A lost acknowledgement is sent again, because the runner may wait for it. If the last one is lost, the runner drops
// the lines after a while.
void RunnerStream::send_acknowledgement() {
  auto request = request_to("POST", dispatch::dispatch_path(dispatch_) + std::string(dispatch::acknowledge_suffix));
  request.headers.add("Content-Type", "application/json");
  request.body = dispatch::acknowledgement_body(std::exchange(safe_line_, 0));
  request.total_ms_max = request_ms_max;
  context_->requests.send(std::move(request), lifetime_.guard([this](const RunnerAnswer& answer) {
    const bool is_lost = answer.status == 0 || answer.status == 408 || answer.status == 429 || answer.status >= 500;
    if (is_lost && call_ && !gone_) acknowledge(durable_line_);
  }));
}

void RunnerStream::kill(Callback<void()> gone) {
  gone_ = std::move(gone);
  again_.cancel();
  acknowledging_.cancel();
  // Before the runner has answered, it may not have begun and would not know the dispatch. If it begins afterwards, the
  // tokens of a cancelled run are invalid.
  if (posted_ && call_) {
    again_ = context_->needs.loop.after(unanswered_max, [this] { ask_to_kill(); });
    return;
  }
  ask_to_kill();
}

void RunnerStream::dismiss() {
  call_.reset();
  auto request = request_to("DELETE", dispatch::dispatch_path(dispatch_));
  request.total_ms_max = kill_ms_max;
  if (can_return_) context_->requests.send(std::move(request));
}

void RunnerStream::report_gone() {
  again_.cancel();
  context_->needs.loop.defer(lifetime_.guard(std::move(gone_)));
}

void RunnerStream::ask_to_kill() {
  const bool dies_alone = taken_ && !can_return_;
  again_.cancel();
  call_.reset();
  if (broke_us_ == 0) broke_us_ = context_->needs.loop.monotonic_us();
  if (dies_alone || !is_patient()) return report_gone();
  auto request = request_to("DELETE", dispatch::dispatch_path(dispatch_));
  request.total_ms_max = kill_ms_max;
  context_->requests.send(std::move(request), lifetime_.guard([this](const RunnerAnswer& answer) {
    // 404: nothing is left. 409: the dispatch belongs to another reader.
    if (answer.status == 204 || answer.status == 404 || answer.status == 409) return report_gone();
    wait_ms_ = std::clamp(wait_ms_ * 2, wait_first_ms, wait_ms_max);
    again_ = context_->needs.loop.after({wait_ms_}, [this] { ask_to_kill(); });
  }));
}

}  // namespace sluice::remote
