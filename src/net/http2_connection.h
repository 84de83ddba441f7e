// One HTTP/2 connection: carries a session's frames over a transport, hands its requests to the handler,
// and keeps the time limits of its streams. What is written in one turn of the loop leaves together.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "net/connection.h"
#include "net/http2_exchange.h"
#include "net/http2_session.h"
#include "net/outflow.h"
#include "net/server_context.h"
#include "net/transport.h"

namespace sluice::net {

class Http2Connection final : public Connection,
                              private Http2Carrier,
                              private Http2Session::Listener,
                              public std::enable_shared_from_this<Http2Connection> {
 public:
  Http2Connection(ServerContext& context, std::unique_ptr<Transport> transport, Caller caller);

  // `received` has been read already; the first request must begin by `due_us`.
  void begin(std::string_view received, int64_t due_us);
  void drain() override;
  void close() override;

  const Caller& caller() const override { return caller_; }
  bool is_behind() const override { return unread_bytes_ > 0 && !flush_scheduled_; }

 private:
  enum class Phase : uint8_t {
    open,
    lingering,  // all is sent; waiting for the client to see it
    closed,
  };
  static constexpr int64_t never = INT64_MAX;

  // For the exchanges.
  void answer(Http2Stream& stream, Response response) override;
  void start_answer(Http2Stream& stream, int status, const Headers& headers, Http2Session::BodyOf body) override {
    send_head(stream, status, headers, body);
  }
  void on_written(Http2Stream& stream) override;
  void end_answer(Http2Stream& stream) override;
  void abort_answer(Http2Stream& stream) override;
  void show_key() override { caller_.show_key(); }
  void charge(std::shared_ptr<AnswerAccount> account) override { caller_.charge(std::move(account), unread_bytes_); }

  void on_begun(Http2Stream& stream) override;
  void on_head(Http2Stream& stream) override;
  void on_body(Http2Stream& stream) override;
  void on_request(Http2Stream& stream) override;
  void on_refused(Http2Stream& stream) override;
  void on_sent(Http2Stream& stream) override;
  void on_answered_early(Http2Stream& stream) override;
  void on_closed(Http2Stream& stream) override;
  void on_nuisance() override;

  void on_ready(world::Ready ready);
  void read_input();
  void send_head(Http2Stream& stream, int status, const Headers& headers, Http2Session::BodyOf body,
                 std::optional<std::size_t> length = {});
  void refuse(Http2Stream& stream, int status, std::string_view detail);
  void turn_away(Http2Stream& stream, Response response);
  void admit(Http2Stream& stream);
  void say_continue(const Http2Stream& stream);
  // Keeps the sum of what the streams have queued.
  void count(Http2Stream& stream);

  void schedule_flush();
  void flush();
  void report_sent();
  void end_gently();
  void lose_exchanges();

  int64_t in_ms(int64_t ms) const { return context_.reactor.monotonic_us() + ms * 1000; }
  void settle();
  void wake_by(int64_t due_us);
  void on_timer();
  void look_at(Http2Stream& stream, int64_t now_us);

  ServerContext& context_;
  std::unique_ptr<Transport> transport_;
  Caller caller_;
  std::unique_ptr<world::Watch> watch_;
  Http2Session session_;
  Outflow outflow_;
  std::vector<std::shared_ptr<Http2Exchange>> drained_;  // whose callbacks run when this turn's frames are sent

  // One timer for the connection and all streams: when it fires it looks what is due by then.
  world::Timer timer_;
  int64_t timer_due_us_ = never;
  int64_t quiet_due_us_ = never;  // without a stream it ends then; so does lingering

  int64_t nuisance_second_ = 0;
  uint32_t nuisances_ = 0;
  Phase phase_ = Phase::open;
  bool flush_scheduled_ = false;
};

}  // namespace sluice::net
