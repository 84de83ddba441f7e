#include "client/client.h"
#include "client/follow.h"

namespace sluice::client {
namespace {

class PlainRequest final : public Pending, private net::CallListener {
 public:
  PlainRequest(world::Loop& loop, Callback<void(Result<Reply>)> done) : loop_(loop), done_(std::move(done)) {}

  void begin(net::Client& client, net::ClientRequest request) { call_ = client.call(std::move(request), *this); }

 private:
  void on_head(int status, const net::Headers& headers) override {
    reply_.status = status;
    reply_.headers = headers;
  }
  void on_body(std::string_view bytes) override {
    if (reply_.body.size() + bytes.size() > reply_bytes_max) too_large_ = true;
    if (!too_large_) reply_.body += bytes;
  }
  void on_end(net::CallEnd end) override {
    if (too_large_) end = {net::CallFailure::cut, "the answer is larger than 64 MiB"};
    // Later, because the caller may drop us, and with us the call we are inside of.
    finished_ = loop_.after({0}, [this, end = std::move(end)] {
      auto done = std::move(done_);
      if (end.failure) return done(Error{ErrorKind::unavailable, end.what});
      done(std::move(reply_));
    });
  }

  world::Loop& loop_;
  Callback<void(Result<Reply>)> done_;
  std::unique_ptr<net::Call> call_;
  Reply reply_;
  bool too_large_ = false;
  world::Timer finished_;
};

}  // namespace

Session::Session(Server server, SessionOptions options, net::Client& client, world::Loop& loop)
    : server_(std::move(server)), options_(options), client_(client), loop_(loop) {
  while (server_.base_url.ends_with('/')) server_.base_url.pop_back();
}

std::unique_ptr<Pending> Session::request(std::string method, std::string path, std::string body, net::Headers headers,
                                          Callback<void(Result<Reply>)> done) {
  auto pending = std::make_unique<PlainRequest>(loop_, std::move(done));
  pending->begin(client_, make_request(server_, std::move(method), path, std::move(body), headers));
  return pending;
}

std::unique_ptr<Pending> Session::send_message(std::string conversation_id, std::string body, net::Headers headers,
                                               Hearing hearing, Callback<void(Outcome)> done) {
  SLUICE_CHECK(!conversation_id.empty() && !body.empty());
  auto pending = std::make_unique<Follow>(server_, options_, client_, loop_);
  Target target{.conversation_id = std::move(conversation_id), .body = std::move(body), .headers = std::move(headers)};
  pending->begin(std::move(target), std::move(hearing), std::move(done));
  return pending;
}

std::unique_ptr<Pending> Session::follow(std::string message_id, int64_t after, Hearing hearing,
                                         Callback<void(Outcome)> done) {
  SLUICE_CHECK(!message_id.empty());
  auto pending = std::make_unique<Follow>(server_, options_, client_, loop_);
  pending->begin({.message_id = std::move(message_id), .last_seq = after}, std::move(hearing), std::move(done));
  return pending;
}

}  // namespace sluice::client
