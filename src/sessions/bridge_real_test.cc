// A program in a real box, at the door to the host's tools.
#include "runner/real_session_fixture.h"
#include "sessions/bridge.h"

namespace sluice::sessions {
namespace bridge_real_test {

using namespace runner;

constexpr std::string_view program = R"py(
import json, urllib.request

def ask(method, number, params, accept):
    body = json.dumps({'jsonrpc': '2.0', 'id': number, 'method': method, 'params': params}).encode()
    headers = {'Content-Type': 'application/json', 'Accept': accept}
    with urllib.request.urlopen(urllib.request.Request('http://127.0.0.1:3129/mcp', body, headers)) as answer:
        return answer.headers['Content-Type'] + ' ' + answer.read().decode()

both = 'application/json, text/event-stream'
print(ask('initialize', 1, {'protocolVersion': '2025-06-18'}, both))
print(ask('tools/list', 2, {}, both))
print(ask('tools/call', 3, {'name': 'lookup', 'arguments': {'q': 1}}, both))
print(ask('tools/call', 4, {'name': 'lookup', 'arguments': {'q': 2}}, '*/*'))
)py";

struct Host final : BridgeUser, sandbox::ProcessListener {
  explicit Host(world::Reactor& its_reactor) : reactor(its_reactor) {}
  void on_bridge_call(BridgeCall call) override { door->answer(call.number, {.text = "for " + call.arguments}); }
  void on_bridge_call_left(uint64_t) override { ADD_FAILURE(); }
  void on_output(sandbox::Stream, std::string_view bytes) override { printed += bytes; }
  void on_exit(sandbox::Exit exit) override {
    EXPECT_EQ(exit.code, 0);
    reactor.stop();
  }
  world::Reactor& reactor;
  McpEndpoint* door = nullptr;
  std::string printed;
};

// H-6
TEST_F(RealSession, A_program_in_the_box_calls_tools_of_the_host) {
  std::unique_ptr<sandbox::Box> box;
  sandbox->open({.name = "bridge"}, [&](Result<std::unique_ptr<sandbox::Box>> opened) {
    if (opened) box = std::move(opened).take();
    reactor->stop();
  });
  reactor->run();
  ASSERT_TRUE(box);
  auto bridge = Bridge::open(
      [this](OwnedFd listener, net::Handler handler) {
        return net::serve_on(std::move(listener), *reactor, {}, std::move(handler), nullptr, metrics);
      },
      box->take_bridge_listener());
  ASSERT_TRUE(bridge);
  Host host(*reactor);
  McpEndpoint door(*reactor, *bridge.value(), {{.name = "lookup", .description = "Finds a row."}}, host);
  host.door = &door;
  const auto process = box->start({.argv = {"python3", "-c", std::string(program)}, .timeout_ms = 30'000}, host);
  reactor->run();
  for (const auto* words :
       {R"(application/json {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18")", R"("name":"lookup")",
        R"(text/event-stream : keep-alive)", R"("text":"for {\"q\":1}")",
        R"(application/json {"jsonrpc":"2.0","id":4,"result":{"content":[{"type":"text","text":"for {\"q\":2}")"}) {
    EXPECT_NE(host.printed.find(words), std::string::npos) << words << "\n" << host.printed;
  }
}

}  // namespace bridge_real_test
}  // namespace sluice::sessions
