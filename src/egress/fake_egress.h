// An egress proxy for tests: nothing leaves, and the test says what a sandbox would have sent.
//
//   FakeEgress egress;
//   …the runner opens a proxy and serves a run…
//   FakeProxy& proxy = egress.proxy();
//   const uint64_t number = proxy.ask({.host = "api.example.com", .method = "GET", .alias = "TOKEN"});
//   EXPECT_TRUE(proxy.settled.at(number).go_on);
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "egress/egress.h"

namespace sluice::egress {

// One proxy as the test sees it; it outlives the proxy.
struct FakeProxy {
  struct Answer {
    bool go_on = false;
    std::string words;
  };

  OwnedFd listener_fd;
  std::optional<RunAccess> access;           // empty: it refuses all requests
  SandboxProxyListener* listener = nullptr;  // of that run
  std::vector<model::RunId> served;          // every run so far
  int refusals = 0;
  bool held = false;
  std::map<uint64_t, Answer> settled;    // by the question's number
  int64_t sent_for_good = 0;             // of this run; set to 0 by the next
  std::vector<RequestRecord> under_way;  // what break_off() returns
  bool dropped = false;

  // A request waits for an answer. Returns the number of its question.
  uint64_t ask(Question question) {
    SLUICE_CHECK(listener != nullptr);
    question.number = ++asked_;
    listener->on_question(std::move(question));
    return asked_;
  }
  // A request is over.
  void pass(RequestRecord record) {
    SLUICE_CHECK(listener != nullptr);
    if (record.refused.empty() && record.method != "GET" && record.method != "HEAD" && record.method != "OPTIONS") {
      ++sent_for_good;
    }
    listener->on_request(std::move(record));
  }

 private:
  uint64_t asked_ = 0;
};

class FakeSandboxProxy final : public SandboxProxy {
 public:
  explicit FakeSandboxProxy(std::shared_ptr<FakeProxy> proxy) : proxy_(std::move(proxy)) {}
  ~FakeSandboxProxy() override {
    proxy_->dropped = true;
    forget();
  }
  void serve(RunAccess access, SandboxProxyListener& listener) override {
    proxy_->served.push_back(access.run);
    proxy_->access = std::move(access);
    proxy_->listener = &listener;
    proxy_->sent_for_good = 0;
  }
  std::vector<RequestRecord> break_off() override { return std::exchange(proxy_->under_way, {}); }
  void hold(bool held) override { proxy_->held = held; }
  void refuse_all() override {
    ++proxy_->refusals;
    forget();
  }
  void settle(uint64_t number, bool go_on, std::string_view words) override {
    proxy_->settled[number] = {.go_on = go_on, .words = std::string(words)};
  }
  int64_t sent_for_good() const override { return proxy_->sent_for_good; }

 private:
  void forget() {
    proxy_->access.reset();
    proxy_->listener = nullptr;
  }
  std::shared_ptr<FakeProxy> proxy_;  // shared with the test, which looks at it after the proxy is gone
};

class FakeSingleHostProxy final : public SingleHostProxy {
 public:
  FakeSingleHostProxy(OwnedFd listener_fd, std::optional<Error> fault)
      : listener_fd_(std::move(listener_fd)), fault_(std::move(fault)) {}
  const std::optional<Error>& fault() const override { return fault_; }

 private:
  OwnedFd listener_fd_;
  std::optional<Error> fault_;
};

class FakeEgress final : public Egress {
 public:
  std::unique_ptr<SandboxProxy> open(OwnedFd listener_fd) override {
    proxies.push_back(std::make_shared<FakeProxy>());
    proxies.back()->listener_fd = std::move(listener_fd);
    return std::make_unique<FakeSandboxProxy>(proxies.back());
  }
  std::unique_ptr<SingleHostProxy> open_single_host(OwnedFd listener_fd, SingleHost to) override {
    single_hosts.push_back(std::move(to));
    return std::make_unique<FakeSingleHostProxy>(std::move(listener_fd), single_host_fault);
  }
  const std::string& ca_bundle_file() const override { return bundle_file; }

  // The proxy that was opened last.
  FakeProxy& proxy() {
    SLUICE_CHECK(!proxies.empty());
    return *proxies.back();
  }

  std::vector<std::shared_ptr<FakeProxy>> proxies;  // in the order they were opened
  std::vector<SingleHost> single_hosts;             // in the order they were opened
  std::optional<Error> single_host_fault;           // of all single-host proxies opened from now on
  std::string bundle_file = "/etc/ssl/certs/ca-certificates.crt";
};

}  // namespace sluice::egress
