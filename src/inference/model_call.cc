#include "inference/model_call.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/lifetime.h"
#include "runs/runs.h"

namespace sluice::inference {

using model::Slug;
using models::FailureClass;

namespace {

std::string refused_key(const Route& route) {
  if (!route.key_alias.empty()) return " does not accept the key \"" + route.key_alias + "\"";
  if (route.endpoint.api_key.empty() && !route.key_withheld) {
    return " wants a key, and the server has none for it: set providers." + route.provider +
           ".api_key_env to the name of the environment variable that holds it";
  }
  std::string words = " does not accept the server's key";
  if (!route.key_source.empty()) words += " (" + route.key_source + ")";
  if (route.key_withheld) words += ", which is not sent to the base_url that the agent names";
  return words;
}

using models::ModelEvent;

bool is_last(const ModelEvent& event) {
  return event.kind == ModelEvent::Kind::stop || event.kind == ModelEvent::Kind::failure;
}

// Whatever its parameters. A web server that knows nothing of models answers 200 with a page.
bool is_event_stream(std::string_view content_type) {
  constexpr std::string_view wanted = "text/event-stream";
  const auto type = content_type.substr(0, content_type.find_first_of("; \t"));
  return std::ranges::equal(type, wanted,
                            [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a - 'A' + 'a' : a) == b; });
}

class HttpModelCall final : public ModelCall, private net::CallListener {
 public:
  HttpModelCall(const Context& context, const ModelQuestion& question, ModelCallListener& listener)
      : dialect_(*question.route.dialect),
        api_key_(question.route.endpoint.api_key),
        reader_(dialect_.reader()),
        listener_(listener) {
    auto asked = dialect_.request(question.route.endpoint, question.prompt);
    net::ClientRequest request{.method = "POST",
                               .url = std::move(asked.url),
                               .body = std::move(asked.body),
                               .public_addresses_only = question.route.public_addresses_only,
                               .connect_ms_max = context.options.model_connect_ms_max,
                               .idle_ms_max = question.idle_ms_max,
                               .total_ms_max = question.total_ms_max};
    for (const auto& [name, value] : asked.headers) request.headers.add(name, value);
    if (!question.traceparent.empty()) request.headers.add("traceparent", question.traceparent);
    call_ = context.client.call(std::move(request), *this);
  }

 private:
  static constexpr std::size_t error_bytes_max = 64 * 1024;  // of the words of a refusal; the rest says no more

  void on_head(int status, const net::Headers& headers) override {
    status_ = status;
    if (const auto type = headers.find("content-type"); !is_refusal() && type && !is_event_stream(*type)) {
      return tell_last(
          failed({.failure_class = models::FailureClass::garbled,
                  .what = "status " + std::to_string(status) + " with the content type \"" + std::string(*type) +
                          "\" where text/event-stream was expected; look at base_url"}));
    }
    if (const auto after = headers.find("retry-after")) retry_after_ = std::string(*after);
  }

  void on_body(std::string_view bytes) override {
    if (is_refusal()) {
      refusal_.append(bytes.substr(0, error_bytes_max - std::min(refusal_.size(), error_bytes_max)));
      return;
    }
    const auto alive = lifetime_.watch();
    for (ModelEvent& event : reader_->feed(bytes)) {
      if (is_last(event)) return tell_last(std::move(event));
      listener_.on_model_event(std::move(event));
      if (alive.is_over()) return;
    }
  }

  void on_end(net::CallEnd end) override {
    if (is_refusal()) return tell_last(failed(dialect_.failure(status_, retry_after_, refusal_)));
    if (end.failure && *end.failure != net::CallFailure::cut) {
      return listener_.on_unanswered(*end.failure, std::move(end.what));
    }
    if (!end.failure) {
      if (auto event = reader_->end()) return tell_last(*std::move(event));
      end.what = "The answer ended before it was complete.";
    }
    tell_last(failed({.failure_class = models::FailureClass::cut, .what = std::move(end.what)}));
  }

  bool is_refusal() const { return status_ != 0 && status_ / 100 != 2; }

  static ModelEvent failed(models::Failure failure) {
    ModelEvent event;
    event.kind = ModelEvent::Kind::failure;
    event.failure = std::move(failure);
    return event;
  }

  // What a provider sends after the last event is ignored.
  void tell_last(ModelEvent event) {
    call_.reset();
    hide_key(event.failure.what);
    listener_.on_model_event(std::move(event));
  }

  // A server that refuses a key may quote it, and its words are shown to the caller.
  void hide_key(std::string& words) const {
    if (api_key_.empty()) return;
    for (auto at = words.find(api_key_); at != words.npos; at = words.find(api_key_, at)) {
      words.replace(at, api_key_.size(), "…");
    }
  }

  const models::Dialect& dialect_;
  const std::string api_key_;
  std::unique_ptr<models::AnswerReader> reader_;
  ModelCallListener& listener_;
  int status_ = 0;
  std::optional<std::string> retry_after_;
  std::string refusal_;
  std::unique_ptr<net::Call> call_;
  Lifetime lifetime_;
};

class OfflineModelCall final : public ModelCall {
 public:
  OfflineModelCall(const Context& context, const ModelQuestion& question, ModelCallListener& listener)
      : answer_(question.prompt),
        loop_(context.loop),
        listener_(listener),
        replay_(question.replay),
        idle_ms_max_(question.idle_ms_max),
        total_ms_max_(question.total_ms_max),
        started_us_(loop_.monotonic_us()),
        heard_us_(started_us_) {
    go_on_later();
  }

 private:
  using Offline = models::OfflineAnswer;
  static constexpr int slice_steps = 256;  // then others on this loop have their turn

  void go_on_later() {
    loop_.defer(lifetime_.guard([this] { go_on(); }));
  }

  void go_on() {
    const auto alive = lifetime_.watch();
    bool spoke = false;
    for (int i = 0; i < slice_steps; ++i) {
      auto step = answer_.next();
      if (auto* said = std::get_if<Offline::Say>(&step)) {
        spoke = true;
        const bool last = is_last(said->event);
        listener_.on_model_event(std::move(said->event));
        if (last || alive.is_over()) return;
      } else if (const auto* wait = std::get_if<Offline::Wait>(&step)) {
        if (replay_ != nullptr && !replay_->is_over()) continue;
        return pause(wait->ms, spoke);
      } else {
        return pause(std::numeric_limits<int64_t>::max(), spoke);
      }
    }
    heard_us_ = loop_.monotonic_us();
    go_on_later();
  }

  // Within the deadlines that a provider has.
  void pause(int64_t ms, bool spoke) {
    const int64_t now_us = loop_.monotonic_us();
    if (spoke) heard_us_ = now_us;
    int64_t left_ms = idle_ms_max_ - (now_us - heard_us_) / 1000;
    if (total_ms_max_ > 0) left_ms = std::min(left_ms, total_ms_max_ - (now_us - started_us_) / 1000);
    if (ms < left_ms) {
      timer_ = loop_.after(Millis{ms}, [this] { go_on(); });
    } else {
      timer_ = loop_.after(Millis{left_ms}, [this] {
        listener_.on_unanswered(net::CallFailure::timed_out, "The offline model was silent for too long.");
      });
    }
  }

  Offline answer_;
  world::Loop& loop_;
  ModelCallListener& listener_;
  const runs::Replay* const replay_;
  const int64_t idle_ms_max_;
  const int64_t total_ms_max_;
  const int64_t started_us_;
  int64_t heard_us_;
  world::Timer timer_;
  Lifetime lifetime_;
};

}  // namespace

std::string_view readable(std::string_view words) { return is_utf8(words) ? words : "(not readable as text)"; }

ModelFailure model_failure_of(const Route& route, const models::Failure& failure) {
  const std::string who = "The model provider \"" + route.provider + "\"";
  const std::string said = ": " + std::string(readable(failure.what));
  const bool may_retry = models::may_retry(failure.failure_class);
  const auto name = name_of(failure.failure_class);
  switch (failure.failure_class) {
    case FailureClass::unauthorized: return {name, Slug::agent_misconfigured, who + refused_key(route) + said};
    case FailureClass::rate_limited:
      return {name, Slug::model_error, who + " limits the rate of requests" + said, may_retry, failure.retry_after_ms};
    case FailureClass::overloaded:
      return {name, Slug::model_error, who + " is overloaded" + said, may_retry, failure.retry_after_ms};
    case FailureClass::server_error:
      return {name, Slug::model_error, who + " failed" + said, may_retry, failure.retry_after_ms};
    case FailureClass::cut: return {name, Slug::model_error, who + " broke off its answer" + said, may_retry};
    case FailureClass::rejected: return {name, Slug::model_error, who + " refused" + said};
    case FailureClass::garbled: break;
  }
  return {name, Slug::model_error, who + " answered what cannot be understood" + said};
}

ModelFailure model_failure_of(const Route& route, net::CallFailure failure, std::string_view what) {
  const std::string who = "The model provider \"" + route.provider + "\" ";
  const std::string said = ": " + std::string(readable(what));
  const auto name = name_of(failure);
  switch (failure) {
    // Not asked again: it has cost minutes already.
    case net::CallFailure::timed_out: return {name, Slug::model_timeout, who + "did not answer in time" + said};
    case net::CallFailure::refused: return {name, Slug::agent_misconfigured, who + "cannot be asked" + said};
    case net::CallFailure::unreachable:
    case net::CallFailure::cut: break;
  }
  return {name, Slug::model_error, who + "cannot be reached" + said, true};
}

std::unique_ptr<ModelCall> ask_model(const Context& context, const ModelQuestion& question,
                                     ModelCallListener& listener) {
  question.route.figures->count_call();
  if (question.route.dialect == nullptr) return std::make_unique<OfflineModelCall>(context, question, listener);
  return std::make_unique<HttpModelCall>(context, question, listener);
}

std::string_view name_of(models::FailureClass failure) {
  switch (failure) {
    case models::FailureClass::rate_limited: return "rate_limited";
    case models::FailureClass::overloaded: return "overloaded";
    case models::FailureClass::server_error: return "server_error";
    case models::FailureClass::unauthorized: return "unauthorized";
    case models::FailureClass::rejected: return "rejected";
    case models::FailureClass::cut: return "cut";
    case models::FailureClass::garbled: return "garbled";
  }
  return "garbled";
}

std::string_view name_of(net::CallFailure failure) {
  switch (failure) {
    case net::CallFailure::unreachable: return "unreachable";
    case net::CallFailure::timed_out: return "timed_out";
    case net::CallFailure::cut: return "cut";
    case net::CallFailure::refused: return "refused";
  }
  return "refused";
}

}  // namespace sluice::inference
