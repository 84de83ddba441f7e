// What one tenant's clients leave unread, and what that means for its next answers.
#include "api/api_fixture.h"
#include "api/request/services.h"

namespace sluice::api {
namespace answer_accounts_test {

class AnswerAccountsTest : public ApiTest {
 protected:
  AnswerAccountsTest() {
    messages = "/v1/conversations/" + make_conversation() + "/messages";
    post(messages, R"({"content":")" + std::string(200'000, 'a') + "\"}");
    agent_says("hi");
    agent_finishes();
  }

  std::string messages;
};

TEST_F(AnswerAccountsTest, A_long_answer_waits_until_the_tenants_clients_have_read_enough) {
  const auto first = get(messages);
  EXPECT_EQ(first->status, 200);
  EXPECT_GT(first->body.size(), 200'000U);
  ASSERT_NE(first->account, nullptr);
  first->account->unread_bytes = limits::unread_answers_bytes_of_tenant_max - 100'000;  // as if on its connections
  const auto refused = get(messages);
  EXPECT_EQ(refused->status, 429);
  EXPECT_EQ(refused->slug(), "rate-limited");
  EXPECT_EQ(refused->header("Retry-After"), "1");
  EXPECT_EQ(refused->account, first->account) << "one for all connections of the tenant";
  EXPECT_EQ(get("/v1/runs")->status, 200) << "what is short is answered";
  EXPECT_EQ(post("/v1/conversations", "{}")->status, 201) << "and what changes something";
  EXPECT_EQ(ask_as("GET", "/v1/conversations", {.key = other.key})->account->unread_bytes, 0U) << "another tenant's";
  first->account->unread_bytes = 0;
  EXPECT_EQ(get(messages)->status, 200);
}

TEST_F(AnswerAccountsTest, An_account_goes_with_the_last_connection_that_is_charged_to_it) {
  AnswerAccounts accounts;
  auto one = accounts.of(acme.id);
  EXPECT_EQ(accounts.of(acme.id), one);
  EXPECT_NE(accounts.of(other.id), one);
  EXPECT_EQ(accounts.count(), 1U);
  one.reset();
  EXPECT_EQ(accounts.count(), 0U);
}

}  // namespace answer_accounts_test
}  // namespace sluice::api
