// A runner in a world that stands still, with a listener that keeps what it hears.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "net/fake_client.h"
#include "runner/runner.h"
#include "world/fake_world.h"

namespace sluice::runner {

// Tests of all modules below are written over these fixtures.
using namespace runs;
using namespace inference;
using namespace sessions;
using namespace tools;
using namespace agents;
using namespace native;
using namespace programs;

struct HeardDispatch final : dispatch::DispatchListener {
  std::vector<model::RunEvent> events;
  std::optional<model::Usage> usage;
  std::optional<model::Problem> problem;
  std::optional<dispatch::Gate> gate;  // the last there was
  int gate_count = 0;
  std::function<void()> after_event, after_end;

  void on_event(model::RunEvent event) override {
    EXPECT_FALSE(is_over());
    EXPECT_FALSE(gate) << "nothing is reported while a human is waited for";
    events.push_back(std::move(event));
    if (after_event) after_event();
  }
  void on_finished(model::Usage total) override {
    EXPECT_FALSE(is_over());
    usage = total;
    if (after_end) after_end();
  }
  void on_failed(model::Problem why) override {
    EXPECT_FALSE(is_over());
    problem = std::move(why);
    if (after_end) after_end();
  }

  void on_gate(dispatch::Gate raised) override {
    EXPECT_FALSE(is_over() || gate);
    gate = std::move(raised);
    ++gate_count;
  }

  bool is_over() const { return usage || problem; }
  std::vector<std::string> bodies(model::EventKind kind) const {
    std::vector<std::string> found;
    for (const auto& event : events) {
      if (event.kind == kind) found.push_back(event.body);
    }
    return found;
  }
  std::string all(model::EventKind kind) const {
    std::string joined;
    for (const auto& body : bodies(kind)) joined += body;
    return joined;
  }
  std::string text() const { return all(model::EventKind::text); }
};

// Sees when the test says so.
struct FakeWitness final : dispatch::Witness {
  void see(Callback<void()> then) override {
    ++asked;
    seen = std::move(then);
  }
  int asked = 0;
  Callback<void()> seen;
};

class RunnerTest : public testing::Test {
 protected:
  static constexpr std::string_view key = "very-secret";

  RunnerTest() {
    options.providers["anthropic"] = {.dialect = "anthropic", .base_url = "", .api_key = std::string(key)};
    agent.model = {.provider = "offline", .name = "offline"};
  }

  void use_provider() { agent.model = {.provider = "anthropic", .name = "model-x"}; }

  dispatch::Dispatch dispatch_of(std::string prompt) {
    dispatch::Dispatch dispatch;
    dispatch.agent = agent;
    dispatch.prompt = std::move(prompt);
    return dispatch;
  }
  void begin(dispatch::Dispatch dispatch) {
    if (!runner) runner = make_native_runner(options, {client, loop, entropy, log, metrics});
    work = runner->dispatch(std::move(dispatch), heard);
    EXPECT_TRUE(heard.events.empty() && !heard.is_over()) << "no callback comes from inside dispatch()";
    loop.settle();
  }
  void begin(std::string prompt) { begin(dispatch_of(std::move(prompt))); }
  void pass(int64_t ms) { loop.advance(Millis{ms}); }

  // The work has ended one way or another and left nothing behind.
  void expect_nothing_left() {
    EXPECT_EQ(client.calls_in_flight(), 0u);
    EXPECT_EQ(loop.timer_count(), 0u);
  }
  void expect_problem(model::Slug slug, std::string_view words = "") {
    ASSERT_TRUE(heard.problem);
    EXPECT_EQ(model::entry_of(heard.problem->slug).name, model::entry_of(slug).name) << heard.problem->detail;
    EXPECT_NE(heard.problem->detail.find(words), std::string::npos) << heard.problem->detail;
    EXPECT_EQ(heard.problem->detail.find(key), std::string::npos) << heard.problem->detail;
    expect_nothing_left();
  }
  int64_t figure(std::string_view name) const {
    const std::string text = metrics.to_text();
    const auto at = text.find("\n" + std::string(name) + " ");
    return at == text.npos ? 0 : std::stoll(text.substr(at + name.size() + 2));
  }

  world::FakeLoop loop;
  world::FakeEntropy entropy;
  world::FakeLog log;
  world::Metrics metrics;
  net::FakeClient client{loop};
  RunnerOptions options;
  model::Agent agent;
  std::unique_ptr<dispatch::Dispatcher> runner;
  HeardDispatch heard;
  std::unique_ptr<dispatch::Work> work;
};

// Pieces of an answer as Anthropic streams it.
inline std::string sse(std::string_view data) { return "data: " + std::string(data) + "\n\n"; }
inline std::string said(std::string_view text) {
  return sse(R"({"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":")" + std::string(text) +
             R"("}})");
}
inline std::string thought(std::string_view text) {
  return sse(R"({"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":")" +
             std::string(text) + R"("}})");
}
inline std::string called(std::string_view tool) {
  return sse(R"({"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"call-1","name":")" +
             std::string(tool) + R"("}})") +
         sse(R"({"type":"content_block_stop","index":1})");
}
inline std::string stopped(int input_tokens, int output_tokens) {
  return sse(R"({"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"input_tokens":)" +
             std::to_string(input_tokens) + R"(,"output_tokens":)" + std::to_string(output_tokens) + "}}") +
         sse(R"({"type":"message_stop"})");
}
inline net::FakeAnswer answer_of(std::string body) { return net::FakeAnswer::whole(200, std::move(body)); }

}  // namespace sluice::runner
