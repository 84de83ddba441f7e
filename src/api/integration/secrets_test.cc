// I-17: secrets are stored and named, and their values are in no answer.
#include <regex>

#include "api/api_fixture.h"

namespace sluice::api {
namespace secrets_test {

class SecretsTest : public ApiTest {
 protected:
  static std::string many(int count) {
    std::string out;
    for (int i = 0; i < count; ++i) {
      out +=
          (i == 0 ? "" : ",") + std::string("\"A_") + std::to_string(i) + "\":\"value-of-" + std::to_string(i) + "\"";
    }
    return R"({"secrets":{)" + out + "}}";
  }
  static std::string aliases_in(const Answer& list) {
    const auto document = json::Document::parse(list->body);
    std::string out;
    document.value().root().find("data")->each_element([&](json::Value row) {
      out += std::string(*row.find("alias")->string()) + "/" + std::string(*row.find("scope")->string()) + " ";
    });
    return out;
  }
};

TEST_F(SecretsTest, I_17_are_put_alias_by_alias_and_listed_without_their_values) {
  const auto conversation = make_conversation();
  for (const auto& [path, scope] : std::vector<std::pair<std::string, std::string>>{
           {"/v1/conversations/" + conversation + "/secrets", "conversation"},
           {"/v1/agents/" + acme.agent.text() + "/secrets", "agent"},
           {"/v1/secrets", "tenant"}}) {
    EXPECT_EQ(get(path)->member("data"), "[]");
    const auto first = put(path, R"({"secrets":{"ONE":"value-01",
        "TWO":{"value":"value-02","hosts":["api.example","*.example.org"],"places":["header","basic"]}}})");
    EXPECT_EQ(first->status, 200) << first->body;
    EXPECT_EQ(aliases_in(first), "ONE/" + scope + " TWO/" + scope + " ");
    EXPECT_NE(first->body.find(R"("hosts":["api.example","*.example.org"],"places":["header","basic"])"),
              std::string::npos);
    EXPECT_NE(first->body.find(R"("hosts":[],"places":["header","basic"])"), std::string::npos);
    const auto second = put(path, R"({"secrets":{"TWO":"value-03","THREE":"value-04"}})");
    EXPECT_EQ(aliases_in(second), "ONE/" + scope + " THREE/" + scope + " TWO/" + scope + " ");
    EXPECT_EQ(second->body.find("api.example"), std::string::npos) << "replaced with its bindings";
    EXPECT_EQ(get(path)->body, second->body);
    EXPECT_EQ(second->body.find("value-"), std::string::npos);
    EXPECT_EQ(remove(path + "/TWO")->status, 204);
    EXPECT_EQ(remove(path + "/TWO")->status, 404);
    EXPECT_EQ(remove(path + "/not-an-alias")->status, 404);
    EXPECT_EQ(aliases_in(get(path)), "ONE/" + scope + " THREE/" + scope + " ");
  }
  const auto audit = admin("GET", "/v1/admin/audit?limit=100");
  EXPECT_NE(audit->body.find(R"("action":"secret.put","subject":")" + conversation), std::string::npos) << audit->body;
  EXPECT_NE(audit->body.find(R"("action":"secret.deleted","subject":")" + acme.id.text()), std::string::npos);
  EXPECT_NE(audit->body.find(R"("actor":"service_key:)" + acme.key_id.text()), std::string::npos);
  EXPECT_EQ(audit->body.find("value-"), std::string::npos);
  EXPECT_FALSE(logged("value-"));
}

TEST_F(SecretsTest, I_17_reach_the_next_run_of_the_conversation_by_their_aliases) {
  const auto conversation = make_conversation();
  put("/v1/secrets", R"({"secrets":{"A_KEY":"of the tenant","B_KEY":"also of it"}})");
  put("/v1/conversations/" + conversation + "/secrets", R"({"secrets":{"A_KEY":"of the conversation"}})");
  send(conversation, "hello");
  ASSERT_NE(agent.last.secrets, nullptr);
  ASSERT_NE(agent.last.secrets->find("A_KEY"), nullptr);
  EXPECT_EQ(agent.last.secrets->find("A_KEY")->value, "of the conversation");
  EXPECT_EQ(agent.last.secrets->find("B_KEY")->value, "also of it");
  put("/v1/secrets", R"({"secrets":{"B_KEY":"changed since"}})");
  EXPECT_EQ(agent.last.secrets->find("B_KEY")->value, "changed since") << "also while it runs";
}

TEST_F(SecretsTest, I_17_can_come_with_a_message_and_are_not_shown_with_it) {
  const auto conversation = make_conversation();
  const auto path = "/v1/conversations/" + conversation;
  const auto sent = post(path + "/messages", R"({"content":"go","secrets":{"A_KEY":"value-01"}})");
  EXPECT_EQ(sent->status, 200) << sent->body;
  EXPECT_EQ(agent.last.secrets->find("A_KEY")->value, "value-01");
  agent_finishes();
  EXPECT_EQ(get(path + "/messages")->body.find("value-01"), std::string::npos);
  EXPECT_EQ(post(path + "/messages", R"({"content":"go","secrets":{"a":"value-01"}})")->status, 422);
  EXPECT_EQ(post("/v1/conversations", R"({"initial_message":{"content":"go","secrets":{"A":"value-01"}}})")->status,
            422);
  remove(path);
  const auto refused = post(path + "/messages", R"({"content":"go","secrets":{"B_KEY":"value-02"}})");
  EXPECT_EQ(refused->slug(), "conversation-archived");
}

TEST_F(SecretsTest, I_17_of_an_archived_conversation_are_destroyed_and_not_put_again) {
  const auto conversation = make_conversation();
  const auto path = "/v1/conversations/" + conversation;
  put(path + "/secrets", R"({"secrets":{"A_KEY":"value-01"}})");
  remove(path);
  EXPECT_EQ(get(path + "/secrets")->member("data"), "[]");
  const auto answer = put(path + "/secrets", R"({"secrets":{"A_KEY":"value-01"}})");
  EXPECT_EQ(answer->status, 409);
  EXPECT_EQ(answer->slug(), "conversation-archived");
  patch(path, R"({"status":"active"})");
  EXPECT_EQ(get(path + "/secrets")->member("data"), "[]") << "un-archiving does not bring them back";
}

TEST_F(SecretsTest, An_owner_has_at_most_a_hundred_secrets) {
  const auto path = "/v1/conversations/" + make_conversation() + "/secrets";
  const auto more = [](std::string text) { return std::regex_replace(text, std::regex("A_"), "B_"); };
  EXPECT_EQ(put(path, many(50))->status, 200);
  EXPECT_EQ(put(path, more(many(50)))->status, 200);
  const auto refused = put(path, R"({"secrets":{"ONE_MORE":"value-of-it"}})");
  EXPECT_EQ(refused->status, 422);
  EXPECT_NE(refused->body.find("would be more than 100 secrets of this "
                               "conversation; delete some first"),
            std::string::npos)
      << refused->body;
  EXPECT_EQ(put(path, R"({"secrets":{"A_1":"changed-since"}})")->status, 200);
}

TEST_F(SecretsTest, I_17_invalid_secrets_are_422_and_their_values_do_not_appear) {
  const auto path = "/v1/conversations/" + make_conversation() + "/secrets";
  const std::string value = "s3cret-value";
  for (const auto& secrets : Texts{"null",
                                   "[]",
                                   "{}",
                                   "\"" + value + "\"",
                                   R"({"lower":")" + value + "\"}",
                                   R"({"":")" + value + "\"}",
                                   R"({"1A":")" + value + "\"}",
                                   R"({"A-B":")" + value + "\"}",
                                   "{\"" + value + R"(":"swapped"})",
                                   "{\"" + std::string(65, 'A') + "\":\"" + value + "\"}",
                                   R"({"A":null})",
                                   R"({"A":1})",
                                   R"({"A":[]})",
                                   R"({"A":""})",
                                   R"({"A":"1234567"})",
                                   "{\"A\":\"" + value + "\\u0000\"}",
                                   R"({"A":{}})",
                                   R"({"A":{"value":null}})",
                                   R"({"A":{"value":1}})",
                                   R"({"A":{"value":")" + value + R"(","hosts":[]}})",
                                   R"({"A":{"value":")" + value + R"(","hosts":["a b"]}})",
                                   R"({"A":{"value":")" + value + R"(","hosts":[1]}})",
                                   R"({"A":{"value":")" + value + R"(","places":[]}})",
                                   R"({"A":{"value":")" + value + R"(","places":["cookie"]}})"}) {
    const auto answer = put(path, R"({"secrets":)" + secrets + "}");
    EXPECT_EQ(answer->status, 422) << secrets;
    EXPECT_EQ(answer->body.find(value), std::string::npos) << answer->body;
  }
  EXPECT_EQ(put(path, R"({"secrets":{"A":")" + std::string(1024 * 1024, 'x') + "\"}}")->status, 422);
  EXPECT_EQ(put(path, many(51))->status, 422);
  EXPECT_NE(put(path, R"({"secrets":{"A":"1234567"}})")->body.find("at least 8 bytes"), std::string::npos);
  EXPECT_EQ(put(path, "{}")->status, 422);
  EXPECT_FALSE(logged(value));
  EXPECT_EQ(get(path)->member("data"), "[]");
  EXPECT_EQ(put(path, many(50))->status, 200);
  EXPECT_EQ(put(path, R"({"secrets":{"PEM":"-----BEGIN-----\nline\n"}})")->status, 200) << "lines are no fault";
}

TEST_F(SecretsTest, Secrets_of_an_unknown_owner_are_404) {
  for (const auto& path :
       Texts{"/v1/conversations/con_00000000000000000000000000/secrets",
             "/v1/agents/agt_00000000000000000000000000/secrets", "/v1/agents/" + other.agent.text() + "/secrets"}) {
    EXPECT_EQ(get(path)->status, 404) << path;
    EXPECT_EQ(put(path, R"({"secrets":{"A":"value-01"}})")->status, 404) << path;
    EXPECT_EQ(remove(path + "/A")->status, 404) << path;
  }
}

}  // namespace secrets_test
}  // namespace sluice::api
