#include "remote/remote_work.h"

#include <utility>

#include "base/digest.h"
#include "base/json.h"
#include "base/limits.h"

namespace sluice::remote {
namespace {

using model::EventKind;
using model::Slug;

constexpr int64_t settling_ms_max = 120'000;  // more than a run may take: bootstrap, the grace, files written back

std::string stream_body(const Minted& minted, const harness::Dispatch& dispatch) {
  std::string body;
  json::Writer writer(body);
  writer.begin_object().key("agent_url").string(minted.agent_url);
  writer.key("otp_setup").string(minted.otp_setup).key("otp_run").string(minted.otp_run);
  if (dispatch.supplies && dispatch.supplies->wants_assets()) writer.key("otp_upload").string(minted.otp_upload);
  writer.key("prompt").string(dispatch.prompt).end_object();
  return body;
}

std::vector<std::string> runners_for(const harness::Dispatch& dispatch, const RemoteOptions& options) {
  auto named = dispatch.extras.sandbox_url;
  while (named.ends_with('/')) named.pop_back();
  return named.empty() ? options.runner_urls : std::vector{std::move(named)};
}

bool is_debug(const model::RunEvent& event) {
  return event.kind == EventKind::log && event.body.starts_with(R"({"level":"debug")");
}

}  // namespace

model::Problem problem_of(const harness::ErrorLine& line) {
  for (const auto& entry : model::problem_registry()) {
    if (harness::code_of(entry.name) == line.code) return {.slug = entry.slug, .detail = line.message};
  }
  const auto slug = line.code == "agent_type_unsupported" ? Slug::agent_misconfigured
                    : line.code.starts_with("model_")     ? Slug::model_error
                                                          : Slug::sandbox_failed;
  return {.slug = slug, .detail = line.code + ": " + line.message};
}

RemoteWork::RemoteWork(std::shared_ptr<const Context> context, harness::Dispatch dispatch,
                       harness::DispatchListener& listener, std::size_t first)
    : context_(std::move(context)),
      dispatch_(std::move(dispatch)),
      listener_(listener),
      runner_urls_(runners_for(dispatch_, context_->options)),
      first_(first) {
  const bool can_be_carried = dispatch_.told_text.empty() && !runner_urls_.empty();
  can_be_carried ? try_runner() : give_up();
}

void RemoteWork::give_up() {
  context_->needs.loop.defer([this, alive = std::weak_ptr(alive_)] {
    if (alive.expired() || over_) return;
    // What a runner did before this server restarted is gone with its box.
    if (!runner_urls_.empty()) return fail(Slug::run_interrupted, "The server restarted while a runner worked on it.");
    fail(Slug::runner_unavailable, "No runner is configured, and none was named.");
  });
}

// The connection's end is all the proof there is: the runner kills the box when its caller leaves.
void RemoteWork::stop(Callback<void()> gone) {
  over_ = true;
  call_.reset();
  context_->needs.loop.defer([alive = std::weak_ptr(alive_), gone = std::move(gone)]() mutable {
    if (!alive.expired()) gone();
  });
}

const std::string& RemoteWork::runner_url() const { return runner_urls_[(first_ + tried_) % runner_urls_.size()]; }

void RemoteWork::try_runner() {
  const auto& needs = context_->needs;
  auto minted = std::make_shared<const Minted>(
      mint(dispatch_, dispatch_.agent.tenant_id, context_->options.mint, needs.ids, needs.entropy, needs.loop.now()));
  needs.store.create_execution(minted->execution, sha256(minted->bearer), minted->hashed,
                               [this, minted, alive = std::weak_ptr(alive_)](Result<Unit> made) {
                                 if (alive.expired() || over_) return;
                                 if (!made) return fail(Slug::unavailable, "The dispatch's tokens could not be kept.");
                                 tell_minted(*minted);
                                 if (!alive.expired() && !over_) post(*minted);
                               });
}

void RemoteWork::tell_minted(const Minted& minted) {
  const auto now = context_->needs.loop.now();
  listener_.on_event(harness::phase_event("mint", "Tokens minted for " + minted.execution.id.text(),
                                          now.ms - minted.execution.created_at.ms, now));
}

void RemoteWork::post(const Minted& minted) {
  const auto& options = context_->options;
  net::ClientRequest request{.method = "POST",
                             .url = runner_url() + "/stream?profile=extended",
                             .headers = {{"Content-Type", "application/json"}, {"Accept", "application/x-ndjson"}},
                             .body = stream_body(minted, dispatch_),
                             .connect_ms_max = options.connect_ms_max,
                             .idle_ms_max = options.silence_ms_max,
                             .total_ms_max = dispatch_.agent.limits.max_runtime_seconds * 1000 + settling_ms_max};
  if (!options.runner_key.empty()) request.headers.add("Authorization", "Bearer " + options.runner_key);
  if (!dispatch_.traceparent.empty()) request.headers.add("traceparent", dispatch_.traceparent);
  status_ = 0;
  call_ = context_->needs.client.call(std::move(request), *this);
}

void RemoteWork::on_head(int status, const net::Headers&) {
  status_ = status;
  if (status != 200) pass_over("status " + std::to_string(status));
}

void RemoteWork::on_body(std::string_view bytes) {
  auto lines = lines_.feed(bytes);
  if (!lines) return fail(Slug::runner_lost, "The runner's lines are not understood: " + lines.error().what + ".");
  const std::weak_ptr alive = alive_;
  for (auto& line : lines.value()) {
    hear(std::move(line));
    if (alive.expired() || over_) return;
  }
}

void RemoteWork::on_end(net::CallEnd end) {
  if (status_ == 0) return pass_over(end.failure ? end.what : "no answer");
  const auto why = end.failure ? end.what : "The lines ended before the result.";
  fail(Slug::runner_lost, "The runner was lost while it worked: " + why);
}

void RemoteWork::pass_over(std::string_view why) {
  call_.reset();
  context_->needs.log.write(world::LogLevel::warn, "runner passed over",
                            {{"run", dispatch_.run.text()}, {"runner", runner_url()}, {"why", why}});
  if (++tried_ < runner_urls_.size()) return try_runner();
  if (!dispatch_.extras.sandbox_url.empty()) {
    return fail(Slug::runner_unavailable, "The runner at " + runner_url() + " did not take the run.");
  }
  fail(Slug::runner_unavailable, "None of the " + std::to_string(tried_) + " configured runners could take the run.");
}

void RemoteWork::hear(harness::Line line) {
  if (auto* event = std::get_if<model::RunEvent>(&line)) return hear_event(std::move(*event));
  if (const auto* result = std::get_if<harness::ResultLine>(&line)) return finish(*result);
  auto problem = problem_of(std::get<harness::ErrorLine>(line));
  fail(problem.slug, std::move(problem.detail));
}

void RemoteWork::hear_event(model::RunEvent event) {
  // A debug line says that the runner lives; the journal need not know.
  if (is_debug(event)) return;
  if (event.kind == EventKind::text) told_text_ += event.body;
  if (event.kind == EventKind::replaced) model::take_back(told_text_, event.body);
  if (told_text_.size() > limits::answer_bytes_max) {
    return fail(Slug::answer_too_large, "The runner told more text than a message may have.");
  }
  // Its clock is not ours, and a journal has one.
  event.at = context_->needs.loop.now();
  listener_.on_event(std::move(event));
}

void RemoteWork::finish(const harness::ResultLine& result) {
  over_ = true;
  call_.reset();
  // A runner that knows only the plain profile tells the whole text at the end.
  if (result.message.size() > told_text_.size() && result.message.starts_with(told_text_)) {
    const std::weak_ptr alive = alive_;
    listener_.on_event({EventKind::text, context_->needs.loop.now(), result.message.substr(told_text_.size())});
    if (alive.expired()) return;
  }
  listener_.on_finished(result.usage);
}

void RemoteWork::fail(Slug slug, std::string detail) {
  over_ = true;
  call_.reset();
  listener_.on_failed({.slug = slug, .detail = std::move(detail)});
}

}  // namespace sluice::remote
