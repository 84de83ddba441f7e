#include "api/answers/streaming.h"

#include <algorithm>

#include "api/request/open_answers.h"
#include "api/request/request_context.h"
#include "base/limits.h"

namespace sluice::api {
namespace {

// Proxies close a connection that is silent for a minute. Only server-sent events have comments to keep it open; a
// blank line of NDJSON would be one more thing for every client to skip.
constexpr int64_t quiet_us_max = 15'000'000;
constexpr std::string_view keep_alive = ": keep-alive\n\n";

std::string_view name_of(StreamEnd end) {
  switch (end) {
    case StreamEnd::complete: return "complete";
    case StreamEnd::caller_left: return "caller left";
    case StreamEnd::lost: return "lost";
  }
  return "";
}

// Exists from the head to the last byte, owned by OpenAnswers. It ends when the terminal event has been sent, the
// client has left, or the journal cannot be read.
class Stream final : public OpenAnswer, public engine::Reader, public std::enable_shared_from_this<Stream> {
 public:
  Stream(const RequestPtr& request, const wire::View& view, Callback<void(StreamEnd)> ended)
      : request_(request), view_(view), ended_(std::move(ended)) {}

  void open(const model::Run& run) {
    net::Exchange& exchange = request_->exchange();
    exchange.on_drained([weak = weak_from_this()] {
      if (const auto stream = weak.lock()) stream->drained();
    });
    exchange.on_gone([weak = weak_from_this()] {
      if (const auto stream = weak.lock()) stream->close(StreamEnd::caller_left);
    });
    request_->services().open_answers.keep(shared_from_this());
    if (exchange.gone()) return close(StreamEnd::caller_left);
    reading_ = request_->engine().read(run, view_, *this);
    if (wire::is_sse(view_.format)) watch_quiet(quiet_us_max);
  }

  void take(SharedBytes lines) override {
    if (over_) return;
    spoke_us_ = loop().monotonic_us();
    request_->exchange().write(std::move(lines));
  }

  bool full() const override { return request_->exchange().unsent_bytes() > limits::stream_unsent_bytes_max; }

  void end() override {
    if (over_) return;
    request_->exchange().finish();
    close(StreamEnd::complete);
  }

  void lose(const Error& why) override {
    if (over_) return;
    request_->services().needs.log.write(world::LogLevel::error, "stream lost",
                                         {{"request_id", request_->request_id()}, {"why", why.what}});
    request_->exchange().abort();
    close(StreamEnd::lost);
  }

 private:
  world::Loop& loop() const { return request_->services().needs.loop; }

  void drained() {
    if (!over_ && reading_) reading_->more();
  }

  void close(StreamEnd how) {
    if (std::exchange(over_, true)) return;
    quiet_.cancel();
    request_->stream_ended(name_of(how));
    if (ended_) ended_(how);
    request_->services().open_answers.let_go(*this);
  }

  // Fires when the stream may have been silent long enough; a line in between only postpones the next check.
  void watch_quiet(int64_t wait_us) {
    quiet_ = loop().after({(wait_us + 999) / 1000}, [this] {
      const int64_t quiet_us = loop().monotonic_us() - spoke_us_;
      if (quiet_us < quiet_us_max) return watch_quiet(quiet_us_max - quiet_us);
      take(std::make_shared<const std::string>(keep_alive));
      watch_quiet(quiet_us_max);
    });
  }

  RequestPtr request_;
  const wire::View view_;
  Callback<void(StreamEnd)> ended_;
  std::unique_ptr<engine::Reading> reading_;
  world::Timer quiet_;
  int64_t spoke_us_ = request_->services().needs.loop.monotonic_us();
  bool over_ = false;
};

net::Headers run_headers(const model::Run& run, bool replayed) {
  net::Headers headers;
  headers.add("X-Run-Id", run.id.text());
  headers.add("X-Message-Id", run.message_id.text());
  if (replayed) headers.add("Idempotency-Replayed", "true");
  return headers;
}

// Waits for the end of the run on behalf of the client; owned by OpenAnswers.
class AnswerAtEnd final : public OpenAnswer, public std::enable_shared_from_this<AnswerAtEnd> {
 public:
  AnswerAtEnd(const RequestPtr& request, const engine::Sent& sent) : request_(request), sent_(sent) {}

  void wait() {
    request_->exchange().on_gone([weak = weak_from_this()] {
      if (const auto answer = weak.lock()) answer->leave();
    });
    request_->services().open_answers.keep(shared_from_this());
    if (request_->exchange().gone()) return leave();
    waiting_ = request_->engine().wait_for_end(sent_.run, [this](Result<wire::Ending> ending) {
      if (std::exchange(over_, true)) return;
      tell(ending);
      request_->services().open_answers.let_go(*this);
    });
  }

 private:
  void leave() {
    if (std::exchange(over_, true)) return;
    request_->left_unanswered();
    request_->services().open_answers.let_go(*this);
  }

  void tell(const Result<wire::Ending>& ending) {
    if (!ending) return request_->fail(ending.error());
    auto headers = run_headers(sent_.run, sent_.replayed);
    if (const auto* completed = std::get_if<model::events::Completed>(&ending.value())) {
      headers.add("Location", "/v1/messages/" + sent_.run.message_id.text());
      return request_->answer_json(201, completed->message, std::move(headers));
    }
    const auto* failed = std::get_if<model::events::Failed>(&ending.value());
    if (failed != nullptr) return answer_problem(*failed, std::move(headers));
    answer_problem(std::get<model::events::Cancelled>(ending.value()), std::move(headers));
  }

  void answer_problem(const model::events::EndProblem& problem, net::Headers headers) {
    const auto status = static_cast<int>(problem.status);
    // Only a run that waited in vain for a slot ends like this.
    if (status == 429) {
      headers.add("Retry-After",
                  std::to_string(std::max<int64_t>(1, request_->engine().capacity().retry_hint_seconds)));
    }
    request_->answer(status, "application/problem+json", problem.problem, std::move(headers));
  }

  RequestPtr request_;
  engine::Sent sent_;
  std::unique_ptr<engine::Waiting> waiting_;
  bool over_ = false;
};

}  // namespace

void open_stream(const RequestPtr& request, StreamOpening opening) {
  request->set_run(opening.run.id);
  auto headers = run_headers(opening.run, opening.replayed);
  for (const auto& header : opening.headers.all()) headers.add(header.name, header.value);
  headers.add("Content-Type", wire::is_sse(opening.format) ? "text/event-stream" : "application/x-ndjson");
  request->start_stream(std::move(headers));
  if (request->http().method == "HEAD") {
    request->exchange().finish();
    request->stream_ended(name_of(StreamEnd::complete));
    if (opening.ended) opening.ended(StreamEnd::caller_left);  // the run was not read
    return;
  }
  if (opening.leaves_at_half_close) request->exchange().leave_at_half_close();
  const wire::View view{.format = opening.format, .after = opening.after, .segment = opening.segment};
  std::make_shared<Stream>(request, view, std::move(opening.ended))->open(opening.run);
}

void answer_at_end(const RequestPtr& request, const engine::Sent& sent) {
  request->set_run(sent.run.id);
  std::make_shared<AnswerAtEnd>(request, sent)->wait();
}

void cancel_run_of(const RequestPtr& request, model::TenantId tenant, model::RunId run) {
  request->set_run(run);
  request->engine().cancel(tenant, run, [request](const std::variant<model::Run, model::Problem>& outcome) {
    if (const auto* problem = std::get_if<model::Problem>(&outcome)) return request->problem(*problem);
    request->answer_json(200, model::to_json(std::get<model::Run>(outcome)));
  });
}

}  // namespace sluice::api
