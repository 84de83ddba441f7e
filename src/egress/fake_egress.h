// A way out of boxes for tests: nothing leaves; what a box would have sent is what the test says.
//
//   FakeEgress egress;
//   …the runner opens an outlet and serves a guest…
//   FakeWay& way = egress.way();
//   const uint64_t number = way.ask({.host = "api.example.com", .method = "GET", .alias = "TOKEN"});
//   EXPECT_TRUE(way.settled.at(number).go_on);
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

// One outlet as its test sees it; lives on when the outlet is dropped.
struct FakeWay {
  struct Answer {
    bool go_on = false;
    std::string words;
  };

  OwnedFd listener_fd;
  std::optional<Guest> guest;          // empty: nobody's
  OutletListener* listener = nullptr;  // of that guest
  std::vector<model::RunId> served;    // every guest there was
  int gate_closings = 0;
  bool held = false;
  std::map<uint64_t, Answer> settled;  // by the question's number
  int64_t sent_for_good = 0;           // of this guest; set back by the next
  std::vector<Passage> under_way;      // what break_off() gives
  bool dropped = false;

  // A request meets a gate. Gives the question's number.
  uint64_t ask(Question question) {
    SLUICE_CHECK(listener != nullptr);
    question.number = ++asked_;
    listener->on_question(std::move(question));
    return asked_;
  }
  // A request is over.
  void pass(Passage passage) {
    SLUICE_CHECK(listener != nullptr);
    if (passage.refused.empty() && passage.method != "GET" && passage.method != "HEAD" && passage.method != "OPTIONS") {
      ++sent_for_good;
    }
    listener->on_passage(std::move(passage));
  }

 private:
  uint64_t asked_ = 0;
};

class FakeOutlet final : public Outlet {
 public:
  explicit FakeOutlet(std::shared_ptr<FakeWay> way) : way_(std::move(way)) {}
  ~FakeOutlet() override {
    way_->dropped = true;
    forget();
  }
  void serve(Guest guest, OutletListener& listener) override {
    way_->served.push_back(guest.run);
    way_->guest = std::move(guest);
    way_->listener = &listener;
    way_->sent_for_good = 0;
  }
  std::vector<Passage> break_off() override { return std::exchange(way_->under_way, {}); }
  void hold(bool held) override { way_->held = held; }
  void close_gate() override {
    ++way_->gate_closings;
    forget();
  }
  void settle(uint64_t number, bool go_on, std::string_view words) override {
    way_->settled[number] = {.go_on = go_on, .words = std::string(words)};
  }
  int64_t sent_for_good() const override { return way_->sent_for_good; }

 private:
  void forget() {
    way_->guest.reset();
    way_->listener = nullptr;
  }
  std::shared_ptr<FakeWay> way_;  // shared with the test, which looks at it after the outlet is gone
};

class FakeSingleHostWay final : public SingleHostWay {
 public:
  FakeSingleHostWay(OwnedFd listener_fd, std::optional<Error> fault)
      : listener_fd_(std::move(listener_fd)), fault_(std::move(fault)) {}
  const std::optional<Error>& fault() const override { return fault_; }

 private:
  OwnedFd listener_fd_;
  std::optional<Error> fault_;
};

class FakeEgress final : public Egress {
 public:
  std::unique_ptr<Outlet> open(OwnedFd listener_fd) override {
    ways.push_back(std::make_shared<FakeWay>());
    ways.back()->listener_fd = std::move(listener_fd);
    return std::make_unique<FakeOutlet>(ways.back());
  }
  std::unique_ptr<SingleHostWay> open_single_host(OwnedFd listener_fd, SingleHost to) override {
    single_hosts.push_back(std::move(to));
    return std::make_unique<FakeSingleHostWay>(std::move(listener_fd), single_host_fault);
  }
  const std::string& ca_bundle_file() const override { return bundle_file; }

  // The outlet that was opened last.
  FakeWay& way() {
    SLUICE_CHECK(!ways.empty());
    return *ways.back();
  }

  std::vector<std::shared_ptr<FakeWay>> ways;  // in the order they were opened
  std::vector<SingleHost> single_hosts;        // the same
  std::optional<Error> single_host_fault;      // of all that are opened from now on
  std::string bundle_file = "/etc/ssl/certs/ca-certificates.crt";
};

}  // namespace sluice::egress
