// One message on its way to its end: live, and after any cut until the end is known.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "client/client.h"

namespace sluice::client {

// Where the message is, as far as is known.
struct Target {
  std::string conversation_id;  // empty when following by message id
  std::string message_id;       // empty until the server has named it
  std::string body;             // what to send; empty: nothing, the message exists
  net::Headers headers;
  int64_t last_seq = -1;  // of the events that have been delivered
};

net::ClientRequest make_request(const Server& server, std::string method, std::string_view path, std::string body,
                                const net::Headers& headers);

class Follow final : public Pending, private net::CallListener {
 public:
  Follow(const Server& server, const SessionOptions& options, net::Client& client, world::Loop& loop);

  void begin(Target target, Hearing hearing, Callback<void(Outcome)> done);

 private:
  enum class Step : uint8_t {
    send,    // POST the message; again only under the caller's Idempotency-Key
    attach,  // GET its events after the last one that was delivered
    poll,    // GET the history
  };

  void on_head(int status, const net::Headers& headers) override;
  void on_body(std::string_view bytes) override;
  void on_end(net::CallEnd end) override;

  void ask();
  net::ClientRequest request_of_step() const;
  void take(const std::vector<Event>& events);
  void judge_answer();
  void judge_send();
  void judge_attach();
  void judge_poll();
  void judge_message(std::string_view status, std::string json);

  void retry(Step step, const std::string& why);
  void recover(const std::string& why);
  void notice_outage();
  void notice_return();
  void finish(Outcome outcome);
  void refuse() { finish({Outcome::Kind::refused, body_, "", status_}); }
  bool server_is_unwell() const { return status_ >= 500 || status_ == 429; }

  const Server& server_;
  const SessionOptions& options_;
  net::Client& client_;
  world::Loop& loop_;

  Target target_;
  Hearing hearing_;
  Callback<void(Outcome)> done_;

  Step step_ = Step::send;
  bool may_attach_ = true;
  bool sent_before_ = false;
  bool reached_once_ = false;
  int64_t reached_us_ = 0;  // when the server last made sense
  int64_t wait_ms_ = 0;
  std::string cursor_;  // of the page of history to ask for next

  // The call in flight.
  std::unique_ptr<net::Call> call_;
  EventStream stream_;
  bool streaming_ = false;
  bool decided_ = false;  // the next call is decided; the rest of this one is ignored
  int status_ = 0;
  std::string body_;
  world::Timer next_;

  bool is_lost_ = false;
  bool was_told_lost_ = false;
  world::Timer outage_;
};

}  // namespace sluice::client
