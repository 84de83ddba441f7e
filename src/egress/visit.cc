#include "egress/visit.h"

#include <algorithm>

namespace sluice::egress {
Visit::Visit(Premises& premises, OwnedFd fd, Callback<void()> on_over)
    : premises_(premises),
      client_(premises.house().reactor, std::move(fd), Stream::State::open),
      on_over_(std::move(on_over)) {
  client_.on_change([this] { pump(); });
  moved_us_ = now_us();
  enter(Phase::head);
}

Visit::~Visit() { premises_.forget(*this); }

void Visit::pump() {
  if (phase_ == Phase::over) return;
  moved_us_ = now_us();
  do {
    while (phase_ != Phase::over && advance()) {
    }
    if (phase_ == Phase::over) return;
  } while (client_.settle());
  if (client_.state() == Stream::State::broken) leave();
}

bool Visit::advance() {
  if (client_.state() == Stream::State::broken) return leave(), false;
  switch (phase_) {
    case Phase::head: return take_head();
    case Phase::asking:
      // A request whose sender is gone is not worth a human's time.
      if (client_.ended()) leave();
      return false;
    case Phase::greeting: return greet();
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
bool Visit::take_head() {
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
  } else if (const auto pause_ms = premises_.pause_ms(); pause_ms > 0) {
    pause(std::move(head), pause_ms);
  } else {
    on_head(std::move(head));
  }
  return true;
}

// Before it is judged: a sandbox that is refused again and again asks slowly, on however many connections.
void Visit::pause(http::RequestHead head, int64_t pause_ms) {
  paused_ = std::move(head);
  enter(Phase::pausing);
  timer_ = premises_.house().reactor.after({pause_ms}, [this] {
    if (const auto more_ms = premises_.pause_ms(); more_ms > 0) return pause(std::move(paused_), more_ms);
    on_head(std::move(paused_));
    pump();
  });
}

// However slowly the rest comes, it must come before long: a head of which there is always one byte more would keep
// its connection for good.
void Visit::begin_head() {
  head_has_begun_ = true;
  began_us_ = now_us();
  connects_ = false;
  errand_ = {};
  timer_ = premises_.house().reactor.after({patience_ms()}, [this] { on_timer(); });
}

void Visit::on_head(http::RequestHead head) {
  if (head.method == "CONNECT") return on_connect(std::move(head));
  const std::string its_method = head.method;
  const auto refusal = read_errand(std::move(head), inside_ ? &*inside_ : nullptr, errand_);
  if (!refusal) return judge();
  errand_.head.method = its_method;
  errand_.keeps_client = false;
  answer(refusal->status, refusal->words, true);
}

void Visit::on_connect(http::RequestHead head) {
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

void Visit::judge() {
  const Premises::Ruling ruling = premises_.rule_on(destination());
  if (ruling.effect != model::Effect::deny && (connects_ || !destination().tls)) {
    if (const auto refusal = premises_.refusal_of_port(destination(), connects_); !refusal.empty())
      return answer(403, refusal, true);
  }
  switch (ruling.effect) {
    case model::Effect::allow: return go_on();
    case model::Effect::ask: return ask("", ruling.reason);
    case model::Effect::deny: return answer(403, ruling.reason, true);
  }
}

void Visit::go_on() {
  if (connects_) return premises_.takes_secrets(connect_to_) ? look_into() : dial();
  if (destination().host == workspace_host) {
    if (const auto refusal = check_workspace_path(errand_.target.path)) {
      return answer(refusal->status, refusal->words, true);
    }
    errand_.forwarding = premises_.workspace_door();
  }
  spent_.reset();
  exchange_ = std::make_unique<Exchange>(premises_, client_, std::move(errand_), [this] { pump(); });
  errand_ = {};
  enter(Phase::exchanging);
}

// ── questions ──

void Visit::ask(std::string alias, std::string reason) {
  enter(Phase::asking);
  const Passage about = exchange_ ? exchange_->passage() : Passage{};
  const auto refusal = premises_.ask({.host = exchange_ ? about.host : destination().host,
                                      .method = exchange_ ? about.method : method(),
                                      .alias = std::move(alias),
                                      .reason = std::move(reason),
                                      .place = exchange_ ? exchange_->missing_place() : model::place_header},
                                     *this);
  if (!refusal.empty()) return after_answer(false, refusal);
  const int64_t patience = premises_.house().options.question_ms_max;
  if (patience <= 0) return;
  question_timer_ = premises_.house().reactor.after({patience}, [this] {
    premises_.forget(*this);
    on_settled(false, "nobody answered in time whether this request may go on");
  });
}

void Visit::on_settled(bool goes_on, std::string_view words) {
  if (phase_ != Phase::asking) return;
  question_timer_.cancel();
  after_answer(goes_on, words.empty() ? "a human was asked and said no" : words);
  pump();
}

void Visit::after_answer(bool goes_on, std::string_view words) {
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

void Visit::look_into() {
  if (!client_.input().empty()) return answer(400, "bytes came before the CONNECT was answered", true);
  client_.write("HTTP/1.1 200 Connection established\r\n\r\n");
  secured_ = false;
  enter(Phase::greeting);
}

bool Visit::greet() {
  if (!secured_) {
    static_cast<void>(client_.settle());  // whether it left is asked next
    if (client_.unsent() > 0 || client_.state() != Stream::State::open) return false;
    secured_ = true;
    House& house = premises_.house();
    client_.secure(house.tls->accept(house.authority->context_for(connect_to_), client_.fd()));
  }
  if (client_.state() != Stream::State::open) return client_.state() == Stream::State::broken;
  inside_ = connect_to_;
  enter(Phase::head);
  return true;
}

void Visit::dial() {
  enter(Phase::dialing);
  dial_ = std::make_unique<Dial>(premises_.house(), premises_.asker(), connect_to_, Security::plain,
                                 [this](Result<std::unique_ptr<Stream>> dialed) { on_dialed(std::move(dialed)); });
}

void Visit::on_dialed(Result<std::unique_ptr<Stream>> dialed) {
  const auto dial = std::move(dial_);  // this is called by it
  if (!dialed) {
    const bool denied = dialed.error().kind == ErrorKind::denied;
    answer(denied ? 403 : 502, dialed.error().what, denied);
  } else {
    premises_.count_sent_for_good();
    client_.write("HTTP/1.1 200 Connection established\r\n\r\n");
    tunnel_ = std::make_unique<Tunnel>(client_, std::move(dialed).take(), connect_to_, [this] { pump(); });
    enter(Phase::tunnelling);
  }
  pump();
}

// ── what goes through ──

bool Visit::tunnel() {
  if (premises_.is_held()) return false;
  if (tunnel_->step()) return false;
  tell({.status = 200,
        .sent_bytes = tunnel_->sent_bytes(),
        .received_bytes = tunnel_->received_bytes(),
        .refused = tunnel_->fault()});
  end();
  return false;
}

bool Visit::exchange() {
  const Exchange::Fate fate = exchange_->step();
  if (fate == Exchange::Fate::going) return false;
  if (fate == Exchange::Fate::asks) return ask(exchange_->missing_alias(), ""), true;
  Passage passage = exchange_->passage();
  if (fate == Exchange::Fate::broken) passage.status = 0;
  tell(std::move(passage));
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

void Visit::answer(int status, std::string_view words, bool refused) {
  const bool keeps = !connects_ && errand_.keeps_client && errand_.body.framing == http::Framing::none;
  client_.write(own_answer(status, words, keeps, method()));
  Passage passage{.status = status};
  if (refused) passage.refused = words;
  if (destination().host.empty()) {
    premises_.house().figures.malformed.add();
    premises_.note_refusal();
  } else {
    tell(std::move(passage));
  }
  keeps ? enter(Phase::head) : close();
}

// Fills in what it does not say: of the CONNECT, or of the head at hand.
Passage Visit::completed(Passage passage) const {
  if (passage.host.empty()) {
    passage.host = destination().host;
    passage.port = destination().port;
    passage.method = method();
  }
  passage.duration_ms = (now_us() - began_us_) / 1000;
  return passage;
}

std::optional<Passage> Visit::unfinished() const {
  Passage passage;
  switch (phase_) {
    case Phase::greeting: break;
    case Phase::tunnelling:
      passage.sent_bytes = tunnel_->sent_bytes();
      passage.received_bytes = tunnel_->received_bytes();
      break;
    case Phase::asking:
    case Phase::dialing:
    case Phase::exchanging:
      if (exchange_) passage = exchange_->passage();
      passage.status = 0;
      break;
    default: return std::nullopt;
  }
  return completed(std::move(passage));
}

void Visit::close() {
  client_.end_writing();
  enter(Phase::lingering);
}

// The box is gone.
void Visit::leave() {
  switch (phase_) {
    case Phase::greeting:
      tell({.refused = "the TLS handshake with the client in the sandbox failed (" + client_.fault() +
                       "): it may not trust this installation's authority"});
      break;
    case Phase::tunnelling:
      tell({.status = 200, .sent_bytes = tunnel_->sent_bytes(), .received_bytes = tunnel_->received_bytes()});
      break;
    default:
      if (auto passage = unfinished()) premises_.tell(*std::move(passage));
  }
  end();
}

void Visit::end() {
  if (phase_ == Phase::over) return;
  phase_ = Phase::over;
  premises_.forget(*this);
  timer_.cancel();
  question_timer_.cancel();
  on_over_();
}

// ── time ──

void Visit::enter(Phase phase) {
  phase_ = phase;
  head_has_begun_ = false;
  timer_ = premises_.house().reactor.after({patience_ms()}, [this] { on_timer(); });
}

int64_t Visit::patience_ms() const {
  switch (phase_) {
    case Phase::head:
      return head_has_begun_ ? premises_.house().options.head_ms_max : premises_.house().options.idle_ms_max;
    case Phase::greeting: return premises_.house().options.connect_ms_max;
    case Phase::lingering: return linger_ms_max;
    default: return premises_.house().options.idle_ms_max;
  }
}

void Visit::on_timer() {
  const int64_t since_us = head_has_begun_ ? began_us_ : moved_us_;
  const int64_t left_ms = patience_ms() - (now_us() - since_us) / 1000;
  const bool waits_for_others = phase_ == Phase::asking || phase_ == Phase::dialing;  // who have deadlines of their own
  if (left_ms > 0 || waits_for_others) {
    timer_ = premises_.house().reactor.after({std::max<int64_t>(left_ms, head_has_begun_ ? 1 : 1'000)},
                                             [this] { on_timer(); });
    return;
  }
  if (phase_ == Phase::exchanging) {
    exchange_->time_out();
  } else if (head_has_begun_) {
    answer(408, "the rest of the request's head did not come", false);
  } else {
    return leave();
  }
  pump();
}

}  // namespace sluice::egress
