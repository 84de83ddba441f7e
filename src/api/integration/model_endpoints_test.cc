#include "api/api_fixture.h"

namespace sluice::api {
namespace model_endpoints_test {

class ModelEndpointsTest : public ApiTest {
 protected:
  Answer make(std::string body) { return post("/v1/model-endpoints", std::move(body)); }
};

TEST_F(ModelEndpointsTest, Model_endpoints_are_created_listed_changed_and_deleted_on_both_surfaces) {
  const auto made = make(R"({"name":"lab","provider":"openai-chat","base_url":"http://127.0.0.1:9/v1",)"
                         R"("key_alias":"LAB_KEY","models":["small"]})");
  ASSERT_EQ(made->status, 201) << made->body;
  const auto id = made->text("id");
  EXPECT_EQ(get("/v1/model-endpoints/lab")->text("id"), id);
  EXPECT_EQ(get(workspace_of(acme) + "/model-endpoints/" + id)->text("name"), "lab");
  EXPECT_EQ(get(workspace_of(other) + "/model-endpoints/" + id)->status, 404);
  EXPECT_EQ(patch("/v1/model-endpoints/lab", R"({"base_url":null,"models":[]})")->status, 200);
  EXPECT_NE(get("/v1/model-endpoints/lab")->body.find(R"("base_url":null)"), std::string::npos);
  EXPECT_EQ(make(R"({"name":"lab","provider":"offline"})")->status, 409);
  EXPECT_EQ(remove("/v1/model-endpoints/lab")->status, 204);
  EXPECT_EQ(get("/v1/model-endpoints/lab")->status, 404);
}

TEST_F(ModelEndpointsTest, An_agent_takes_provider_address_and_key_from_the_endpoint_it_names) {
  const auto id =
      make(R"({"name":"lab","provider":"openai-chat","key_alias":"LAB_KEY","models":["small"]})")->text("id");
  const auto agent = post("/v1/agents", R"({"name":"worker","model":{"endpoint":"lab","name":"small"}})");
  ASSERT_EQ(agent->status, 201) << agent->body;
  EXPECT_NE(agent->body.find(R"("model":{"provider":"openai-chat","name":"small","base_url":null,)"
                             R"("key_alias":"LAB_KEY","endpoint":")" +
                             id + "\"}"),
            std::string::npos)
      << agent->body;
  EXPECT_EQ(remove("/v1/model-endpoints/lab")->status, 409);
  EXPECT_EQ(patch("/v1/agents/" + agent->text("id"), R"({"model":{"provider":"offline","name":"offline"}})")->status,
            200);
  EXPECT_EQ(remove("/v1/model-endpoints/lab")->status, 204);
}

TEST_F(ModelEndpointsTest, Invalid_members_are_refused_with_their_pointers) {
  make(R"({"name":"lab","provider":"openai-chat","models":["small"]})");
  const auto expect_fault = [](const Answer& answer, const std::string& pointer) {
    EXPECT_EQ(answer->status, 422) << answer->body;
    EXPECT_NE(answer->body.find("\"pointer\":\"" + pointer + "\""), std::string::npos) << answer->body;
  };
  expect_fault(make(R"({"name":"x","provider":"openai-chatt"})"), "/provider");
  expect_fault(make(R"({"name":"x","provider":"offline","base_url":"ftp://x"})"), "/base_url");
  expect_fault(make(R"({"name":"x","provider":"offline","key_alias":"lower"})"), "/key_alias");
  expect_fault(make(R"({"provider":"offline"})"), "/name");
  expect_fault(make(R"({"name":"mep_01hzy3v9k2n8q4r6t8w0x2y4z6","provider":"offline"})"), "/name");
  expect_fault(post("/v1/agents", R"({"name":"a","model":{"endpoint":"none","name":"small"}})"), "/model/endpoint");
  expect_fault(post("/v1/agents", R"({"name":"a","model":{"endpoint":"lab","name":"large"}})"), "/model/name");
  EXPECT_EQ(get("/v1/agents")->body.find("\"name\":\"a\""), std::string::npos);
}

}  // namespace model_endpoints_test
}  // namespace sluice::api
