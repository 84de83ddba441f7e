#include "api/api_fixture.h"

namespace sluice::api {
namespace egress_test {

class EgressListTest : public ApiTest {
 protected:
  void agent_calls(const std::string& host) {
    agent_says(R"({"host":")" + host + R"(","method":"GET","status":200,"aliases":["CRM_KEY"]})",
               model::EventKind::egress);
  }
};

TEST_F(EgressListTest, I_16_what_left_a_sandbox_is_listed_while_it_runs_and_after) {
  const auto stream = send(make_conversation(), "hello");
  const auto path = "/v1/runs/" + stream->header("X-Run-Id") + "/egress";
  EXPECT_EQ(get(path)->member("data"), "[]");
  agent_calls("one.example");
  agent_says("Talking.");
  agent_calls("two.example");
  const auto live = get(path);
  EXPECT_EQ(live->status, 200);
  EXPECT_NE(live->body.find(R"("object":"egress_entry")"), std::string::npos);
  EXPECT_NE(live->body.find(R"("host":"one.example","method":"GET","status":200,"aliases":["CRM_KEY"]})"),
            std::string::npos)
      << live->body;
  EXPECT_EQ(live->member("has_more"), "false");
  agent_calls("three.example");
  agent_finishes();

  Texts hosts;
  std::string cursor;
  for (int page = 0; page < 2; ++page) {
    const auto answer = get(path + "?limit=2" + (cursor.empty() ? "" : "&starting_after=" + cursor));
    EXPECT_EQ(answer->member("has_more"), page == 0 ? "true" : "false");
    const auto document = json::Document::parse(answer->body);
    document.value().root().find("data")->each_element(
        [&](json::Value row) { hosts.emplace_back(*row.find("host")->string()); });
    cursor = answer->text("next_cursor");
  }
  EXPECT_EQ(hosts, (Texts{"one.example", "two.example", "three.example"}));
  EXPECT_EQ(stream->body.find("one.example"), std::string::npos) << "not in a stream that did not ask for it";
}

TEST_F(EgressListTest, A_wrong_question_is_refused) {
  const auto path = "/v1/runs/" + send(make_conversation(), "hello")->header("X-Run-Id") + "/egress";
  for (const auto& query : Texts{"limit=0", "limit=101", "starting_after=x", "starting_after=-1"}) {
    EXPECT_EQ(get(path + "?" + query)->status, 422) << query;
  }
  EXPECT_EQ(get("/v1/runs/run_00000000000000000000000000/egress")->status, 404);
  EXPECT_EQ(ask_as("GET", path, {.key = other.key})->status, 404);
}

}  // namespace egress_test
}  // namespace sluice::api
