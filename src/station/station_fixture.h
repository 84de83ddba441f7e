// A station with everything around it scripted: the workspace, the caller, the agent.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "api/fake_exchange.h"
#include "base/digest.h"
#include "net/fake_client.h"
#include "station/station.h"
#include "world/fake_world.h"

namespace sluice::station {

// Work that does what the test says, and remembers how it was ended.
class FakeDispatcher final : public dispatch::Dispatcher {
 public:
  explicit FakeDispatcher(world::Loop& loop) : loop_(loop) {}

  std::unique_ptr<dispatch::Work> dispatch(dispatch::Dispatch dispatch, dispatch::DispatchListener& its) override {
    dispatched.push_back(std::move(dispatch));
    listener = &its;
    return std::make_unique<FakeWork>(*this);
  }
  bool can_resume(const model::Agent&, std::string_view) const override { return false; }
  bool reads_history(const model::Agent&) const override { return true; }
  void release(model::ConversationId) override {}
  void forget_parked(model::RunId, model::ConversationId) override {}
  bool keeps_boxes() const override { return true; }
  int warm_available() const override { return 0; }

  void say(std::string text) { listener->on_event({model::EventKind::text, loop_.now(), std::move(text)}); }
  void step(std::string body) { listener->on_event({model::EventKind::step, loop_.now(), std::move(body)}); }

  std::vector<dispatch::Dispatch> dispatched;
  dispatch::DispatchListener* listener = nullptr;
  int stopped = 0;
  int dropped = 0;
  bool held = false;
  int64_t stopping_ms = 0;  // until nothing is left

 private:
  class FakeWork final : public dispatch::Work {
   public:
    explicit FakeWork(FakeDispatcher& dispatcher) : dispatcher_(dispatcher) {}
    ~FakeWork() override {
      ++dispatcher_.dropped;
      dispatcher_.listener = nullptr;
    }
    void stop(Callback<void()> gone) override {
      ++dispatcher_.stopped;
      timer_ = dispatcher_.loop_.after(Millis{dispatcher_.stopping_ms}, std::move(gone));
    }
    void go_on(std::vector<model::ClientResult>) override {}
    void hold_back(bool is_held) override { dispatcher_.held = is_held; }

   private:
    FakeDispatcher& dispatcher_;
    world::Timer timer_;
  };

  world::Loop& loop_;
};

class StationTest : public testing::Test {
 protected:
  StationTest() { options_.agent_urls = {"http://workspace.example"}; }

  Station& station() {
    if (!station_) station_ = make_station({agents_, client_, loop_, ids_, log_, metrics_}, options_);
    return *station_;
  }

  static std::string body(std::string_view more = R"(,"otp_upload":"otpu_3")") {
    return R"({"agent_url":"http://workspace.example/api/agents/exe_1/","otp_setup":"otps_1","otp_run":"otpr_2",)"
           R"("prompt":"Hello")" +
           std::string(more) + "}";
  }

  std::shared_ptr<api::FakeExchange> ask(std::string method, std::string path, std::string query = "",
                                         net::Headers headers = {}, std::string its_body = "") {
    auto exchange = std::make_shared<api::FakeExchange>(net::Request{
        std::move(method), std::move(path), std::move(query), std::move(headers), std::move(its_body), ""});
    station().handle(exchange);
    loop_.settle();
    return exchange;
  }
  std::shared_ptr<api::FakeExchange> post(std::string its_body, std::string query = "", net::Headers headers = {}) {
    return ask("POST", "/stream", std::move(query), std::move(headers), std::move(its_body));
  }
  // Redeems both tokens, and is at work.
  std::shared_ptr<api::FakeExchange> at_work(std::string query = "", std::string config = R"({"agent":{}})",
                                             net::Headers headers = {}) {
    client_.answer(net::FakeAnswer::whole(200, R"({"variables":{"A":"1"},"script":"make"})"));
    client_.answer(net::FakeAnswer::whole(200, std::move(config)));
    auto exchange = post(body(), std::move(query), std::move(headers));
    EXPECT_EQ(agents_.dispatched.empty(), false) << exchange->body;
    return exchange;
  }
  static std::vector<std::string> lines(const api::FakeExchange& exchange) {
    std::vector<std::string> out;
    for (std::string_view rest = exchange.body; !rest.empty();) {
      out.emplace_back(rest.substr(0, rest.find('\n')));
      rest.remove_prefix(out.back().size() + 1);
    }
    return out;
  }
  static std::string last_line(const api::FakeExchange& exchange) {
    const auto all = lines(exchange);
    return all.empty() ? "" : all.back();
  }
  // The member of a line, as JSON.
  static std::string member(const std::string& line, std::string_view name) {
    const auto document = json::Document::parse(line);
    if (!document) return "no JSON";
    const auto value = document.value().root().find(name);
    return value ? value->to_text() : "";
  }
  static std::string phases(const api::FakeExchange& exchange) {
    std::string out;
    for (const auto& line : lines(exchange)) {
      if (const auto phase = member(line, "phase"); !phase.empty()) out += phase.substr(1, phase.size() - 2) + " ";
    }
    return out;
  }

  world::FakeLoop loop_;
  world::FakeEntropy entropy_;
  world::IdSource ids_{loop_, entropy_};
  world::FakeLog log_;
  world::Metrics metrics_;
  net::FakeClient client_{loop_};
  FakeDispatcher agents_{loop_};
  StationOptions options_;
  std::unique_ptr<Station> station_;
};

}  // namespace sluice::station
