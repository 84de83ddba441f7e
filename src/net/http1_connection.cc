#include "net/http1_connection.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <utility>

namespace sluice::net {
namespace {

// A client that sends requests and reads no answers waits here.
constexpr std::size_t pipelined_answer_bytes_max = 64 * 1024;
// An answer of this size is offered to the kernel at once, and not with the others of this turn: what counts as unread
// is then what the peer has not taken, however many answers one turn has.
constexpr std::size_t prompt_answer_bytes_min = 256 * 1024;

}  // namespace

Http1Connection::Http1Connection(ServerContext& context, std::unique_ptr<Transport> transport, Caller caller)
    : context_(context),
      transport_(std::move(transport)),
      caller_(std::move(caller)),
      parser_(context.limits, context.bodies, caller_.origin()) {}

void Http1Connection::begin(std::string_view received, int64_t due_us) {
  const auto self = shared_from_this();
  watch_ = context_.reactor.watch(transport_->fd(), {.read = true}, [this](world::Ready ready) { on_ready(ready); });
  phase_due_us_ = due_us;
  take(received);
  settle();
}

void Http1Connection::on_ready(world::Ready ready) {
  const auto self = shared_from_this();
  if (ready.hung_up) return close();
  if (ready.writable) flush();
  if (ready.readable) read_input();
  settle();
}

// ── input ───────────────────────────────────────────────────────────────────────────────────────

void Http1Connection::read_input() {
  for (int reads = 0; reads < reads_per_turn_max && wants_input(); ++reads) {
    const Io io = transport_->receive(context_.input);
    if (io.outcome == IoOutcome::closed) return on_end_of_input();
    if (io.outcome == IoOutcome::failed) return close();
    if (io.outcome != IoOutcome::done) return;
    take({context_.input.data(), io.bytes});
    if (io.bytes < context_.input.size()) return;
  }
}

void Http1Connection::take(std::string_view bytes) {
  if (phase_ == Phase::answering) {
    inbox_.append(bytes);
  } else if (is_reading()) {
    consume(bytes);
  }
}

void Http1Connection::consume(std::string_view bytes) {
  while (!bytes.empty() && is_reading() && !is_backed_up()) {
    bytes.remove_prefix(parser_.feed(bytes));
    if (const auto& refused = parser_.refused()) return refuse(refused->status, refused->detail);
    if (parser_.done()) {
      dispatch();
    } else {
      note_progress();
    }
  }
  if (is_reading() || phase_ == Phase::answering) inbox_.assign(bytes);
}

void Http1Connection::note_progress() {
  if (phase_ == Phase::idle && !parser_.head_done()) enter(Phase::head, context_.options.request_head_ms_max);
  if (!parser_.head_done()) return;
  if (phase_ == Phase::body) {
    const auto earned_ms = static_cast<int64_t>(parser_.body_size()) / limits::request_body_bytes_per_ms_min;
    phase_due_us_ = body_begun_us_ + (context_.options.request_body_ms_max + earned_ms) * 1000;
    return;
  }
  begin_body();
}

void Http1Connection::begin_body() {
  body_begun_us_ = context_.reactor.monotonic_us();
  ++bodies_begun_;
  enter(Phase::body, context_.options.request_body_ms_max);
  const bool is_pressing = parser_.announces_body_to_judge() || context_.bodies.is_crowded(*caller_.origin());
  const bool is_judged = context_.options.doorkeeper && parser_.is_guarded() && is_pressing;
  parser_.hold_head(is_judged ? Judged::now : Judged::no);
  if (const auto& refused = parser_.refused()) return refuse(refused->status, refused->detail);
  if (!is_judged) return say_continue();
  Request head = parser_.request();
  head.peer = caller_.address();
  context_.options.doorkeeper(head, [weak = weak_from_this(), number = bodies_begun_](std::optional<Response> answer) {
    const auto self = weak.lock();
    if (!self || self->phase_ != Phase::body || self->bodies_begun_ != number) return;
    answer ? self->turn_away(*answer) : self->admit();
    self->settle();
  });
}

void Http1Connection::admit() {
  show_key();
  parser_.admit();
  if (const auto& refused = parser_.refused()) return refuse(refused->status, refused->detail);
  say_continue();
}

void Http1Connection::say_continue() {
  if (!parser_.expects_continue()) return;
  outbox().add_text("HTTP/1.1 100 Continue\r\n\r\n");
  schedule_flush();
}

void Http1Connection::dispatch() {
  keep_alive_ = parser_.keep_alive();
  const bool is_http_1_0 = parser_.is_http_1_0();
  Request request = parser_.take();
  request.peer = caller_.address();
  phase_ = Phase::answering;
  phase_due_us_ = never;
  context_.figures.requests.add();
  exchange_ = std::make_shared<Http1Exchange>(static_cast<Http1Carrier&>(*this), std::move(request), is_http_1_0);
  context_.handler(exchange_);
}

void Http1Connection::refuse(int status, std::string_view detail) { turn_away(context_.refusal(status, detail)); }

// The rest of the request is not read, so nothing else can come on this connection.
void Http1Connection::turn_away(const Response& response) {
  parser_.drop_body();
  context_.figures.refused.add();
  context_.head.clear();
  append_head(context_.head,
              {.status = response.status,
               .length = response.body.size(),
               .persistence = Persistence::close,
               .now = context_.reactor.now()},
              response.headers, context_.date);
  if (!parser_.is_head_request()) context_.head += response.body;
  outbox().add_text(context_.head);
  phase_ = Phase::closing;
  phase_due_us_ = never;
  schedule_flush();
}

void Http1Connection::on_end_of_input() {
  half_closed_ = true;
  if (phase_ == Phase::answering && !(exchange_ && exchange_->leaves_at_half_close()))
    return probe_peer();  // it may still read the answer
  if (phase_ == Phase::idle && !outbox().empty()) {
    phase_ = Phase::closing;
  } else {
    close();
  }
}

// A peer that closed altogether looks the same as one that still listens, until something is sent; on a stream that is
// quiet for days nothing is. The kernel's own probes find out: a peer that is gone answers them with a reset, once its
// kernel has forgotten the connection (a minute, as a rule).
void Http1Connection::probe_peer() {
  const int fd = transport_->fd();
  const int on = 1;
  const int seconds = context_.options.half_closed_probe_seconds;
  setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &seconds, sizeof seconds);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &seconds, sizeof seconds);
}

void Http1Connection::heed_half_close() {
  if (!half_closed_) return;
  context_.reactor.defer([self = shared_from_this(), exchange = exchange_] {
    if (exchange && self->exchange_ == exchange) self->close();
  });
}

// ── output ──────────────────────────────────────────────────────────────────────────────────────

void Http1Connection::schedule_flush() {
  count_unread();
  if (flush_scheduled_ || outflow_.blocked() || phase_ == Phase::closed) return;
  flush_scheduled_ = true;
  context_.reactor.defer([self = shared_from_this()] {
    self->flush_scheduled_ = false;
    self->flush();
    self->settle();
  });
}

void Http1Connection::count_unread() {
  if (phase_ != Phase::closed) context_.count_unread(*this, unread_bytes_, outbox().own_size());
}

void Http1Connection::flush() {
  if (phase_ == Phase::closed) return;
  const bool had_something = !outbox().empty();
  send_queued();
  if (phase_ == Phase::closed || outflow_.blocked()) return;
  if (had_something && exchange_) {
    const auto exchange = exchange_;
    exchange->on_sent();
  }
  // Who has said all, and was answered all of it, asks nothing more.
  if (phase_ == Phase::idle && half_closed_ && inbox_.empty()) phase_ = Phase::closing;
  if (phase_ == Phase::closing && outbox().empty()) return end_gently();
  resume();
}

void Http1Connection::send_queued() {
  if (!outflow_.send(*transport_, context_)) return close();
  count_unread();
}

void Http1Connection::resume() {
  if (inbox_.empty() || !is_reading() || is_backed_up()) return;
  const std::string waiting = std::exchange(inbox_, {});
  consume(waiting);
}

void Http1Connection::end_answer(bool persists) {
  const auto exchange = std::move(exchange_);
  exchange->detach();
  if (persists && !context_.draining) {
    enter(Phase::idle, context_.options.keep_alive_idle_ms_max);
  } else {
    phase_ = Phase::closing;
  }
  schedule_flush();
  if (outbox().own_size() < prompt_answer_bytes_min || outflow_.blocked()) return;
  const auto self = shared_from_this();
  send_queued();
}

void Http1Connection::abort_answer(bool by_reset) {
  const auto self = shared_from_this();
  const auto exchange = std::move(exchange_);
  exchange->detach();
  if (!outflow_.blocked()) send_queued();
  if (phase_ == Phase::closed) return;
  if (by_reset) {
    const linger now{.l_onoff = 1, .l_linger = 0};
    setsockopt(transport_->fd(), SOL_SOCKET, SO_LINGER, &now, sizeof now);
  }
  close();
}

// ── the end ─────────────────────────────────────────────────────────────────────────────────────

void Http1Connection::end_gently() {
  transport_->end_sending();
  inbox_ = {};
  if (half_closed_) return close();
  enter(Phase::lingering, linger_ms_max);
}

void Http1Connection::drain() {
  const auto self = shared_from_this();
  if (phase_ == Phase::idle && outbox().empty()) return close();
  if (phase_ == Phase::idle) phase_ = Phase::closing;
}

void Http1Connection::close() {
  if (phase_ == Phase::closed) return;
  const auto self = shared_from_this();
  context_.count_unread(*this, unread_bytes_, 0);
  phase_ = Phase::closed;
  caller_.leave();
  parser_.drop_body();
  watch_.reset();
  timer_.cancel();
  outflow_.let_go(*transport_, context_);
  transport_.reset();
  context_.closed(*this);
  if (const auto exchange = std::move(exchange_)) exchange->lose_peer();
}

// ── what to wait for ────────────────────────────────────────────────────────────────────────────

void Http1Connection::enter(Phase phase, int64_t ms_max) {
  phase_ = phase;
  phase_due_us_ = context_.reactor.monotonic_us() + ms_max * 1000;
}

bool Http1Connection::is_backed_up() const { return outflow_.outbox().size() >= pipelined_answer_bytes_max; }

bool Http1Connection::wants_input() const {
  if (half_closed_) return false;
  if (phase_ == Phase::lingering) return true;
  // While an answer is in flight, reading continues up to one buffer, to notice a peer that leaves.
  if (phase_ == Phase::answering) return inbox_.empty();
  return is_reading() && inbox_.empty() && !is_backed_up();
}

void Http1Connection::settle() {
  if (phase_ == Phase::closed) return;
  watch_->want({.read = wants_input(), .write = outflow_.blocked()});
  set_timer();
}

void Http1Connection::set_timer() {
  const int64_t due_us = std::min(phase_due_us_, outflow_.look_due_us());
  if (due_us >= timer_due_us_) return;
  timer_due_us_ = due_us;
  const int64_t delay_us = due_us - context_.reactor.monotonic_us();
  timer_ = context_.reactor.after({(delay_us + 999) / 1000}, [this] { on_timer(); });
}

void Http1Connection::on_timer() {
  const auto self = shared_from_this();
  timer_due_us_ = never;
  const int64_t now_us = context_.reactor.monotonic_us();
  if (outflow_.is_stalled(*transport_, context_)) return close();
  if (now_us >= phase_due_us_) {
    if (phase_ != Phase::head && phase_ != Phase::body) return close();
    refuse(408, phase_ == Phase::head ? "the request took too long to come" : "the request body took too long to come");
  }
  settle();
}

// ── exchanges ──

Http1Exchange::Http1Exchange(Http1Carrier& connection, Request request, bool is_http_1_0)
    : connection_(&connection),
      request_(std::move(request)),
      is_http_1_0_(is_http_1_0),
      is_head_(request_.method == "HEAD") {}

void Http1Exchange::write_head(int status, Framing framing, std::size_t length, const Headers& headers,
                               std::string_view body) {
  SLUICE_CHECK(!started_);
  started_ = true;
  framing_ = framing;
  bodiless_ = is_head_ || framing == Framing::none;
  persists_ = connection_->may_persist() && framing != Framing::until_close;
  const auto persistence = !persists_     ? Persistence::close
                           : is_http_1_0_ ? Persistence::keep_alive
                                          : Persistence::implied;
  ServerContext& context = connection_->context();
  context.head.clear();
  append_head(context.head,
              {.status = status,
               .framing = framing,
               .length = length,
               .persistence = persistence,
               .now = context.reactor.now()},
              headers, context.date);
  if (!bodiless_) context.head += body;
  connection_->outbox().add_text(context.head);
  connection_->schedule_flush();
}

void Http1Exchange::respond(Response response) {
  if (connection_ == nullptr) return;
  const std::size_t length = response.shared_body ? response.shared_body->size() : response.body.size();
  const bool copied = !response.shared_body && length <= copied_body_bytes_max;
  write_head(response.status, has_no_body(response.status) ? Framing::none : Framing::length, length, response.headers,
             copied ? std::string_view(response.body) : std::string_view());
  if (!copied && !bodiless_) connection_->outbox().add_shared(take_body(response));
  connection_->end_answer(persists_);
}

void Http1Exchange::start(int status, Headers headers) {
  if (connection_ == nullptr) return;
  const Framing framing = has_no_body(status) ? Framing::none : is_http_1_0_ ? Framing::until_close : Framing::chunked;
  write_head(status, framing, 0, headers, {});
}

void Http1Exchange::write(SharedBytes bytes) {
  if (connection_ == nullptr || bodiless_ || bytes->empty()) return;
  SLUICE_CHECK(started_);
  if (framing_ == Framing::chunked) {
    connection_->outbox().add_chunk(std::move(bytes));
  } else {
    connection_->outbox().add_shared(std::move(bytes));
  }
  connection_->schedule_flush();
}

void Http1Exchange::finish() {
  if (connection_ == nullptr) return;
  SLUICE_CHECK(started_);
  if (framing_ == Framing::chunked && !bodiless_) connection_->outbox().add_text(http::last_chunk);
  connection_->end_answer(persists_);
}

void Http1Exchange::abort() {
  if (connection_ == nullptr) return;
  gone_ = true;
  connection_->abort_answer(started_ && framing_ == Framing::until_close);
}

std::size_t Http1Exchange::unsent_bytes() const { return connection_ == nullptr ? 0 : connection_->outbox().size(); }

void Http1Exchange::on_drained(Callback<void()> then) {
  if (connection_ != nullptr) on_drained_ = std::move(then);
}

void Http1Exchange::on_gone(Callback<void()> then) {
  if (connection_ != nullptr) on_gone_ = std::move(then);
}

void Http1Exchange::trust_caller() {
  if (connection_ != nullptr) connection_->show_key();
}

void Http1Exchange::charge_answers(std::shared_ptr<AnswerAccount> account) {
  if (connection_ != nullptr) connection_->charge(std::move(account));
}

void Http1Exchange::leave_at_half_close() {
  leaves_at_half_close_ = true;
  if (connection_ != nullptr) connection_->heed_half_close();
}

void Http1Exchange::detach() {
  connection_ = nullptr;
  // The callbacks often own this exchange, so they are destroyed last.
  const auto drained = std::move(on_drained_);
  const auto left = std::move(on_gone_);
}

void Http1Exchange::lose_peer() {
  gone_ = true;
  auto then = std::move(on_gone_);
  detach();
  if (then) then();
}

void Http1Exchange::on_sent() {
  if (!on_drained_) return;
  // The callback may end the answer, or replace itself, while it runs.
  auto then = std::move(on_drained_);
  then();
  if (connection_ != nullptr && !on_drained_) on_drained_ = std::move(then);
}

}  // namespace sluice::net
