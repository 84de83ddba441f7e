// HTTP/1 of the server. Own file: the connection and its exchange, apart from accepting and greeting in server.cc.
//
// One HTTP/1 connection: reads requests one after the other, hands each to the handler, and sends what
// the exchange queues. Requests that come before their turn wait, within a bound.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "net/connection.h"
#include "net/http_head.h"
#include "net/http_parser.h"
#include "net/net.h"
#include "net/outbox.h"
#include "net/outflow.h"
#include "net/server_context.h"
#include "net/transport.h"

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

// One request on an HTTP/1 connection, and the format of its answer: heads, chunks, and what HEAD and HTTP/1.0 leave
// out.
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

class Http1Connection final : public Connection,
                              private Http1Carrier,
                              public std::enable_shared_from_this<Http1Connection> {
 public:
  Http1Connection(ServerContext& context, std::unique_ptr<Transport> transport, Caller caller);

  // `received` has been read already; the first head must be whole by `due_us`.
  void begin(std::string_view received, int64_t due_us);
  void drain() override;
  void close() override;

  const Caller& caller() const override { return caller_; }
  bool is_behind() const override { return unread_bytes_ > 0 && !flush_scheduled_; }

 private:
  enum class Phase : uint8_t {
    idle,  // between requests
    head,  // a request has begun to come
    body,
    answering,  // the exchange has it
    closing,    // what is queued is sent, and nothing more is read
    lingering,  // all is sent; waiting for the client to see it
    closed,
  };
  static constexpr int64_t never = INT64_MAX;

  // For the exchange.
  ServerContext& context() override { return context_; }
  Outbox& outbox() override { return outflow_.outbox(); }
  bool may_persist() const override { return keep_alive_ && !half_closed_ && !context_.draining; }
  void schedule_flush() override;
  void heed_half_close() override;
  void show_key() override { caller_.show_key(); }
  void charge(std::shared_ptr<AnswerAccount> account) override { caller_.charge(std::move(account), unread_bytes_); }
  void end_answer(bool persists) override;
  void abort_answer(bool by_reset) override;

  void on_ready(world::Ready ready);
  void read_input();
  void take(std::string_view bytes);
  void consume(std::string_view bytes);
  void note_progress();
  void begin_body();
  void admit();
  void say_continue();
  void dispatch();
  void refuse(int status, std::string_view detail);
  void turn_away(const Response& response);
  void on_end_of_input();
  void probe_peer();

  void flush();
  void count_unread();
  void send_queued();
  void resume();
  void end_gently();

  void enter(Phase phase, int64_t ms_max);
  bool is_reading() const { return phase_ == Phase::idle || phase_ == Phase::head || phase_ == Phase::body; }
  bool is_backed_up() const;
  bool wants_input() const;
  void settle();
  void set_timer();
  void on_timer();

  ServerContext& context_;
  std::unique_ptr<Transport> transport_;
  Caller caller_;
  std::unique_ptr<world::Watch> watch_;
  RequestParser parser_;
  Outflow outflow_;
  std::string inbox_;  // received before its turn
  std::shared_ptr<Http1Exchange> exchange_;

  // One timer, set no more often than needed: when it fires it looks what is due by then.
  world::Timer timer_;
  int64_t timer_due_us_ = never;
  int64_t phase_due_us_ = never;
  int64_t body_begun_us_ = 0;
  uint64_t bodies_begun_ = 0;  // a verdict may come when the next request is at it already

  Phase phase_ = Phase::idle;
  bool keep_alive_ = true;
  bool half_closed_ = false;  // the client has said all it will; it may still listen
  bool flush_scheduled_ = false;
};

}  // namespace sluice::net
