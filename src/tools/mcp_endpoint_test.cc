#include "tools/mcp_endpoint.h"

#include <gtest/gtest.h>

#include <optional>
#include <utility>

#include "api/fake_exchange.h"
#include "world/fake_world.h"

namespace sluice::tools {
namespace mcp_endpoint_test {

using sessions::Bridge;

using api::FakeExchange;

struct FakeServer final : net::Server {
  uint16_t port() const override { return 3129; }
  std::size_t connection_count() const override { return 0; }
  void drain(Millis, Callback<void()>) override {}
};

// H-6
class BridgeTest : public testing::Test, public BridgeUser {
 protected:
  BridgeTest() {
    auto opened = Bridge::open(
        [this](OwnedFd, net::Handler given) -> Result<std::unique_ptr<net::Server>> {
          handler = std::move(given);
          return std::unique_ptr<net::Server>(std::make_unique<FakeServer>());
        },
        OwnedFd());
    bridge = std::move(opened).take();
    door.emplace(loop, *bridge, std::vector<model::HostTool>{{.name = "lookup"}}, *this);
  }

  static net::Request request(std::string method, std::string path, std::string body = "") {
    return {.method = std::move(method),
            .path = std::move(path),
            .headers = {{"Host", "127.0.0.1:3129"}, {"Accept", "application/json, text/event-stream"}},
            .body = std::move(body)};
  }
  std::shared_ptr<FakeExchange> ask(net::Request asked) {
    auto exchange = std::make_shared<FakeExchange>(std::move(asked));
    handler(exchange);
    EXPECT_TRUE(calls.size() == known_calls) << "no callback comes from inside";
    loop.settle();
    known_calls = calls.size();
    return exchange;
  }
  std::shared_ptr<FakeExchange> post(std::string body) { return ask(request("POST", "/mcp", std::move(body))); }
  std::shared_ptr<FakeExchange> call(std::string id = "1", std::string meta = "{}") {
    return post(call_text(id, meta));
  }
  static std::string call_text(const std::string& id, const std::string& meta = "{}") {
    return R"({"jsonrpc":"2.0","id":)" + id +
           R"(,"method":"tools/call","params":{"name":"lookup","arguments":{"q":1},"_meta":)" + meta + "}}";
  }

  void on_bridge_call(BridgeCall made) override { calls.push_back(std::move(made)); }
  void on_bridge_call_left(uint64_t number) override { left.push_back(number); }

  world::FakeLoop loop;
  net::Handler handler;
  std::unique_ptr<Bridge> bridge;
  std::optional<McpEndpoint> door;
  std::vector<BridgeCall> calls;
  std::size_t known_calls = 0;
  std::vector<uint64_t> left;
};

TEST_F(BridgeTest, Answers_at_once_what_is_no_call) {
  const auto greeting = post(R"({"jsonrpc":"2.0","id":1,"method":"initialize","params":{}})");
  EXPECT_EQ(greeting->status, 200);
  EXPECT_EQ(greeting->header("Content-Type"), "application/json");
  EXPECT_NE(greeting->body.find(R"("serverInfo")"), std::string::npos);
  EXPECT_NE(post(R"({"jsonrpc":"2.0","id":2,"method":"server/discover"})")->body.find("-32601"), std::string::npos);
  EXPECT_NE(post("half {")->body.find("-32700"), std::string::npos);
  EXPECT_EQ(post(R"({"jsonrpc":"2.0","method":"notifications/initialized"})")->status, 202);
  EXPECT_TRUE(calls.empty());
}

TEST_F(BridgeTest, Has_no_stream_of_its_own_and_no_sessions) {
  const auto got = ask(request("GET", "/mcp"));
  EXPECT_EQ(got->status, 405);
  EXPECT_EQ(got->header("Allow"), "POST, DELETE");
  EXPECT_EQ(ask(request("DELETE", "/mcp"))->status, 200);
}

TEST_F(BridgeTest, Answers_a_call_as_a_stream_that_says_it_is_still_there) {
  const auto exchange = call();
  EXPECT_EQ(exchange->status, 200) << "the head is not held back";
  EXPECT_EQ(exchange->header("Content-Type"), "text/event-stream");
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_EQ(calls[0].tool, "lookup");
  EXPECT_EQ(calls[0].arguments, R"({"q":1})");
  exchange->body.clear();
  loop.advance({15'000});
  EXPECT_EQ(exchange->body, ": keep-alive\n\n");
  loop.advance({24LL * 3600 * 1000});
  EXPECT_FALSE(exchange->finished) << "it waits for a human as long as it takes";
  exchange->body.clear();
  door->answer(calls[0].number, {.text = "found"});
  EXPECT_EQ(exchange->body,
            "event: message\ndata: "
            R"({"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"found"}],"isError":false}})"
            "\n\n");
  EXPECT_TRUE(exchange->finished);
  EXPECT_EQ(loop.timer_count(), 0u);
  door->answer(calls[0].number, {.text = "twice"});
  EXPECT_TRUE(left.empty());
}

TEST_F(BridgeTest, Tells_progress_where_that_is_asked_for) {
  const auto exchange = call("1", R"({"progressToken":"t","claudecode/toolUseId":"toolu_1"})");
  EXPECT_EQ(calls.at(0).call_id, "toolu_1");
  exchange->body.clear();
  door->report_progress(calls[0].number, "a human is asked");
  loop.advance({15'000});
  EXPECT_NE(exchange->body.find(R"("progress":1,"message":"a human is asked")"), std::string::npos) << exchange->body;
  EXPECT_NE(exchange->body.find(R"("progressToken":"t","progress":2}})"), std::string::npos)
      << "silence is reported too";
}

TEST_F(BridgeTest, Says_nothing_of_progress_to_whoever_did_not_ask) {
  const auto exchange = call();
  exchange->body.clear();
  door->report_progress(calls.at(0).number, "a human is asked");
  EXPECT_EQ(exchange->body, "");
}

TEST_F(BridgeTest, Answers_with_plain_JSON_a_client_that_takes_no_stream) {
  auto asked = request("POST", "/mcp", call_text("1"));
  asked.headers = {{"Host", "localhost:3129"}, {"Accept", "*/*"}};
  const auto exchange = ask(std::move(asked));
  EXPECT_EQ(exchange->status, 0) << "it waits";
  door->answer(calls.at(0).number, {.text = "no", .failed = true});
  EXPECT_EQ(exchange->header("Content-Type"), "application/json");
  EXPECT_NE(exchange->body.find(R"("isError":true)"), std::string::npos);
}

TEST_F(BridgeTest, Hears_when_nobody_waits_any_more) {
  const auto exchange = call();
  exchange->hang_up();
  loop.settle();
  EXPECT_EQ(left, (std::vector<uint64_t>{calls.at(0).number}));
  EXPECT_EQ(loop.timer_count(), 0u);
  door->answer(calls[0].number, {.text = "late"});
}

TEST_F(BridgeTest, Tells_nothing_of_a_call_that_was_left_before_it_was_heard) {
  const auto exchange = std::make_shared<FakeExchange>(request("POST", "/mcp", call_text("1")));
  handler(exchange);
  exchange->hang_up();
  loop.settle();
  EXPECT_TRUE(calls.empty() && left.empty());
}

TEST_F(BridgeTest, Hears_that_a_call_is_cancelled) {
  const auto one = call("1");
  const auto two = call("2");
  EXPECT_EQ(post(R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}})")->status, 202);
  EXPECT_EQ(left, (std::vector<uint64_t>{calls.at(1).number}));
  EXPECT_TRUE(two->finished);
  EXPECT_FALSE(one->finished);
}

TEST_F(BridgeTest, Does_not_guess_which_of_two_calls_is_cancelled) {
  const auto one = call("1");
  const auto other = call("1");
  (void)post(R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}})");
  EXPECT_TRUE(left.empty());
  EXPECT_FALSE(one->finished || other->finished);
}

TEST_F(BridgeTest, Takes_only_so_many_calls_at_once) {
  std::vector<std::shared_ptr<FakeExchange>> waiting;
  for (int i = 0; i < 128; ++i) waiting.push_back(call(std::to_string(i)));
  const auto more = call("999");
  EXPECT_NE(more->body.find("Too many calls"), std::string::npos);
  EXPECT_EQ(calls.size(), 128u);
}

TEST_F(BridgeTest, Refuses_what_a_page_in_a_browser_could_send) {
  auto asked = request("POST", "/mcp", call_text("1"));
  asked.headers.add("Origin", "https://evil.example");
  EXPECT_EQ(ask(asked)->status, 403);
  asked.headers = {{"Host", "evil.example:3129"}};
  EXPECT_EQ(ask(asked)->status, 403);
  asked.headers = {};
  EXPECT_EQ(ask(asked)->status, 403);
  EXPECT_TRUE(calls.empty());
}

TEST_F(BridgeTest, Knows_no_other_paths_and_not_those_that_were_taken_away) {
  EXPECT_EQ(ask(request("POST", "/"))->status, 404);
  EXPECT_EQ(ask(request("POST", "/mcpx"))->status, 404);
  auto route = bridge->serve(
      "/other", [](const std::shared_ptr<net::Exchange>& exchange) { exchange->respond({.status = 204}); });
  EXPECT_EQ(ask(request("GET", "/other/thing"))->status, 204);
  route.reset();
  EXPECT_EQ(ask(request("GET", "/other"))->status, 404);
}

TEST_F(BridgeTest, Dropping_the_door_closes_what_waits) {
  const auto stream = call("1");
  door.reset();
  EXPECT_TRUE(stream->finished);
  EXPECT_TRUE(left.empty());
  EXPECT_EQ(loop.timer_count(), 0u);
  EXPECT_EQ(ask(request("POST", "/mcp"))->status, 404);
}

TEST_F(BridgeTest, The_bridge_may_go_before_the_door) {
  const auto stream = call("1");
  bridge.reset();
  handler = nullptr;
  door->answer(calls.at(0).number, {.text = "still"});
  EXPECT_TRUE(stream->finished);
}

TEST(Bridge, Says_why_it_cannot_be_opened) {
  const auto opened = Bridge::open(
      [](OwnedFd, net::Handler) -> Result<std::unique_ptr<net::Server>> {
        return Error{ErrorKind::unavailable, "no descriptor is left"};
      },
      OwnedFd());
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().what, "no descriptor is left");
}

}  // namespace mcp_endpoint_test
}  // namespace sluice::tools
