#include "harness/dialogue_fixture.h"

namespace sluice::harness {
namespace acp_login_test {

using namespace dialogue_fixture;

Assignment without_tools() {
  Assignment given;
  given.agent_type = "acp";
  given.prompt = "go";
  return given;
}

std::string login_refused(int id) {
  return R"({"jsonrpc":"2.0","id":)" + std::to_string(id) +
         R"(,"error":{"code":-32000,"message":"Authentication required"}})"
         "\n";
}

std::string methods(const std::string& list) {
  return R"({"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1,"agentCapabilities":{},"authMethods":[)" + list +
         "]}}\n";
}

std::string session_opened(int id) {
  return R"({"jsonrpc":"2.0","id":)" + std::to_string(id) +
         R"(,"result":{"sessionId":"s"}})"
         "\n";
}

constexpr std::string_view key_methods = R"({"id":"chatgpt"},{"id":"codex-api-key"},{"id":"openai-api-key"})";

TEST(Acp, A_session_that_wants_a_login_is_asked_for_again_after_a_login_with_the_key) {
  Listener listener(without_tools());
  listener.feed(methods(std::string(key_methods)));
  const auto asked_for = listener.sent.back();
  listener.feed(login_refused(2));
  EXPECT_EQ(listener.sent.back(),
            R"({"jsonrpc":"2.0","id":3,"method":"authenticate","params":{"methodId":"openai-api-key"}})");
  listener.feed(R"({"jsonrpc":"2.0","id":3,"result":{}})"
                "\n");
  EXPECT_EQ(listener.sent.back().substr(listener.sent.back().find("method")),
            asked_for.substr(asked_for.find("method")));
  listener.feed(session_opened(4));
  EXPECT_EQ(listener.lines, Lines{"session s"});
}

TEST(Acp, A_login_is_tried_once) {
  Listener listener(without_tools());
  listener.feed(methods(std::string(key_methods)));
  listener.feed(login_refused(2));
  listener.feed(R"({"jsonrpc":"2.0","id":3,"result":{}})"
                "\n");
  listener.feed(login_refused(4));
  EXPECT_EQ(listener.lines, Lines{"failed agent-misconfigured The agent refused to begin: Authentication required"});
}

TEST(Acp, A_refused_key_is_named_as_the_reason) {
  Listener listener(without_tools());
  listener.feed(methods(std::string(key_methods)));
  listener.feed(login_refused(2));
  listener.feed(R"({"jsonrpc":"2.0","id":3,"error":{"code":-32603,"message":"no such key"}})"
                "\n");
  EXPECT_EQ(listener.lines,
            Lines{"failed agent-misconfigured The agent refused the model's key (openai-api-key): no such key"});
}

TEST(Acp, A_login_that_needs_a_person_is_not_begun) {
  Listener listener(without_tools());
  listener.feed(methods(R"({"id":"chatgpt"})"));
  listener.feed(login_refused(2));
  EXPECT_EQ(listener.lines, Lines{"failed agent-misconfigured The agent refused to begin: Authentication required"});
}

TEST(Acp, A_run_under_a_policy_is_warned_that_the_program_decides_what_it_asks_about) {
  auto given = without_tools();
  given.asks = true;
  Listener listener(given);
  listener.feed(methods("") + session_opened(2));
  ASSERT_EQ(listener.lines.size(), 2U);
  EXPECT_TRUE(listener.lines.at(1).starts_with("log warn This program itself decides")) << listener.lines.at(1);
}

}  // namespace acp_login_test
}  // namespace sluice::harness
