#include "net/http1_exchange.h"

namespace sluice::net {
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
