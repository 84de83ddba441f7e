// Tools of the host, called by an agent program over the bridge: H-6.
#include "api/fake_exchange.h"
#include "programs/program_fixture.h"

namespace sluice::programs {
namespace program_bridge_test {

using model::ItemKind;

struct NoServer final : net::Server {
  uint16_t port() const override { return 3129; }
  std::size_t connection_count() const override { return 0; }
  void drain(Millis, Callback<void()>) override {}
};

class ProgramBridgeTest : public ProgramGateTest {
 protected:
  ProgramBridgeTest() {
    sandbox->bridge_listener = [](sandbox::FakeBox&) { return OwnedFd(open("/dev/null", O_RDONLY | O_CLOEXEC)); };
    serve_bridge = [this](OwnedFd, net::Handler given) -> Result<std::unique_ptr<net::Server>> {
      handler = std::move(given);
      return std::unique_ptr<net::Server>(std::make_unique<NoServer>());
    };
  }
  void begin_with_tool() {
    auto dispatch = dispatch_of("hello");
    dispatch.extras.client_tools = {{"pick", "Lets the user pick", R"({"type":"object"})"}};
    begin(std::move(dispatch));
    EXPECT_EQ(talk().assignment.bridge_url, "http://127.0.0.1:3129/mcp");
    say({session("s-1")});
  }
  std::shared_ptr<api::FakeExchange> call_tool(const std::string& name, const std::string& arguments) {
    auto exchange = std::make_shared<api::FakeExchange>(
        net::Request{.method = "POST",
                     .path = "/mcp",
                     .headers = {{"Host", "127.0.0.1:3129"}, {"Accept", "application/json, text/event-stream"}},
                     .body = R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":")" + name +
                             R"(","arguments":)" + arguments + "}}"});
    handler(exchange);
    loop.settle();
    return exchange;
  }

  net::Handler handler;
};

INSTANTIATE_TEST_SUITE_P(Placements, ProgramBridgeTest, testing::Values(Placement::pooled, Placement::sticky),
                         name_of_placement);

TEST_P(ProgramBridgeTest, H_6_A_call_at_the_bridge_is_one_step_with_what_the_stream_says_of_it) {
  begin_with_tool();
  say({running(call("c1", "pick", R"({"n":1})"))});
  auto exchange = call_tool("pick", R"({ "n": 1 })");
  ASSERT_TRUE(heard.gate);
  EXPECT_EQ(heard.gate->items.at(0).kind, ItemKind::client_tool);
  EXPECT_EQ(heard.gate->items.at(0).call->id, "step_1");
  approve({{.call_id = "step_1", .content = "blue"}});
  if (!keeps_box) exchange = call_tool("pick", R"({"n":1})");
  EXPECT_NE(exchange->body.find(R"("text":"blue")"), std::string::npos) << exchange->body;
  say({ended(keeps_box ? "c1" : "d1", "blue"), text("Blue it is.")});
  finish();
  ASSERT_TRUE(heard.usage) << (heard.problem ? heard.problem->detail : "");
  EXPECT_EQ(steps().size(), 2u);
  expect_nothing_left();
}

TEST_P(ProgramBridgeTest, H_6_A_tool_that_the_policy_denies_is_answered_in_words) {
  forbid(model::Subject::tool, "pick", "picking is forbidden here");
  begin_with_tool();
  const auto exchange = call_tool("pick", "{}");
  EXPECT_NE(exchange->body.find("picking is forbidden here"), std::string::npos) << exchange->body;
  EXPECT_FALSE(heard.gate);
  finish();
  EXPECT_EQ(steps().size(), 2u) << "a call that the stream says nothing of is a step of its own";
}

TEST_P(ProgramBridgeTest, H_6_An_answer_waits_for_a_program_that_hung_up_and_comes_again) {
  begin_with_tool();
  const auto exchange = call_tool("pick", R"({"n":1})");
  ASSERT_TRUE(heard.gate);
  if (keeps_box) exchange->hang_up();
  loop.settle();
  approve({{.call_id = "step_1", .content = "blue"}});
  const auto again = call_tool("pick", R"({"n":1})");
  EXPECT_NE(again->body.find(R"("text":"blue")"), std::string::npos) << again->body;
  EXPECT_EQ(heard.gate_count, 1);
  finish();
  EXPECT_TRUE(heard.usage);
  ASSERT_EQ(steps().size(), 2u) << "it is the same call";
  EXPECT_NE(steps()[1].find(R"("id":"step_1","name":"pick","status":"succeeded","result":"blue")"), std::string::npos);
}

}  // namespace program_bridge_test
}  // namespace sluice::programs
