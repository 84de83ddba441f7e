// One request on an HTTP/1 connection, and the format of its answer: heads, chunks, and what HEAD and HTTP/1.0 leave
// out. Used on the loop's thread.
#pragma once

#include "net/http_head.h"
#include "net/net.h"
#include "net/outbox.h"
#include "net/server_context.h"

namespace sluice::net {

// What an exchange needs of the connection that carries it.
class Http1Carrier {
 public:
  virtual ~Http1Carrier() = default;
  virtual ServerContext& context() = 0;
  virtual Outbox& outbox() = 0;
  virtual bool may_persist() const = 0;
  virtual void schedule_flush() = 0;
  // The exchange ends as soon as the client has sent everything that it will send.
  virtual void heed_half_close() = 0;
  virtual void show_key() = 0;
  virtual void charge(std::shared_ptr<AnswerAccount> account) = 0;
  virtual void end_answer(bool persists) = 0;
  // `by_reset`: a plain end would look like the end of the body.
  virtual void abort_answer(bool by_reset) = 0;
};

class Http1Exchange final : public Exchange, public std::enable_shared_from_this<Http1Exchange> {
 public:
  Http1Exchange(Http1Carrier& connection, Request request, bool is_http_1_0);

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

  // Called by the connection when the answer is complete.
  void detach();
  // Called by the connection when the client is gone.
  void lose_peer();
  // Called by the connection when everything that was written has been sent.
  void on_sent();

 private:
  void write_head(int status, Framing framing, std::size_t length, const Headers& headers, std::string_view body);

  Http1Carrier* connection_;  // null once the answer is complete or the peer is gone
  const Request request_;
  Callback<void()> on_drained_;
  Callback<void()> on_gone_;
  Framing framing_ = Framing::length;
  const bool is_http_1_0_;
  const bool is_head_;
  bool started_ = false;
  bool bodiless_ = false;  // no body is sent, whatever is written
  bool persists_ = true;   // the connection serves another request after this
  bool gone_ = false;
  bool leaves_at_half_close_ = false;
};

}  // namespace sluice::net
