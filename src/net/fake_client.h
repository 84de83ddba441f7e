// A client for tests, with the door of the real one: answers are scripted, requests are kept, and
// the faults a network has are in its API. Driven by a loop, so time can be told to move.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "net/net.h"
#include "world/world.h"

namespace sluice::net {

// What one call will meet, in order. When the script has no end, silence follows, until one of the
// call's deadlines.
class FakeAnswer {
 public:
  struct Head {
    int status;
    Headers headers;
  };
  struct Piece {
    std::string bytes;
  };
  struct Wait {
    int64_t ms;
  };
  using Step = std::variant<Head, Piece, Wait, CallEnd>;

  FakeAnswer() = default;
  static FakeAnswer connection_refused() { return FakeAnswer().fail(CallFailure::unreachable, "Connection refused"); }
  static FakeAnswer whole(int status, std::string body, Headers headers = {}) {
    return FakeAnswer().head(status, std::move(headers)).piece(std::move(body)).finish();
  }

  FakeAnswer& head(int status, Headers headers = {}) { return add(Head{status, std::move(headers)}); }
  FakeAnswer& piece(std::string bytes) { return add(Piece{std::move(bytes)}); }
  FakeAnswer& wait(int64_t ms) { return add(Wait{ms}); }
  FakeAnswer& finish() { return add(CallEnd{}); }
  FakeAnswer& fail(CallFailure failure, std::string what) { return add(CallEnd{failure, std::move(what)}); }

  // Breaks off after so many bytes of the body, whatever was scripted.
  FakeAnswer& cut_after(std::size_t bytes) {
    std::deque<Step> kept;
    for (Step& step : steps_) {
      if (std::holds_alternative<CallEnd>(step)) break;
      if (auto* piece = std::get_if<Piece>(&step)) {
        if (piece->bytes.size() >= bytes) {
          kept.emplace_back(Piece{piece->bytes.substr(0, bytes)});
          break;
        }
        bytes -= piece->bytes.size();
      }
      kept.push_back(std::move(step));
    }
    steps_ = std::move(kept);
    return fail(CallFailure::cut, "Connection reset by peer");
  }

 private:
  friend class FakeClient;
  FakeAnswer& add(Step step) {
    steps_.push_back(std::move(step));
    return *this;
  }

  std::deque<Step> steps_;
};

class FakeClient final : public Client {
 public:
  explicit FakeClient(world::Loop& loop) : loop_(loop) {}

  // Answers are met in the order given; a call for which there is none finds nobody listening.
  void answer(FakeAnswer next) { answers_.push_back(std::move(next)); }

  // Answers to calls with this method, in order of their own; the last one is met again and again.
  void answer_method(std::string method, FakeAnswer next) { answers_by_method_[std::move(method)].push_back(next); }
  void forget_method(const std::string& method) { answers_by_method_.erase(method); }

  // Everything that was asked, in order.
  std::vector<ClientRequest> requests;
  // But for what has answers by method.
  std::vector<ClientRequest> requests_by_method;

  std::size_t calls_in_flight() const { return *in_flight_; }

  std::unique_ptr<Call> call(ClientRequest request, CallListener& listener) override {
    if (const auto found = answers_by_method_.find(request.method); found != answers_by_method_.end()) {
      requests_by_method.push_back(request);
      auto& answers = found->second;
      FakeAnswer met = answers.front();
      if (answers.size() > 1) answers.pop_front();
      return std::make_unique<FakeCall>(*this, std::move(request), std::move(met), listener);
    }
    requests.push_back(request);
    FakeAnswer met = FakeAnswer::connection_refused();
    if (!answers_.empty()) {
      met = std::move(answers_.front());
      answers_.pop_front();
    }
    return std::make_unique<FakeCall>(*this, std::move(request), std::move(met), listener);
  }

 private:
  class FakeCall final : public Call {
   public:
    FakeCall(FakeClient& client, ClientRequest request, FakeAnswer answer, CallListener& listener)
        : loop_(client.loop_),
          in_flight_(client.in_flight_),
          request_(std::move(request)),
          steps_(std::move(answer.steps_)),
          listener_(listener) {
      ++*in_flight_;
      next_ = loop_.after(Millis{0}, [this] { go_on(); });
      hear();
      if (request_.total_ms_max > 0) total_ = deadline(request_.total_ms_max, "The answer took too long.");
    }
    ~FakeCall() override { --*in_flight_; }

   private:
    void go_on() {
      // The listener may drop this call; then its last step is not ours to touch.
      const std::weak_ptr<char> alive = alive_;
      while (!alive.expired() && !steps_.empty()) {
        const FakeAnswer::Step step = std::move(steps_.front());
        steps_.pop_front();
        if (const auto* wait = std::get_if<FakeAnswer::Wait>(&step)) {
          next_ = loop_.after(Millis{wait->ms}, [this] { go_on(); });
          return;
        }
        if (const auto* ended = std::get_if<CallEnd>(&step)) return end(*ended);
        hear();
        if (const auto* head = std::get_if<FakeAnswer::Head>(&step)) listener_.on_head(head->status, head->headers);
        if (const auto* piece = std::get_if<FakeAnswer::Piece>(&step)) listener_.on_body(piece->bytes);
      }
    }
    void hear() { idle_ = deadline(request_.idle_ms_max, "Nothing was heard for too long."); }
    world::Timer deadline(int64_t ms, const char* what) {
      return loop_.after(Millis{ms}, [this, what] { end({CallFailure::timed_out, what}); });
    }
    void end(CallEnd end) {
      next_.cancel();
      idle_.cancel();
      total_.cancel();
      listener_.on_end(std::move(end));
    }

    world::Loop& loop_;
    std::shared_ptr<std::size_t> in_flight_;
    const ClientRequest request_;
    std::deque<FakeAnswer::Step> steps_;
    CallListener& listener_;
    std::shared_ptr<char> alive_ = std::make_shared<char>();
    world::Timer next_;
    world::Timer idle_;
    world::Timer total_;
  };

  world::Loop& loop_;
  std::deque<FakeAnswer> answers_;
  std::map<std::string, std::deque<FakeAnswer>> answers_by_method_;
  std::shared_ptr<std::size_t> in_flight_ = std::make_shared<std::size_t>(0);  // a call may outlive the client
};

}  // namespace sluice::net
