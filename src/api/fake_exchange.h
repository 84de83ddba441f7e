// A caller without a socket: asks one thing, remembers every byte of the answer, and can be slow or
// leave.
#pragma once

#include <string>
#include <utility>

#include "base/check.h"
#include "base/json.h"
#include "net/net.h"

namespace sluice::api {

class FakeExchange final : public net::Exchange {
 public:
  explicit FakeExchange(net::Request request) : request_(std::move(request)) {}

  const net::Request& request() const override { return request_; }

  void respond(net::Response response) override {
    if (gone_) return;
    begin(response.status, std::move(response.headers));
    body = response.shared_body ? *response.shared_body : std::move(response.body);
    finished = true;
  }
  void start(int its_status, net::Headers its_headers) override {
    if (!gone_) begin(its_status, std::move(its_headers));
  }
  void write(SharedBytes bytes) override {
    if (gone_) return;
    SLUICE_CHECK(status != 0 && !finished && !aborted);
    body += *bytes;
    if (!reads_) unsent_ += bytes->size();
  }
  void finish() override {
    SLUICE_CHECK(!finished && !aborted);
    finished = true;
  }
  void abort() override { aborted = true; }
  std::size_t unsent_bytes() const override { return unsent_; }
  bool gone() const override { return gone_; }
  void on_drained(Callback<void()> then) override { on_drained_ = std::move(then); }
  void on_gone(Callback<void()> then) override { on_gone_ = std::move(then); }
  void leave_at_half_close() override { leaves_at_half_close = true; }
  void trust_caller() override { is_trusted = true; }
  void charge_answers(std::shared_ptr<net::AnswerAccount> its_account) override { account = std::move(its_account); }

  void hang_up() {
    gone_ = true;
    if (auto then = std::move(on_gone_)) then();
  }
  void stop_reading() { reads_ = false; }
  void read_again() {
    reads_ = true;
    unsent_ = 0;
    if (on_drained_) on_drained_();
  }

  std::string header(std::string_view name) const { return std::string(headers.find(name).value_or("")); }
  // A member of the JSON in the body, as JSON; empty when there is none.
  std::string member(std::string_view name) const {
    const auto document = json::Document::parse(body);
    if (!document) return "";
    const auto value = document.value().root().find(name);
    return value ? value->to_text() : "";
  }
  // The same for a string that needs no escapes, without its quotes.
  std::string text(std::string_view name) const {
    const std::string quoted = member(name);
    return quoted.starts_with('"') ? quoted.substr(1, quoted.size() - 2) : "";
  }
  // The last part of the problem's type.
  std::string slug() const {
    const std::string type = text("type");
    return type.substr(type.rfind('/') + 1);
  }

  int status = 0;  // 0: no answer yet
  net::Headers headers;
  std::string body;
  bool finished = false;
  bool aborted = false;
  bool leaves_at_half_close = false;
  bool is_trusted = false;
  std::shared_ptr<net::AnswerAccount> account;

 private:
  void begin(int its_status, net::Headers its_headers) {
    SLUICE_CHECK(status == 0);  // one answer per request
    status = its_status;
    headers = std::move(its_headers);
  }

  net::Request request_;
  std::size_t unsent_ = 0;
  bool reads_ = true;
  bool gone_ = false;
  Callback<void()> on_drained_;
  Callback<void()> on_gone_;
};

}  // namespace sluice::api
