#include "api/api_fixture.h"

namespace sluice::api {
namespace messages_test {

class MessagesTest : public ApiTest {
 protected:
  MessagesTest() : conversation(make_conversation()), path("/v1/conversations/" + conversation + "/messages") {}

  std::string conversation;
  std::string path;
};

TEST_F(MessagesTest, A_message_is_streamed_as_it_happens_I_1_I_3) {
  const auto stream = send(conversation, "hello");
  EXPECT_EQ(stream->status, 200);
  EXPECT_EQ(stream->header("Content-Type"), "application/x-ndjson");
  EXPECT_EQ(stream->header("Cache-Control"), "no-store");
  EXPECT_EQ(stream->header("X-Accel-Buffering"), "no");
  EXPECT_TRUE(stream->header("X-Run-Id").starts_with("run_"));
  EXPECT_TRUE(stream->header("X-Message-Id").starts_with("msg_"));
  EXPECT_FALSE(stream->headers.find("Content-Length"));
  EXPECT_FALSE(stream->headers.find("Idempotency-Replayed"));
  EXPECT_EQ(count_lines(stream->body), 1U) << "message_start is sent at once";
  agent_says("Hi ");
  EXPECT_EQ(count_lines(stream->body), 2U);
  agent_finishes();
  EXPECT_TRUE(stream->finished);
  EXPECT_TRUE(logged("run=" + stream->header("X-Run-Id")));
  EXPECT_TRUE(logged("answer=complete"));
  EXPECT_FALSE(logged("hello"));
}

TEST_F(MessagesTest, The_list_shows_the_message_byte_for_byte_as_the_stream_did_I_9) {
  const auto stream = send(conversation, "hello");
  agent_says("Hi.");
  agent_finishes();
  const auto message = get("/v1/messages/" + stream->header("X-Message-Id"));
  EXPECT_EQ(message->status, 200);
  EXPECT_NE(stream->body.find(R"("data":{"message":)" + message->body + "}"), std::string::npos);
  const auto list = get(path);
  EXPECT_NE(list->body.find("," + message->body + "]"), std::string::npos) << "oldest first";
  EXPECT_NE(get(path + "?order=desc")->body.find("[" + message->body + ","), std::string::npos);
  EXPECT_EQ(get(path + "?order=up")->status, 422);
  EXPECT_EQ(get(path + "?limit=1")->member("has_more"), "true");
  EXPECT_EQ(get(path + "?starting_after=" + stream->header("X-Message-Id"))->member("data"), "[]");
  EXPECT_EQ(get(path + "?starting_after=msg_00000000000000000000000000")->status, 422);
  EXPECT_EQ(
      get("/v1/conversations/con_00000000000000000000000000/messages?starting_after=msg_00000000000000000000000000")
          ->status,
      404);
}

TEST_F(MessagesTest, From_the_request_to_the_agent_the_store_is_asked_once_and_twice_where_materials_are_checked) {
  const auto repository = make_repository("r");
  const auto skill = make_skill("a");
  const auto trips_of = [&](const std::string& body) {
    const int before = disk.write_count() + disk.read_count();
    const auto dispatched = agent.dispatch_count;
    post(path, body);
    EXPECT_EQ(agent.dispatch_count, dispatched + 1);
    const int trips = disk.write_count() + disk.read_count() - before;
    agent_finishes();
    return trips;
  };
  get("/v1/capacity");  // the key is known from now on
  EXPECT_EQ(trips_of(R"({"content":"hello"})"), 1) << "the transaction that accepts the message";
  EXPECT_EQ(trips_of(R"({"content":"and then?"})"), 1);
  EXPECT_EQ(trips_of(R"({"content":"x","repository_id":")" + repository + R"(","skill_ids":[")" + skill +
                     R"("],"secrets":{"TOKEN":"a-secret-value"}})"),
            2)
      << "the request is checked first";
}

TEST_F(MessagesTest, Materials_of_a_message_reach_the_run_and_its_record) {
  const std::string trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  const auto words =
      R"("repository_id":")" + make_repository("r") + R"(","skill_ids":[")" + make_skill("a") + R"("],"env":{"K":"V"})";
  post(path, R"({"content":"x","filler":{"enabled":true},)" + words + "}", {{"traceparent", trace}});
  EXPECT_TRUE(agent.last.filler);
  EXPECT_EQ(agent.last.traceparent, trace);
  const auto list = get(path)->body;
  EXPECT_NE(list.find(words), std::string::npos) << list;
}

TEST_F(MessagesTest, Filler_is_decided_by_the_nearest_of_message_conversation_and_tenant_I_11) {
  admin("PATCH", "/v1/tenants/" + acme.id.text(), R"({"settings":{"filler_enabled":true}})");
  const auto filler_of = [&](const std::string& id, const std::string& more, const std::string& query = "") {
    post("/v1/conversations/" + id + "/messages" + query, R"({"content":"x")" + more + "}");
    const bool filler = agent.last.filler;
    agent_finishes();
    return filler;
  };
  EXPECT_TRUE(filler_of(conversation, ""));
  EXPECT_FALSE(filler_of(conversation, R"(,"filler":{"enabled":false})"));
  EXPECT_FALSE(filler_of(conversation, "", "?stream=false")) << "no client would see it";
  const auto quiet = make_conversation(R"({"filler":{"enabled":false}})");
  EXPECT_FALSE(filler_of(quiet, ""));
  EXPECT_TRUE(filler_of(quiet, R"(,"filler":{"enabled":true})"));
}

TEST_F(MessagesTest, A_wrong_message_is_refused_before_anything_is_created_I_4) {
  for (const auto& body :
       Texts{R"({})", R"({"content":null})", R"({"content":""})", R"({"content":7})", R"({"content":"a\u0000b"})",
             R"({"content":"x","skill_ids":"a"})", R"({"content":"x","env":[]})",
             R"({"content":"x","env":{"A=B":"c"}})", R"({"content":"x","filler":true})",
             R"({"content":"x","filler":{}})", R"({"content":"x","on_capacity":null})"}) {
    const auto answer = post(path, body);
    EXPECT_EQ(answer->status, 422) << body;
    EXPECT_EQ(answer->slug(), "validation-error");
    EXPECT_EQ(answer->header("Content-Type"), "application/problem+json");
  }
  EXPECT_EQ(post(path + "?stream=maybe", R"({"content":"x"})")->status, 422);
  EXPECT_EQ(post(path, "{}", {{"Idempotency-Key", "a b"}})->status, 422);
  EXPECT_EQ(get(path)->member("data"), "[]");
  EXPECT_EQ(agent.dispatch_count, 0);
}

TEST_F(MessagesTest, Content_is_at_most_a_mebibyte) {
  const std::string most(limits::message_content_bytes_max, 'a');
  const auto over = send(conversation, most + "a");
  EXPECT_EQ(over->status, 422);
  EXPECT_NE(over->body.find(R"("pointer":"/content")"), std::string::npos);
  EXPECT_EQ(send(conversation, most)->status, 200);
}

TEST_F(MessagesTest, A_second_message_is_409_and_names_the_run_in_flight) {
  const auto stream = send(conversation, "first");
  const auto busy = send(conversation, "second");
  EXPECT_EQ(busy->status, 409);
  EXPECT_EQ(busy->slug(), "conversation-busy");
  EXPECT_EQ(busy->text("conflicting_resource_id"), stream->header("X-Run-Id"));
}

TEST_F(MessagesTest, The_same_key_and_body_are_one_message_streamed_from_its_start_I_19) {
  const net::Headers key = {{"Idempotency-Key", "once"}};
  const auto first = send(conversation, "hello", key);
  agent_says("Hi ");
  const auto again = send(conversation, "hello", key);
  EXPECT_EQ(again->status, 200);
  EXPECT_EQ(again->header("Idempotency-Replayed"), "true");
  EXPECT_EQ(again->body, first->body) << "from seq 0";
  agent_says("there.");
  agent_finishes();
  EXPECT_EQ(again->body, first->body) << "then live";
  EXPECT_EQ(send(conversation, "hello", key)->body, first->body) << "and after the end";
  const auto waited = post(path + "?stream=false", R"({"content":"hello"})", key);
  EXPECT_EQ(waited->status, 201);
  EXPECT_EQ(waited->header("Idempotency-Replayed"), "true");
  EXPECT_EQ(send(conversation, "other", key)->slug(), "idempotency-key-conflict");
  EXPECT_EQ(agent.dispatch_count, 1);
  EXPECT_EQ(send(make_conversation(), "hello", key)->header("Idempotency-Replayed"), "") << "another operation";
}

TEST_F(MessagesTest, Without_a_stream_the_answer_is_the_message_when_it_is_done_I_20) {
  const auto answer = post(path + "?stream=false", R"({"content":"hello"})");
  EXPECT_EQ(answer->status, 0) << "not before the end";
  agent_says("Hi.");
  agent_finishes();
  EXPECT_EQ(answer->status, 201);
  EXPECT_EQ(answer->header("Location"), "/v1/messages/" + answer->text("id"));
  EXPECT_EQ(answer->header("X-Message-Id"), answer->text("id"));
  EXPECT_EQ(get(answer->header("Location"))->body, answer->body);
}

TEST_F(MessagesTest, Without_a_stream_a_failure_has_its_natural_status_I_20) {
  const auto answer = post(path + "?stream=false", R"({"content":"hello"})");
  agent_fails(model::Slug::model_timeout);
  EXPECT_EQ(answer->status, 504);
  EXPECT_EQ(answer->header("Content-Type"), "application/problem+json");
  EXPECT_EQ(answer->slug(), "model-timeout");
}

TEST_F(MessagesTest, Without_a_stream_a_caller_who_leaves_changes_nothing_I_20) {
  const auto answer = post(path + "?stream=false", R"({"content":"hello"})");
  answer->hang_up();
  agent_says("Hi.");
  agent_finishes();
  EXPECT_EQ(answer->status, 0);
  EXPECT_TRUE(logged("status=499 answer=caller left"));
  EXPECT_NE(get(path)->body.find(R"("content":"Hi.")"), std::string::npos);
}

}  // namespace messages_test
}  // namespace sluice::api
