#include "api/answers/streaming.h"

#include <strings.h>
#include <algorithm>
#include <charconv>
#include <limits>

#include "api/request/reading.h"
#include "api/request/request_context.h"
#include "api/request/services.h"
#include "api/request/waiting.h"
#include "base/limits.h"

namespace sluice::api {
namespace {

constexpr std::string_view parameters[] = {"after", "detail"};
constexpr std::string_view trace_parameters[] = {"after", "profile"};
constexpr std::size_t page_bytes = 256 * 1024;
constexpr int64_t seq_max = std::numeric_limits<int64_t>::max();

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

bool same_word(std::string_view a, std::string_view b) {
  return a.size() == b.size() && strncasecmp(a.data(), b.data(), a.size()) == 0;
}

// Cuts off what stands before `separator`, trimmed.
std::string_view next_part(std::string_view& rest, char separator) {
  const std::size_t end = rest.find(separator);
  const std::string_view part = rest.substr(0, end);
  rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
  return trimmed(part);
}

// The quality of a media type in an Accept header: 0 to 1000; 0 if it does not name the type.
int liking(std::string_view accept, std::string_view type) {
  while (!accept.empty()) {
    std::string_view range = next_part(accept, ',');
    if (!same_word(next_part(range, ';'), type)) continue;
    while (!range.empty()) {
      const std::string_view parameter = next_part(range, ';');
      if (!parameter.starts_with("q=") && !parameter.starts_with("Q=")) continue;
      double quality = 0;
      std::from_chars(parameter.data() + 2, parameter.data() + parameter.size(), quality);
      return static_cast<int>(quality * 1000);
    }
    return 1000;
  }
  return 0;
}

auto read_page(const RequestPtr& request, model::RunId run, model::Position after, std::size_t bytes_max) {
  return found<journal::JournalPage>(request, [&request, run, after, bytes_max](store::Database&, auto done) {
    request->store().read(run, after, bytes_max, std::move(done));
  });
}

wire::Format accepted_format(const RequestPtr& request) {
  const std::string_view accept = request->header("Accept").value_or("");
  const int sse = liking(accept, "text/event-stream");
  return sse > 0 && sse >= liking(accept, "application/x-ndjson") ? wire::Format::sse : wire::Format::ndjson;
}

}  // namespace

int64_t read_after(const RequestPtr& request, const Query& query, Findings& findings) {
  if (query.find("after")) return query.integer("after", 0, seq_max - 1).value_or(-1);
  const auto last = request->header("Last-Event-ID");
  if (!last || last->empty()) return -1;
  int64_t seq = -1;
  const auto [end, failed] = std::from_chars(last->data(), last->data() + last->size(), seq);
  if (failed != std::errc{} || end != last->data() + last->size() || seq < 0) {
    findings.refuse("Last-Event-ID", "must be the number of an event");
  }
  return seq;
}

wire::Format read_detail(const Query& query, wire::Format format) {
  const auto detail = query.find("detail").value_or("message");
  if (detail == "full") return format == wire::Format::sse ? wire::Format::full_sse : wire::Format::full_ndjson;
  if (detail != "message") query.refuse("detail", "must be message or full");
  return format;
}

StreamPosition read_stream_position(const RequestPtr& request, Findings& findings) {
  const Query query(request, parameters, findings);
  const int64_t after = read_after(request, query, findings);
  return {read_detail(query, accepted_format(request)), after};
}

StreamPosition read_trace_position(const RequestPtr& request, Findings& findings) {
  const Query query(request, trace_parameters, findings);
  const auto profile = query.find("profile").value_or("plain");
  if (profile != "plain" && profile != "extended") query.refuse("profile", "must be plain or extended");
  return {profile == "extended" ? wire::Format::extended_trace : wire::Format::trace,
          read_after(request, query, findings)};
}

Task<model::Run> walk_journal(const RequestPtr& request, model::RunId run, model::Position after,
                              Callback<bool(const journal::Committed&)> see) {
  while (true) {
    const auto page = co_await read_page(request, run, after, page_bytes);
    for (const auto& committed : page.events) {
      after = committed.position();
      if (!see(committed)) co_return page.run;
    }
    if (page.events.empty()) co_return page.run;
  }
}

Task<journal::JournalPage> read_first_event(const RequestPtr& request, model::RunId run) {
  co_return co_await read_page(request, run, {}, 1);
}

// Counts the run's lines as the stream would.
Task<Follows> find_event(const RequestPtr& request, const model::Run& run, StreamPosition position) {
  wire::Fold fold({.format = position.format, .after = seq_max}, run);
  std::string nothing;
  while (true) {
    const auto page = co_await read_page(request, run.id, fold.at(), page_bytes);
    for (const auto& committed : page.events) fold.apply(committed, nothing);
    if (fold.next_seq() > position.after) {
      const bool is_last = fold.ended() && fold.next_seq() == position.after + 1;
      co_return is_last ? Follows::nothing : Follows::something;
    }
    if (page.events.empty() || fold.ended()) {
      request->invalid("after", "is beyond the last event, " + std::to_string(fold.next_seq() - 1));
      co_await answered();
    }
  }
}

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
class Stream final : public OpenAnswer, public engine::Reader {
 public:
  Stream(const RequestPtr& request, const wire::View& view, Callback<void(StreamEnd)> ended)
      : request_(request), view_(view), ended_(std::move(ended)) {}

  void open(const model::Run& run) {
    net::Exchange& exchange = request_->exchange();
    exchange.on_drained(lifetime_.guard([this] { drained(); }));
    exchange.on_gone(lifetime_.guard([this] { close(StreamEnd::caller_left); }));
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
  Lifetime lifetime_;
};

net::Headers run_headers(const model::Run& run, bool replayed) {
  net::Headers headers;
  headers.add("X-Run-Id", run.id.text());
  headers.add("X-Message-Id", run.message_id.text());
  if (replayed) headers.add("Idempotency-Replayed", "true");
  return headers;
}

// Waits for the end of the run on behalf of the client; owned by OpenAnswers.
class AnswerAtEnd final : public OpenAnswer {
 public:
  AnswerAtEnd(const RequestPtr& request, const engine::Sent& sent) : request_(request), sent_(sent) {}

  void wait() {
    request_->exchange().on_gone(lifetime_.guard([this] { leave(); }));
    if (request_->exchange().gone()) return leave();
    waiting_ = request_->engine().wait_for_end(sent_.run, [this](Result<wire::Ending> ending) {
      if (std::exchange(over_, true)) return;
      answer(ending);
      request_->services().open_answers.let_go(*this);
    });
  }

 private:
  void leave() {
    if (std::exchange(over_, true)) return;
    request_->left_unanswered();
    request_->services().open_answers.let_go(*this);
  }

  void answer(const Result<wire::Ending>& ending) {
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
  Lifetime lifetime_;
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
  request->services().open_answers.open<Stream>(request, view, std::move(opening.ended)).open(opening.run);
}

void answer_at_end(const RequestPtr& request, const engine::Sent& sent) {
  request->set_run(sent.run.id);
  request->services().open_answers.open<AnswerAtEnd>(request, sent).wait();
}

void cancel_run_of(const RequestPtr& request, model::TenantId tenant, model::RunId run) {
  request->set_run(run);
  request->engine().cancel(tenant, run, [request](const std::variant<model::Run, model::Problem>& outcome) {
    if (const auto* problem = std::get_if<model::Problem>(&outcome)) return request->problem(*problem);
    request->answer_json(200, model::to_json(std::get<model::Run>(outcome)));
  });
}

}  // namespace sluice::api
