#include "egress/connection.h"

#include <algorithm>

#include "egress/authority.h"

namespace sluice::egress {
namespace {

constexpr std::string_view established = "HTTP/1.1 200 Connection established\r\n\r\n";

}  // namespace

Connection::Connection(Session& session, OwnedFd fd, Callback<void()> on_over)
    : session_(session),
      client_(session.shared().reactor, std::move(fd), Stream::State::open),
      on_over_(std::move(on_over)) {
  client_.on_change([this] { pump(); });
  moved_us_ = now_us();
  enter(Phase::head);
}

Connection::~Connection() { session_.forget(*this); }

void Connection::pump() {
  if (phase_ == Phase::over) return;
  moved_us_ = now_us();
  do {
    while (phase_ != Phase::over && advance()) {
    }
    if (phase_ == Phase::over) return;
  } while (client_.settle());
  if (client_.state() == Stream::State::broken) abandon();
}

bool Connection::advance() {
  if (client_.state() == Stream::State::broken) return abandon(), false;
  switch (phase_) {
    case Phase::head: return take_head();
    case Phase::asking:
      // A request whose sender is gone is not worth a human's time.
      if (client_.ended()) abandon();
      return false;
    case Phase::handshaking: return shake_hands();
    case Phase::exchanging: return exchange();
    case Phase::tunnelling: return tunnel();
    case Phase::lingering:
      client_.consume(client_.input().size());
      if (client_.ended() && client_.finished()) end();
      return false;
    default: return false;
  }
}

// ── heads ──

// A client that does not read its answers gets no more of them.
bool Connection::take_head() {
  if (client_.room() == 0) return false;
  client_.consume(parser_.feed(client_.input()));
  const auto fault = parser_.fault();
  if (!parser_.started()) {
    if (client_.ended()) close();
    return phase_ != Phase::head;
  }
  if (!head_has_begun_) begin_head();
  if (!parser_.done() && !fault) {
    if (client_.ended()) close();
    return phase_ != Phase::head;
  }
  http::RequestHead head = std::move(parser_.head());
  parser_ = http::HeadParser<http::RequestHead>(head_limits);
  if (fault) {
    const Refusal refusal = refusal_of(*fault);
    answer(refusal.status, refusal.words, false);
  } else if (const auto pause_ms = session_.pause_ms(); pause_ms > 0) {
    pause(std::move(head), pause_ms);
  } else {
    on_head(std::move(head));
  }
  return true;
}

// Before it is judged: a sandbox that is refused again and again asks slowly, on however many connections.
void Connection::pause(http::RequestHead head, int64_t pause_ms) {
  paused_ = std::move(head);
  enter(Phase::pausing);
  timer_ = session_.shared().reactor.after({pause_ms}, [this] {
    if (const auto more_ms = session_.pause_ms(); more_ms > 0) return pause(std::move(paused_), more_ms);
    on_head(std::move(paused_));
    pump();
  });
}

// However slowly the rest comes, it must come before long: a head of which there is always one byte more would keep
// its connection for good.
void Connection::begin_head() {
  head_has_begun_ = true;
  began_us_ = now_us();
  connects_ = false;
  request_ = {};
  timer_ = session_.shared().reactor.after({patience_ms()}, [this] { on_timer(); });
}

void Connection::on_head(http::RequestHead head) {
  if (head.method == "CONNECT") return on_connect(std::move(head));
  const std::string its_method = head.method;
  const auto refusal = read_request(std::move(head), inside_ ? &*inside_ : nullptr, request_);
  if (!refusal) return judge();
  request_.head.method = its_method;
  request_.keeps_client = false;
  answer(refusal->status, refusal->words, true);
}

void Connection::on_connect(http::RequestHead head) {
  connects_ = true;
  connect_to_ = {};
  if (inside_) return answer(400, "a CONNECT inside a CONNECT", false);
  if (const auto refusal = parse_connect(head, connect_to_)) {
    connect_to_ = {};
    return answer(refusal->status, refusal->words, false);
  }
  if (head.headers.count("Content-Length") + head.headers.count("Transfer-Encoding") > 0) {
    return answer(400, "a CONNECT has no body", true);
  }
  if (connect_to_.host == workspace_host) {
    return answer(403, "the workspace is reached by plain requests to http://workspace.sluice/, not through a tunnel",
                  true);
  }
  judge();
}

void Connection::judge() {
  const Session::Ruling ruling = session_.rule_on(destination());
  if (ruling.effect != model::Effect::deny && (connects_ || !destination().tls)) {
    if (const auto refusal = session_.refusal_of_port(destination(), connects_); !refusal.empty())
      return answer(403, refusal, true);
  }
  switch (ruling.effect) {
    case model::Effect::allow: return go_on();
    case model::Effect::ask: return ask("", ruling.reason);
    case model::Effect::deny: return answer(403, ruling.reason, true);
  }
}

void Connection::go_on() {
  if (connects_) return session_.takes_secrets(connect_to_) ? decrypt() : dial();
  if (destination().host == workspace_host) {
    if (const auto refusal = check_workspace_path(request_.target.path)) {
      return answer(refusal->status, refusal->words, true);
    }
    request_.forwarding = session_.workspace_api();
  }
  spent_.reset();
  exchange_ = std::make_unique<Exchange>(session_, client_, std::move(request_), [this] { pump(); });
  request_ = {};
  enter(Phase::exchanging);
}

// ── questions ──

void Connection::ask(std::string alias, std::string reason) {
  enter(Phase::asking);
  const RequestRecord about = exchange_ ? exchange_->record() : RequestRecord{};
  const auto refusal = session_.ask({.host = exchange_ ? about.host : destination().host,
                                     .method = exchange_ ? about.method : method(),
                                     .alias = std::move(alias),
                                     .reason = std::move(reason),
                                     .place = exchange_ ? exchange_->missing_place() : model::place_header},
                                    *this);
  if (!refusal.empty()) return after_answer(false, refusal);
  const int64_t patience = session_.shared().options.question_ms_max;
  if (patience <= 0) return;
  question_timer_ = session_.shared().reactor.after({patience}, [this] {
    session_.forget(*this);
    on_settled(false, "no answer came in time whether this request may go on");
  });
}

void Connection::on_settled(bool goes_on, std::string_view words) {
  if (phase_ != Phase::asking) return;
  question_timer_.cancel();
  after_answer(goes_on, words.empty() ? "a human was asked and said no" : words);
  pump();
}

void Connection::after_answer(bool goes_on, std::string_view words) {
  if (exchange_) {
    enter(Phase::exchanging);
    goes_on ? exchange_->look_again() : exchange_->refuse(words);
  } else if (goes_on) {
    go_on();
  } else {
    answer(403, words, true);
  }
}

// ── CONNECT ──

void Connection::decrypt() {
  if (!client_.input().empty()) return answer(400, "bytes came before the CONNECT was answered", true);
  client_.write(established);
  secured_ = false;
  enter(Phase::handshaking);
}

bool Connection::shake_hands() {
  if (!secured_) {
    static_cast<void>(client_.settle());  // whether it left is asked next
    if (client_.unsent() > 0 || client_.state() != Stream::State::open) return false;
    secured_ = true;
    SharedState& shared = session_.shared();
    client_.secure(shared.tls->accept(shared.authority->context_for(connect_to_), client_.fd()));
  }
  if (client_.state() != Stream::State::open) return client_.state() == Stream::State::broken;
  inside_ = connect_to_;
  enter(Phase::head);
  return true;
}

void Connection::dial() {
  enter(Phase::dialing);
  dial_ = std::make_unique<Dial>(session_.shared(), session_.requester(), connect_to_, Security::plain,
                                 [this](Result<std::unique_ptr<Stream>> dialed) { on_dialed(std::move(dialed)); });
}

void Connection::on_dialed(Result<std::unique_ptr<Stream>> dialed) {
  const auto dial = std::move(dial_);  // this is called by it
  if (!dialed) {
    const bool denied = dialed.error().kind == ErrorKind::denied;
    answer(denied ? 403 : 502, dialed.error().what, denied);
  } else {
    session_.count_sent_for_good();
    client_.write(established);
    tunnel_ = std::make_unique<Tunnel>(client_, std::move(dialed).take(), connect_to_, [this] { pump(); });
    enter(Phase::tunnelling);
  }
  pump();
}

// ── what goes through ──

bool Connection::tunnel() {
  if (session_.is_held()) return false;
  if (tunnel_->step()) return false;
  report({.status = 200,
          .sent_bytes = tunnel_->sent_bytes(),
          .received_bytes = tunnel_->received_bytes(),
          .refused = tunnel_->fault()});
  end();
  return false;
}

bool Connection::exchange() {
  const Exchange::Fate fate = exchange_->step();
  if (fate == Exchange::Fate::going) return false;
  if (fate == Exchange::Fate::asks) return ask(exchange_->missing_alias(), ""), true;
  RequestRecord record = exchange_->record();
  if (fate == Exchange::Fate::broken) record.status = 0;
  report(std::move(record));
  spent_ = std::move(exchange_);
  if (fate == Exchange::Fate::kept) {
    client_.rest();
    return enter(Phase::head), true;
  }
  if (fate == Exchange::Fate::closing) return close(), true;
  end();
  return false;
}

// ── ends ──

void Connection::answer(int status, std::string_view words, bool refused) {
  const bool keeps = !connects_ && request_.keeps_client && request_.body.framing == http::Framing::none;
  client_.write(own_answer(status, words, keeps, method()));
  RequestRecord record{.status = status};
  if (refused) record.refused = words;
  if (destination().host.empty()) {
    session_.shared().metrics.malformed.add();
    session_.note_refusal();
  } else {
    report(std::move(record));
  }
  keeps ? enter(Phase::head) : close();
}

// Fills in what it does not say: of the CONNECT, or of the head at hand.
RequestRecord Connection::completed(RequestRecord record) const {
  if (record.host.empty()) {
    record.host = destination().host;
    record.port = destination().port;
    record.method = method();
  }
  record.duration_ms = (now_us() - began_us_) / 1000;
  return record;
}

std::optional<RequestRecord> Connection::unfinished() const {
  RequestRecord record;
  switch (phase_) {
    case Phase::handshaking: break;
    case Phase::tunnelling:
      record.sent_bytes = tunnel_->sent_bytes();
      record.received_bytes = tunnel_->received_bytes();
      break;
    case Phase::asking:
    case Phase::dialing:
    case Phase::exchanging:
      if (exchange_) record = exchange_->record();
      record.status = 0;
      break;
    default: return std::nullopt;
  }
  return completed(std::move(record));
}

void Connection::close() {
  client_.end_writing();
  enter(Phase::lingering);
}

// The sandbox closed the connection.
void Connection::abandon() {
  switch (phase_) {
    case Phase::handshaking:
      report({.refused = "the TLS handshake with the client in the sandbox failed (" + client_.fault() +
                         "): it may not trust this installation's authority"});
      break;
    case Phase::tunnelling:
      report({.status = 200, .sent_bytes = tunnel_->sent_bytes(), .received_bytes = tunnel_->received_bytes()});
      break;
    default:
      if (auto record = unfinished()) session_.report(*std::move(record));
  }
  end();
}

void Connection::end() {
  if (phase_ == Phase::over) return;
  phase_ = Phase::over;
  session_.forget(*this);
  timer_.cancel();
  question_timer_.cancel();
  on_over_();
}

// ── time ──

void Connection::enter(Phase phase) {
  phase_ = phase;
  head_has_begun_ = false;
  timer_ = session_.shared().reactor.after({patience_ms()}, [this] { on_timer(); });
}

int64_t Connection::patience_ms() const {
  switch (phase_) {
    case Phase::head:
      return head_has_begun_ ? session_.shared().options.head_ms_max : session_.shared().options.idle_ms_max;
    case Phase::handshaking: return session_.shared().options.connect_ms_max;
    case Phase::lingering: return linger_ms_max;
    default: return session_.shared().options.idle_ms_max;
  }
}

void Connection::on_timer() {
  const int64_t since_us = head_has_begun_ ? began_us_ : moved_us_;
  const int64_t left_ms = patience_ms() - (now_us() - since_us) / 1000;
  const bool waits_for_others = phase_ == Phase::asking || phase_ == Phase::dialing;  // who have deadlines of their own
  if (left_ms > 0 || waits_for_others) {
    timer_ = session_.shared().reactor.after({std::max<int64_t>(left_ms, head_has_begun_ ? 1 : 1'000)},
                                             [this] { on_timer(); });
    return;
  }
  if (phase_ == Phase::exchanging) {
    exchange_->time_out();
  } else if (head_has_begun_) {
    answer(408, "the rest of the request's head did not come", false);
  } else {
    return abandon();
  }
  pump();
}

}  // namespace sluice::egress
