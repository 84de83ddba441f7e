// One request on an HTTP/1 connection, and how its answer is spelt: heads, chunks, and what HEAD and
// HTTP/1.0 leave out.
#pragma once

#include "net/http_head.h"
#include "net/net.h"

namespace sluice::net {

class Http1Connection;

class Http1Exchange final : public Exchange, public std::enable_shared_from_this<Http1Exchange> {
 public:
  Http1Exchange(Http1Connection& connection, Request request, bool is_http_1_0);

  const Request& request() const override { return request_; }
  void respond(Response response) override;
  void start(int status, Headers headers) override;
  void write(SharedBytes bytes) override;
  void finish() override;
  void abort() override;
  std::size_t unsent_bytes() const override;
  bool gone() const override { return gone_; }
  void on_drained(Callback<void()> then) override;
  void on_gone(Callback<void()> then) override;
  void leave_at_half_close() override;
  void trust_caller() override;
  void charge_answers(std::shared_ptr<AnswerAccount> account) override;
  bool leaves_at_half_close() const { return leaves_at_half_close_; }

  // The connection says: the answer is complete.
  void detach();
  // The connection says: nobody will read the rest.
  void lose_peer();
  // The connection says: all that was written has been sent.
  void tell_drained();

 private:
  void write_head(int status, Framing framing, std::size_t length, const Headers& headers, std::string_view body);

  Http1Connection* connection_;  // null once the answer is complete or the peer is gone
  const Request request_;
  Callback<void()> on_drained_;
  Callback<void()> on_gone_;
  Framing framing_ = Framing::length;
  const bool is_http_1_0_;
  const bool is_head_;
  bool started_ = false;
  bool bodiless_ = false;  // whatever is written, no body is sent
  bool persists_ = true;   // the connection serves another request after this
  bool gone_ = false;
  bool leaves_at_half_close_ = false;
};

}  // namespace sluice::net
