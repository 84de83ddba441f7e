#include "egress/exchange.h"

#include <algorithm>

#include "http/body.h"

namespace sluice::egress {

using http::append_chunk;
using http::Framing;
using http::last_chunk;

namespace {

constexpr uint64_t collected_bytes_max = 1024 * 1024;  // a longer body streams

}  // namespace

Exchange::Exchange(Session& session, Stream& client, UpstreamRequest request, Callback<void()> wake)
    : session_(session),
      client_(client),
      request_(std::move(request)),
      wake_(std::move(wake)),
      judge_([this](std::string_view alias, model::SecretPlace place) {
        Verdict verdict = session_.judge(alias, place, request_.target.to);
        const bool counts = verdict.kind == Verdict::Kind::go;
        if (counts && std::find(aliases_.begin(), aliases_.end(), alias) == aliases_.end())
          aliases_.emplace_back(alias);
        return verdict;
      }),
      reader_(request_.body),
      substitution_(quoting_of(request_.head.headers.find("Content-Type")), judge_) {
  body_taken_ = request_.body.framing == Framing::none;
  record_.host = request_.target.to.host;
  record_.port = request_.target.to.port;
  record_.method = request_.head.method;
}

Exchange::Fate Exchange::step() {
  if (fate_ != Fate::going) return fate_;
  if (stage_ == Stage::head) prepare_head();
  if (stage_ == Stage::collecting) collect();
  if (stage_ == Stage::waiting) connect();
  if (stage_ == Stage::dialed && !session_.is_held()) begin_talking(std::move(upstream_));
  while (stage_ == Stage::talking && fate_ == Fate::going) {
    bool moved = move_body();
    moved = move_answer() || moved;
    if (upstream_) moved = upstream_->settle() || moved;
    moved = client_.settle() || moved;
    if (!moved) break;
  }
  return fate_;
}

void Exchange::look_again() {
  SLUICE_CHECK(fate_ == Fate::asks);
  fate_ = Fate::going;
  looked_ = true;
}

void Exchange::time_out() {
  const bool waits_for_sandbox = !body_taken_;
  answer(waits_for_sandbox ? 408 : 504,
         waits_for_sandbox ? "the rest of the request did not come" : record_.host + " did not answer in time",
         Kept::no);
}

RequestRecord Exchange::record() const {
  RequestRecord out = record_;
  out.aliases = aliases_;
  if (response_) {
    out.received_bytes = response_->payload_bytes();
    if (out.status == 0) out.status = response_->status();
  }
  return out;
}

// ── on the way out ──

bool Exchange::stopped_by(const Substitution& result) {
  if (result.kind == Substitution::Kind::done) return false;
  if (result.kind == Substitution::Kind::refused) return refuse(result.words), true;
  if (looked_ && missing_ == result.alias) {
    refuse("the secret " + result.alias + " was asked for and not supplied");
    return true;
  }
  looked_ = false;
  missing_ = result.alias;
  missing_place_ = result.place;
  fate_ = Fate::asks;
  return true;
}

void Exchange::prepare_head() {
  fields_ = request_.head.headers;
  query_ = request_.target.query;
  if (stopped_by(substitute_head(fields_, query_, judge_))) return;
  const Destination& to = request_.target.to;
  whole_only_ = session_.takes_secrets(to);
  may_grow_ = whole_only_ && (to.tls || session_.shared().options.plaintext_secrets);
  looks_through_ = whole_only_ || session_.scrubber() != nullptr;
  sent_plan_ = request_.body;
  if (request_.body.framing == Framing::length && request_.body.length <= collected_bytes_max) {
    stage_ = Stage::collecting;
    return;
  }
  if (request_.body.framing == Framing::length && may_grow_) sent_plan_ = {Framing::chunked, 0};
  connect();
}

void Exchange::collect() {
  send_continue();
  if (!take_body(client_.input().size()) || !body_taken_) return;
  sent_plan_ = {Framing::length, body_.size()};
  connect();
}

void Exchange::send_continue() {
  if (std::exchange(sent_continue_, true) || request_.head.minor_version == 0) return;
  if (request_.head.headers.count("Expect") > 0 && client_.input().empty())
    client_.write("HTTP/1.1 100 Continue\r\n\r\n");
}

bool Exchange::take_body(std::size_t bytes_max) {
  if (stopped_by(substitution_.push({}, body_))) return false;
  std::string_view bytes = client_.input().substr(0, bytes_max);
  const std::size_t offered = bytes.size();
  Substitution result;
  while (result.kind == Substitution::Kind::done) {
    const std::string_view payload = reader_.next(bytes);
    if (payload.empty()) break;
    record_.sent_bytes += static_cast<int64_t>(payload.size());
    result = substitution_.push(payload, body_);
  }
  client_.consume(offered - bytes.size());
  if (stopped_by(result)) return false;
  if (reader_.broken()) return answer(400, "the chunks of the request's body are malformed", Kept::from_leaving), false;
  if (reader_.done()) {
    if (stopped_by(substitution_.finish(body_))) return false;
    body_taken_ = true;
  } else if (client_.ended() && client_.input().empty()) {
    end(Fate::broken);
    return false;
  }
  return true;
}

void Exchange::connect() {
  stage_ = Stage::waiting;
  if (session_.is_held()) return;
  stage_ = Stage::dialing;
  if (auto stream = session_.pool().take(request_.leads_to())) {
    from_pool_ = true;
    return begin_talking(std::move(stream));
  }
  from_pool_ = false;
  dial_ = std::make_unique<Dial>(session_.shared(), session_.requester(), request_.leads_to(),
                                 request_.leads_to().tls ? Security::tls : Security::plain,
                                 [this](Result<std::unique_ptr<Stream>> dialed) { on_dialed(std::move(dialed)); });
}

void Exchange::on_dialed(Result<std::unique_ptr<Stream>> dialed) {
  const auto dial = std::move(dial_);  // this is called by it
  if (!dialed) {
    const bool denied = dialed.error().kind == ErrorKind::denied;
    // Where the workspace's API really is is not disclosed to a sandbox.
    const auto words = request_.forwarding ? "the workspace cannot be reached" : dialed.error().what;
    answer(denied ? 403 : 502, words, denied ? Kept::from_leaving : Kept::no);
  } else {
    // Nothing was sent yet, and nothing may be now: step() goes on when it may.
    stage_ = Stage::dialed;
    upstream_ = std::move(dialed).take();
    upstream_->on_change([this] { wake_(); });
  }
  wake_();
}

void Exchange::begin_talking(std::unique_ptr<Stream> upstream) {
  stage_ = Stage::talking;
  upstream_ = std::move(upstream);
  upstream_->on_change([this] { wake_(); });
  // A value that comes back in parts is not found and could be put together in the sandbox: in the response to this
  // request, or, if the host keeps what it is sent, in the response to any later one.
  if (whole_only_) {
    for (const auto name : {"Range", "If-Range"}) fields_.remove(name);
  }
  upstream_->write(upstream_head(
      {.request = request_, .fields = fields_, .query = query_, .body = sent_plan_, .identity = looks_through_}));
  // A body that was collected is kept until it is answered, for a connection from the pool may be dead.
  if (sent_plan_.framing == Framing::length && body_taken_) upstream_->write(body_);
  if (changes_things(request_.head.method)) session_.count_sent_for_good();
  if (!body_taken_) send_continue();
}

bool Exchange::move_body() {
  if (body_taken_ || !upstream_) return false;
  const std::size_t room = upstream_->room();
  if (room == 0 || upstream_->state() == Stream::State::broken) return false;
  const std::size_t before = client_.input().size();
  const bool goes_on = take_body(room);
  if (!goes_on && fate_ != Fate::asks) return true;
  if (sent_plan_.framing == Framing::chunked) {
    std::string chunk;
    append_chunk(chunk, body_);
    if (body_taken_) chunk += last_chunk;
    upstream_->write(chunk);
  } else {
    upstream_->write(body_);
  }
  body_.clear();
  return client_.input().size() != before;
}

// ── on the way back ──

bool Exchange::move_answer() {
  if (!upstream_ || fate_ == Fate::broken || stage_ != Stage::talking) return false;
  const std::string_view input = upstream_->input();
  if (!response_ && !input.empty()) {
    response_.emplace(ResponseFilter::Terms{.method = request_.head.method,
                                            .client_minor_version = request_.head.minor_version,
                                            .keeps_client = request_.keeps_client && body_taken_,
                                            .whole_only = whole_only_,
                                            .scrubber = session_.scrubber()});
  }
  std::size_t taken = 0;
  if (response_ && client_.room() > 0) {
    std::string_view bytes = response_->begun() ? input.substr(0, client_.room()) : input;
    const std::size_t offered = bytes.size();
    response_->feed(bytes, client_.outgoing());
    taken = offered - bytes.size();
    upstream_->consume(taken);
  }
  const bool gone = upstream_->ended() || upstream_->state() == Stream::State::broken;
  const bool stuck = response_ && !response_->begun() && taken == 0;  // half a head, and no more comes
  if (gone && response_ && !response_->done() && (upstream_->input().empty() || stuck))
    response_->end(client_.outgoing());
  if (response_ && response_->done()) {
    on_answered();
  } else if (response_ && response_->failed()) {
    answer(502, record_.host + " cannot be understood: " + response_->fault(), Kept::no);
  } else if (gone && !response_) {
    on_upstream_gone();
  }
  return taken > 0 && stage_ == Stage::talking;
}

void Exchange::on_upstream_gone() {
  const std::string fault = upstream_->fault();
  upstream_.reset();
  // It may have been closed while it was idle. Only a request without side effects is sent again.
  if (from_pool_ && body_taken_ && !changes_things(request_.head.method)) return connect();
  answer(502, record_.host + " closed the connection without an answer" + (fault.empty() ? "" : ": " + fault),
         Kept::no);
}

void Exchange::on_answered() {
  if (response_->keeps_upstream() && body_taken_ && upstream_->unsent() == 0) {
    session_.pool().put(request_.leads_to(), std::move(upstream_));
  }
  end(response_->keeps_client() && body_taken_ ? Fate::kept : Fate::closing);
}

void Exchange::answer(int status, std::string_view words, Kept kept) {
  if (kept == Kept::from_leaving) record_.refused = words;
  if (response_ && response_->begun()) {
    client_.break_off();
    return end(Fate::broken);
  }
  response_.reset();
  const bool keeps = request_.keeps_client && body_taken_;
  client_.write(own_answer(status, words, keeps, request_.head.method));
  record_.status = status;
  end(keeps ? Fate::kept : Fate::closing);
}

void Exchange::end(Fate fate) {
  // What was cut off must not look complete to the other side.
  if (upstream_ && fate != Fate::kept && !body_taken_) upstream_->break_off();
  upstream_.reset();
  dial_.reset();
  body_ = {};
  stage_ = Stage::over;
  fate_ = fate;
}

}  // namespace sluice::egress
