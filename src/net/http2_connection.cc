#include "net/http2_connection.h"

#include <algorithm>
#include <utility>

namespace sluice::net {
namespace {

constexpr int64_t passing_ms_max = 10'000;  // for the rest of a request that has its answer
// Frames wait in their streams, where flow control orders them, not here.
constexpr std::size_t framed_bytes_max = 64 * 1024;

}  // namespace

Http2Connection::Http2Connection(ServerContext& context, std::unique_ptr<Transport> transport, Caller caller)
    : context_(context),
      transport_(std::move(transport)),
      caller_(std::move(caller)),
      session_(*this, context.limits, context.bodies, caller_.origin()) {}

void Http2Connection::begin(std::string_view received, int64_t due_us) {
  const auto self = shared_from_this();
  watch_ = context_.reactor.watch(transport_->fd(), {.read = true}, [this](world::Ready ready) { on_ready(ready); });
  quiet_due_us_ = due_us;
  session_.receive(received);
  schedule_flush();
  settle();
}

void Http2Connection::on_ready(world::Ready ready) {
  const auto self = shared_from_this();
  if (ready.hung_up) return close();
  if (ready.writable) flush();
  if (ready.readable) read_input();
  settle();
}

// ── input ───────────────────────────────────────────────────────────────────────────────────────

// Goes on while the socket is full: window updates and resets are what a full socket waits for. What a
// client may make us queue meanwhile is bounded: streams, acknowledgements, unread answers.
void Http2Connection::read_input() {
  for (int reads = 0; reads < reads_per_turn_max && phase_ != Phase::closed; ++reads) {
    const Io io = transport_->receive(context_.input);
    if (io.outcome == IoOutcome::closed || io.outcome == IoOutcome::failed) return close();
    if (io.outcome != IoOutcome::done) return;
    if (phase_ == Phase::open) {
      session_.receive({context_.input.data(), io.bytes});
      schedule_flush();
    }
    if (io.bytes < context_.input.size()) return;
  }
}

void Http2Connection::on_begun(Http2Stream& stream) {
  quiet_due_us_ = never;
  stream.request_due_us = in_ms(context_.options.request_head_ms_max);
  wake_by(stream.request_due_us);
}

void Http2Connection::on_head(Http2Stream& stream) {
  stream.body_begun_us = context_.reactor.monotonic_us();
  stream.request_due_us = stream.body_begun_us + context_.options.request_body_ms_max * 1000;
  wake_by(stream.request_due_us);
  const bool is_pressing = stream.announces_body_to_judge() || context_.bodies.is_crowded(*caller_.origin());
  const bool is_judged = context_.options.doorkeeper && stream.is_guarded() && is_pressing;
  stream.hold_head(is_judged ? Judged::now : Judged::no);
  if (stream.refused()) return on_refused(stream);
  if (!is_judged) return say_continue(stream);
  Request head = stream.request();
  head.peer = caller_.address();
  context_.options.doorkeeper(head, [weak = weak_from_this(), id = stream.id()](std::optional<Response> answer) {
    const auto self = weak.lock();
    if (!self) return;
    const auto found = self->session_.streams().find(id);
    if (found == self->session_.streams().end() || found->second->answered || found->second->request_ended()) return;
    answer ? self->turn_away(*found->second, *std::move(answer)) : self->admit(*found->second);
  });
}

void Http2Connection::admit(Http2Stream& stream) {
  show_key();
  stream.admit();
  stream.refused() ? on_refused(stream) : say_continue(stream);
}

void Http2Connection::say_continue(const Http2Stream& stream) {
  if (!stream.expects_continue()) return;
  session_.submit_continue(stream);
  schedule_flush();
}

void Http2Connection::on_body(Http2Stream& stream) {
  const auto earned_ms = static_cast<int64_t>(stream.body_size()) / limits::request_body_bytes_per_ms_min;
  stream.request_due_us = stream.body_begun_us + (context_.options.request_body_ms_max + earned_ms) * 1000;
}

void Http2Connection::on_request(Http2Stream& stream) {
  if (unread_bytes_ >
      (caller_.is_known() ? limits::unread_answers_bytes_max : limits::strangers_unread_answers_bytes_max)) {
    return refuse(stream, 503, "too many answers on this connection wait to be read: read them, then ask again");
  }
  stream.request_due_us = never;
  context_.figures.requests.add();
  Request request = stream.take_request();
  request.peer = caller_.address();
  stream.exchange = std::make_shared<Http2Exchange>(static_cast<Http2Carrier&>(*this), stream, std::move(request));
  context_.handler(stream.exchange);
}

void Http2Connection::on_refused(Http2Stream& stream) {
  const Refused refused = *stream.refused();
  refuse(stream, refused.status, refused.detail);
}

void Http2Connection::refuse(Http2Stream& stream, int status, std::string_view detail) {
  stream.refuse(status, detail);
  turn_away(stream, context_.refusal(status, detail));
}

void Http2Connection::turn_away(Http2Stream& stream, Response response) {
  stream.refuse(response.status, "it was turned away");
  stream.forget_request();
  stream.request_due_us = never;
  context_.figures.refused.add();
  answer(stream, std::move(response));
}

void Http2Connection::on_answered_early(Http2Stream& stream) {
  // Who was too slow already is not waited for.
  if (stream.refused() && stream.refused()->status == 408) return session_.reset(stream, Http2Error::no_error);
  stream.request_due_us = in_ms(std::min(passing_ms_max, context_.options.request_body_ms_max));
  wake_by(stream.request_due_us);
}

void Http2Connection::on_closed(Http2Stream& stream) {
  stream.outbox = {};
  count(stream);
  if (session_.streams().empty()) {
    quiet_due_us_ = in_ms(context_.options.keep_alive_idle_ms_max);
    wake_by(quiet_due_us_);
  }
  const auto exchange = std::move(stream.exchange);
  if (!exchange) return;
  if (stream.ending == Http2Stream::Ending::none) {
    exchange->lose_peer();
  } else {
    exchange->detach();
  }
}

void Http2Connection::on_nuisance() {
  const int64_t second = context_.reactor.monotonic_us() / 1'000'000;
  if (std::exchange(nuisance_second_, second) != second) nuisances_ = 0;
  if (++nuisances_ > limits::nuisances_per_second_max) session_.terminate(Http2Error::enhance_your_calm);
}

// ── answers ─────────────────────────────────────────────────────────────────────────────────────

void Http2Connection::answer(Http2Stream& stream, Response response) {
  const bool has_length = !has_no_body(response.status);
  const std::size_t length = response.shared_body ? response.shared_body->size() : response.body.size();
  const bool has_body = has_length && length > 0 && !stream.is_head_request();
  if (has_body && !response.shared_body && length <= copied_body_bytes_max) {
    stream.outbox.add_text(response.body);
  } else if (has_body) {
    stream.outbox.add_shared(take_body(response));
  }
  send_head(stream, response.status, response.headers,
            has_body ? Http2Session::BodyOf::outbox : Http2Session::BodyOf::none,
            has_length ? std::optional(length) : std::nullopt);
  end_answer(stream);
}

void Http2Connection::send_head(Http2Stream& stream, int status, const Headers& headers, Http2Session::BodyOf body,
                                std::optional<std::size_t> length) {
  // Nothing more will follow, though the handler may not know.
  if (body == Http2Session::BodyOf::none) stream.ending = Http2Stream::Ending::finish;
  session_.submit(stream, {.status = status,
                           .headers = headers,
                           .date = context_.date.value_at(context_.reactor.now()),
                           .length = length,
                           .body = body});
  schedule_flush();
}

void Http2Connection::on_written(Http2Stream& stream) {
  count(stream);
  if (stream.stall_due_us == never) {
    stream.stall_due_us = in_ms(context_.options.write_stall_ms_max);
    wake_by(stream.stall_due_us);
  }
  session_.resume(stream);
  schedule_flush();
}

void Http2Connection::end_answer(Http2Stream& stream) {
  stream.ending = Http2Stream::Ending::finish;
  if (const auto exchange = std::move(stream.exchange)) exchange->detach();
  on_written(stream);
}

// What was written before is sent first, as in HTTP/1, but a client that does not read gets little time.
void Http2Connection::abort_answer(Http2Stream& stream) {
  stream.ending = Http2Stream::Ending::abort;
  if (const auto exchange = std::move(stream.exchange)) exchange->detach();
  if (!stream.answered || stream.outbox.empty()) {
    session_.reset(stream, Http2Error::internal_error);
    return schedule_flush();
  }
  on_written(stream);
  stream.stall_due_us = std::min(stream.stall_due_us, in_ms(linger_ms_max));
  wake_by(stream.stall_due_us);
}

void Http2Connection::on_sent(Http2Stream& stream) {
  count(stream);
  if (!stream.outbox.empty()) {
    if (stream.ending != Http2Stream::Ending::abort) stream.stall_due_us = in_ms(context_.options.write_stall_ms_max);
    return;
  }
  stream.stall_due_us = never;
  if (stream.exchange) drained_.push_back(stream.exchange);
}

void Http2Connection::count(Http2Stream& stream) {
  if (phase_ == Phase::closed) return;
  const std::size_t counted = std::exchange(stream.counted_bytes, stream.outbox.own_size());
  context_.count_unread(*this, unread_bytes_, unread_bytes_ - counted + stream.counted_bytes);
}

// ── output ──────────────────────────────────────────────────────────────────────────────────────

void Http2Connection::schedule_flush() {
  if (flush_scheduled_ || outflow_.blocked() || phase_ != Phase::open) return;
  flush_scheduled_ = true;
  context_.reactor.defer([self = shared_from_this()] {
    self->flush_scheduled_ = false;
    self->flush();
    self->settle();
  });
}

void Http2Connection::flush() {
  if (phase_ != Phase::open) return;
  do {
    session_.fill(outflow_.outbox(), framed_bytes_max);
    if (outflow_.outbox().empty()) break;
    if (!outflow_.send(*transport_, context_)) return close();
  } while (!outflow_.blocked());
  report_sent();
  if (phase_ == Phase::open && session_.is_over() && outflow_.outbox().empty()) end_gently();
}

void Http2Connection::report_sent() {
  for (const auto& exchange : std::exchange(drained_, {})) exchange->on_sent();
}

// ── the end ─────────────────────────────────────────────────────────────────────────────────────

void Http2Connection::drain() {
  const auto self = shared_from_this();
  session_.go_away();
  if (!session_.streams().empty()) return schedule_flush();
  flush();
  close();
}

void Http2Connection::end_gently() {
  phase_ = Phase::lingering;
  transport_->end_sending();
  quiet_due_us_ = in_ms(linger_ms_max);
  lose_exchanges();
}

void Http2Connection::close() {
  if (phase_ == Phase::closed) return;
  const auto self = shared_from_this();
  context_.count_unread(*this, unread_bytes_, 0);
  phase_ = Phase::closed;
  caller_.leave();
  watch_.reset();
  timer_.cancel();
  outflow_.let_go(*transport_, context_);
  transport_.reset();
  context_.closed(*this);
  lose_exchanges();
}

void Http2Connection::lose_exchanges() {
  std::vector<std::shared_ptr<Http2Exchange>> lost;
  for (const auto& [id, stream] : session_.streams()) {
    stream->drop_body();
    if (stream->exchange) lost.push_back(std::move(stream->exchange));
  }
  drained_.clear();
  for (const auto& exchange : lost) exchange->lose_peer();
}

// ── what to wait for ────────────────────────────────────────────────────────────────────────────

void Http2Connection::settle() {
  if (phase_ == Phase::closed) return;
  watch_->want({.read = true, .write = outflow_.blocked()});
  wake_by(std::min(quiet_due_us_, outflow_.look_due_us()));
}

void Http2Connection::wake_by(int64_t due_us) {
  if (due_us >= timer_due_us_ || phase_ == Phase::closed) return;
  timer_due_us_ = due_us;
  const int64_t delay_us = std::max<int64_t>(0, due_us - context_.reactor.monotonic_us());
  timer_ = context_.reactor.after({(delay_us + 999) / 1000}, [this] { on_timer(); });
}

void Http2Connection::on_timer() {
  const auto self = shared_from_this();
  timer_due_us_ = never;
  const int64_t now_us = context_.reactor.monotonic_us();
  if (outflow_.is_stalled(*transport_, context_)) return close();
  if (now_us >= quiet_due_us_) return phase_ == Phase::lingering ? close() : drain();
  for (const auto& [id, stream] : session_.streams()) look_at(*stream, now_us);
  settle();
}

void Http2Connection::look_at(Http2Stream& stream, int64_t now_us) {
  if (now_us >= stream.request_due_us && stream.answered) {
    stream.request_due_us = never;
    session_.reset(stream, Http2Error::no_error);
    schedule_flush();
  } else if (now_us >= stream.request_due_us) {
    refuse(stream, 408, "the request took too long to come");
  }
  const bool was_given_up = stream.ending == Http2Stream::Ending::abort;
  if (now_us >= stream.stall_due_us && outflow_.blocked() && !was_given_up) {
    stream.stall_due_us = in_ms(context_.options.write_stall_ms_max);  // it waits for the others, not for its reader
  } else if (now_us >= stream.stall_due_us) {
    stream.stall_due_us = never;
    session_.reset(stream, was_given_up ? Http2Error::internal_error : Http2Error::cancel);
    schedule_flush();
  }
  wake_by(std::min(stream.request_due_us, stream.stall_due_us));
}

}  // namespace sluice::net
