// One request on an HTTP/2 connection, and its answer. Used on the loop's thread.
#pragma once

#include "net/http2_session.h"
#include "net/http2_stream.h"
#include "net/net.h"

namespace sluice::net {

// What an exchange needs of the connection that carries it.
class Http2Carrier {
 public:
  virtual ~Http2Carrier() = default;
  virtual void answer(Http2Stream& stream, Response response) = 0;
  virtual void start_answer(Http2Stream& stream, int status, const Headers& headers, Http2Session::BodyOf body) = 0;
  virtual void on_written(Http2Stream& stream) = 0;
  virtual void end_answer(Http2Stream& stream) = 0;
  virtual void abort_answer(Http2Stream& stream) = 0;
  virtual void show_key() = 0;
  virtual void charge(std::shared_ptr<AnswerAccount> account) = 0;
};

class Http2Exchange final : public Exchange {
 public:
  Http2Exchange(Http2Carrier& connection, Http2Stream& stream, Request request);

  const Request& request() const override { return request_; }
  void respond(Response response) override;
  void start(int status, Headers headers) override;
  void write(SharedBytes bytes) override;
  void finish() override;
  void abort() override;
  // What flow control or the connection's other streams hold back; not the little that the socket does.
  std::size_t unsent_bytes() const override;
  bool gone() const override { return gone_; }
  void on_drained(Callback<void()> then) override;
  void on_gone(Callback<void()> then) override;
  // The end of a request means nothing here: a client that leaves resets the stream.
  void leave_at_half_close() override {}
  void trust_caller() override;
  void charge_answers(std::shared_ptr<AnswerAccount> account) override;

  // Called by the connection when the answer is complete.
  void detach();
  // Called by the connection when the client is gone.
  void lose_peer();
  // Called by the connection when everything that was written has been taken.
  void on_sent();

 private:
  // Both null once the answer is complete or the peer is gone.
  Http2Carrier* connection_;
  Http2Stream* stream_;
  const Request request_;
  Callback<void()> on_drained_;
  Callback<void()> on_gone_;
  bool started_ = false;
  bool bodiless_ = false;  // no body is sent, whatever is written
  bool gone_ = false;
};

}  // namespace sluice::net
