#include "station/station.h"

#include <list>
#include <utility>

#include "base/digest.h"
#include "station/session.h"
#include "station/stream_request.h"

namespace sluice::station {
namespace {

using model::Slug;

std::string_view bearer_in(const net::Request& request) {
  constexpr std::string_view scheme = "Bearer ";
  const auto given = request.headers.find("Authorization").value_or("");
  return given.starts_with(scheme) ? given.substr(scheme.size()) : "";
}

class HttpStation final : public Station {
 public:
  HttpStation(StationNeeds needs, StationOptions options) : needs_(needs), options_(std::move(options)) {}

  void handle(std::shared_ptr<net::Exchange> exchange) override {
    const auto request_id = needs_.ids.make<model::RequestId>().text();
    if (auto problem = refusal(exchange->request())) return refuse(*exchange, *problem, request_id);
    auto read = read_stream_request(exchange->request(), options_);
    if (const auto* problem = std::get_if<model::Problem>(&read)) return refuse(*exchange, *problem, request_id);
    open(std::move(exchange), std::get<StreamRequest>(std::move(read)), request_id);
  }

  void drain(Millis deadline, Callback<void()> done) override {
    draining_ = true;
    drained_ = std::move(done);
    if (sessions_.empty()) return say_drained();
    deadline_ = needs_.loop.after(deadline, [this] {
      for (const auto& session : sessions_) session->stop();
    });
  }

 private:
  using Sessions = std::list<std::shared_ptr<Session>>;

  std::optional<model::Problem> refusal(const net::Request& request) const {
    if (request.method != "POST") return model::Problem{.slug = Slug::method_not_allowed, .detail = "Use POST."};
    if (!options_.runner_key_sha256.empty() &&
        !equal_in_constant_time(sha256(bearer_in(request)), options_.runner_key_sha256)) {
      return model::Problem{.slug = Slug::unauthenticated,
                            .detail = "Send 'Authorization: Bearer KEY' with the key of this runner (runner.key)."};
    }
    if (draining_) {
      return model::Problem{.slug = Slug::unavailable, .detail = "The runner is stopping.", .retry_after_seconds = 1};
    }
    if (sessions_.size() >= static_cast<std::size_t>(options_.concurrent_max)) {
      return model::Problem{.slug = Slug::unavailable,
                            .detail = "The runner carries as many dispatches as it may (runner.concurrent_max).",
                            .retry_after_seconds = 5};
    }
    return std::nullopt;
  }

  void refuse(net::Exchange& exchange, const model::Problem& problem, const std::string& request_id) {
    net::Response response{.status = model::entry_of(problem.slug).status};
    response.headers.add("Content-Type", "application/problem+json");
    response.headers.add("X-Request-Id", request_id);
    if (problem.slug == Slug::unauthenticated) response.headers.add("WWW-Authenticate", "Bearer");
    if (problem.slug == Slug::method_not_allowed) response.headers.add("Allow", "POST");
    if (problem.retry_after_seconds) response.headers.add("Retry-After", std::to_string(*problem.retry_after_seconds));
    model::append_json(response.body, problem, {options_.public_base_url, exchange.request().path, request_id});
    count("refused");
    needs_.log.write(world::LogLevel::info, "dispatch refused",
                     {{"status", int64_t{response.status}}, {"why", problem.detail}, {"request_id", request_id}});
    exchange.respond(std::move(response));
  }

  void open(std::shared_ptr<net::Exchange> exchange, StreamRequest request, const std::string& request_id) {
    const auto place = sessions_.emplace(sessions_.end());
    *place =
        std::make_shared<Session>(needs_, options_, std::move(exchange), std::move(request),
                                  [this, place, request_id, began_us = needs_.loop.monotonic_us()](Outcome outcome) {
                                    close(place, outcome, request_id, needs_.loop.monotonic_us() - began_us);
                                  });
    live_.set(static_cast<int64_t>(sessions_.size()));
    (*place)->start({{"Content-Type", "application/x-ndjson"},
                     {"Cache-Control", "no-store"},
                     {"X-Accel-Buffering", "no"},
                     {"X-Request-Id", request_id}});
  }

  void close(Sessions::iterator place, Outcome outcome, const std::string& request_id, int64_t duration_us) {
    count(outcome);
    needs_.log.write(world::LogLevel::info, "dispatch ended",
                     {{"outcome", outcome}, {"duration_us", duration_us}, {"request_id", request_id}});
    // It is still on the stack.
    needs_.loop.defer([ended = std::move(*place)] {});
    sessions_.erase(place);
    live_.set(static_cast<int64_t>(sessions_.size()));
    if (draining_ && sessions_.empty()) say_drained();
  }

  void say_drained() {
    deadline_.cancel();
    needs_.loop.defer([done = std::move(drained_)]() mutable { done(); });
  }

  void count(std::string_view outcome) {
    needs_.metrics
        .counter("sluice_dispatches_total", "Dispatches that came to POST /stream.",
                 "outcome=\"" + std::string(outcome) + "\"")
        .add();
  }

  const StationNeeds needs_;
  const StationOptions options_;
  world::Gauge& live_ = needs_.metrics.gauge("sluice_dispatches_live", "Dispatches at work.");
  Sessions sessions_;
  bool draining_ = false;
  Callback<void()> drained_;
  world::Timer deadline_;
};

}  // namespace

std::unique_ptr<Station> make_station(StationNeeds needs, StationOptions options) {
  return std::make_unique<HttpStation>(needs, std::move(options));
}

}  // namespace sluice::station
