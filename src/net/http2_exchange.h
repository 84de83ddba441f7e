// One request on an HTTP/2 connection, and its answer.
#pragma once

#include "net/http2_stream.h"
#include "net/net.h"

namespace sluice::net {

class Http2Connection;

class Http2Exchange final : public Exchange {
 public:
  Http2Exchange(Http2Connection& connection, Http2Stream& stream, Request request);

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
  // The end of a request says nothing here: who leaves resets the stream.
  void leave_at_half_close() override {}
  void trust_caller() override;
  void charge_answers(std::shared_ptr<AnswerAccount> account) override;

  // The connection says: the answer is complete.
  void detach();
  // The connection says: nobody will read the rest.
  void lose_peer();
  // The connection says: all that was written has been taken.
  void tell_drained();

 private:
  // Both null once the answer is complete or the peer is gone.
  Http2Connection* connection_;
  Http2Stream* stream_;
  const Request request_;
  Callback<void()> on_drained_;
  Callback<void()> on_gone_;
  bool started_ = false;
  bool bodiless_ = false;  // whatever is written, no body is sent
  bool gone_ = false;
};

}  // namespace sluice::net
