#include "net/http2_exchange.h"

#include "net/http_head.h"

namespace sluice::net {

Http2Exchange::Http2Exchange(Http2Carrier& connection, Http2Stream& stream, Request request)
    : connection_(&connection), stream_(&stream), request_(std::move(request)) {}

void Http2Exchange::respond(Response response) {
  if (connection_ == nullptr) return;
  SLUICE_CHECK(!started_);
  started_ = true;
  connection_->answer(*stream_, std::move(response));
}

void Http2Exchange::start(int status, Headers headers) {
  if (connection_ == nullptr) return;
  SLUICE_CHECK(!started_);
  started_ = true;
  bodiless_ = request_.method == "HEAD" || has_no_body(status);
  connection_->start_answer(*stream_, status, headers,
                            bodiless_ ? Http2Session::BodyOf::none : Http2Session::BodyOf::outbox);
}

void Http2Exchange::write(SharedBytes bytes) {
  if (connection_ == nullptr || bodiless_ || bytes->empty()) return;
  SLUICE_CHECK(started_);
  stream_->outbox.add_shared(std::move(bytes));
  connection_->on_written(*stream_);
}

void Http2Exchange::finish() {
  if (connection_ == nullptr) return;
  SLUICE_CHECK(started_);
  connection_->end_answer(*stream_);
}

void Http2Exchange::abort() {
  if (connection_ == nullptr) return;
  gone_ = true;
  connection_->abort_answer(*stream_);
}

std::size_t Http2Exchange::unsent_bytes() const { return stream_ == nullptr ? 0 : stream_->outbox.size(); }

void Http2Exchange::on_drained(Callback<void()> then) {
  if (connection_ != nullptr) on_drained_ = std::move(then);
}

void Http2Exchange::on_gone(Callback<void()> then) {
  if (connection_ != nullptr) on_gone_ = std::move(then);
}

void Http2Exchange::trust_caller() {
  if (connection_ != nullptr) connection_->show_key();
}

void Http2Exchange::charge_answers(std::shared_ptr<AnswerAccount> account) {
  if (connection_ != nullptr) connection_->charge(std::move(account));
}

void Http2Exchange::detach() {
  connection_ = nullptr;
  stream_ = nullptr;
  // The callbacks often own this exchange, so they are destroyed last.
  const auto drained = std::move(on_drained_);
  const auto left = std::move(on_gone_);
}

void Http2Exchange::lose_peer() {
  gone_ = true;
  auto then = std::move(on_gone_);
  detach();
  if (then) then();
}

void Http2Exchange::on_sent() {
  if (!on_drained_) return;
  // The callback may end the answer, or replace itself, while it runs.
  auto then = std::move(on_drained_);
  then();
  if (connection_ != nullptr && !on_drained_) on_drained_ = std::move(then);
}

}  // namespace sluice::net
