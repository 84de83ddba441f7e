// A request of which only the head has come: it is turned away, or welcomed, which means that its body may follow.
#pragma once

#include <optional>
#include <utility>

#include "base/check.h"
#include "net/net.h"

namespace sluice::api {

class HeadExchange final : public net::Exchange {
 public:
  using Verdict = Callback<void(std::optional<net::Response>)>;

  HeadExchange(net::Request head, Verdict verdict) : head_(std::move(head)), verdict_(std::move(verdict)) {}

  void welcome() { say(std::nullopt); }

  const net::Request& request() const override { return head_; }
  void respond(net::Response response) override { say(std::move(response)); }

  // Whoever is turned away is told so in one piece.
  void start(int, net::Headers) override { SLUICE_CHECK(false); }
  void write(SharedBytes) override { SLUICE_CHECK(false); }
  void finish() override { SLUICE_CHECK(false); }
  void abort() override { SLUICE_CHECK(false); }
  std::size_t unsent_bytes() const override { return 0; }
  bool gone() const override { return false; }
  void on_drained(Callback<void()>) override {}
  void on_gone(Callback<void()>) override {}
  void leave_at_half_close() override {}

 private:
  void say(std::optional<net::Response> answer) {
    SLUICE_CHECK(verdict_);
    std::exchange(verdict_, nullptr)(std::move(answer));
  }

  const net::Request head_;
  Verdict verdict_;
};

}  // namespace sluice::api
