#include "api/api_fixture.h"

namespace sluice::api {
namespace conversations_test {

using ConversationsTest = ApiTest;

TEST_F(ConversationsTest, A_conversation_is_created_with_every_word_it_was_given_I_2) {
  const auto repository = make_repository("code");
  const auto answer = post("/v1/conversations", R"({"user_id":"ana","title":"Jobs","metadata":{"k":"v"},
      "repository_id":")" + repository + R"(","filler":{"enabled":true},"on_capacity":"hold","unknown":1})");
  EXPECT_EQ(answer->status, 201);
  EXPECT_EQ(answer->header("Content-Type"), "application/json");
  EXPECT_EQ(answer->header("Location"), "/v1/conversations/" + answer->text("id"));
  EXPECT_EQ(answer->text("agent_id"), acme.agent.text());
  EXPECT_EQ(answer->text("repository_id"), repository);
  EXPECT_EQ(answer->member("filler"), R"({"enabled":true})");
  EXPECT_EQ(answer->member("metadata"), R"({"k":"v"})");
  EXPECT_EQ(get(answer->header("Location"))->body, answer->body);
}

TEST_F(ConversationsTest, The_stream_of_an_initial_message_carries_the_conversation_I_2) {
  const auto stream = post("/v1/conversations", R"({"title":"T","initial_message":{"content":"hello"}})");
  EXPECT_EQ(stream->status, 200);
  EXPECT_EQ(stream->header("Content-Type"), "application/x-ndjson");
  agent_says("Hi");
  agent_finishes();
  EXPECT_TRUE(stream->finished);
  EXPECT_EQ(count_lines(stream->body), 3U);
  EXPECT_NE(stream->body.find(R"("conversation":{"object":"conversation","id":"con_)"), std::string::npos);
  EXPECT_EQ(agent.last.prompt, "hello");
  EXPECT_EQ(agent.last.agent.id, acme.agent);
}

TEST_F(ConversationsTest, H_1_H_3_an_initial_message_goes_to_the_named_program_and_its_session) {  // H-1, H-3
  const auto stream = post("/v1/conversations", R"({"runtime":{"agent_type":"codex"},
      "initial_message":{"content":"hello","session_id":"s-1"}})");
  EXPECT_EQ(stream->status, 200) << stream->body;
  EXPECT_EQ(agent.last.agent.kit.agent_type, "codex");
  EXPECT_EQ(agent.last.extras.session_id, "s-1");
  EXPECT_NE(stream->body.find(R"("runtime":{"agent_type":"codex")"), std::string::npos) << stream->body;
  const auto wrong = post("/v1/conversations", R"({"runtime":{"agent_type":"cursor"},
      "initial_message":{"content":"hello","session_id":"/etc"}})");
  EXPECT_EQ(wrong->status, 422);
  for (const auto& pointer : Texts{"/runtime/agent_type", "/initial_message/session_id"}) {
    EXPECT_NE(wrong->body.find("\"pointer\":\"" + pointer + "\""), std::string::npos) << pointer << wrong->body;
  }
  agent_finishes();
  patch("/v1/agents/" + acme.agent.text(), R"({"agent_type":"opencode"})");
  EXPECT_NE(
      post("/v1/conversations", R"({"initial_message":{"content":"x"}})")->body.find(R"("agent_type":"opencode")"),
      std::string::npos)
      << "its agent's, where none is named";
}

TEST_F(ConversationsTest, Every_mistake_is_named_at_once_with_its_pointer) {
  const auto answer = post("/v1/conversations", R"({"user_id":"","title":7,"metadata":{"a/b":1,"":"x"},
      "agent_id":"con_x","filler":{"enabled":"yes"},"on_capacity":"wait","repository_id":"a\u0000b",
      "initial_message":{"content":"","skill_ids":["",3],"env":{"1X":"v","OK":5}}})");
  EXPECT_EQ(answer->status, 422);
  EXPECT_EQ(answer->slug(), "validation-error");
  for (const auto& pointer :
       Texts{"/user_id", "/title", "/metadata/a~1b", "/metadata/", "/agent_id", "/filler/enabled", "/on_capacity",
             "/repository_id", "/initial_message/content", "/initial_message/skill_ids/0",
             "/initial_message/skill_ids/1", "/initial_message/env/1X", "/initial_message/env/OK"}) {
    EXPECT_NE(answer->member("errors").find("\"pointer\":\"" + pointer + "\""), std::string::npos)
        << pointer << " " << answer->body;
  }
  EXPECT_EQ(get("/v1/conversations")->member("data"), "[]");
}

TEST_F(ConversationsTest, Texts_are_measured_in_characters_at_the_limit_and_one_past_it) {
  const auto umlauts = [](int count) {
    std::string out;
    for (int i = 0; i < count; ++i) out += "ü";
    return out;
  };
  EXPECT_EQ(post("/v1/conversations", R"({"title":")" + umlauts(255) + "\"}")->status, 201);
  EXPECT_EQ(post("/v1/conversations", R"({"title":")" + umlauts(256) + "\"}")->status, 422);
  EXPECT_EQ(post("/v1/conversations", R"({"metadata":{"k":")" + umlauts(500) + "\"}}")->status, 201);
  EXPECT_EQ(post("/v1/conversations", R"({"metadata":{"k":")" + umlauts(501) + "\"}}")->status, 422);
  const auto keys = [](int count) {
    std::string out = R"({"metadata":{)";
    for (int i = 0; i < count; ++i) out += (i > 0 ? ",\"" : "\"") + std::to_string(i) + R"(":"v")";
    return out + "}}";
  };
  EXPECT_EQ(post("/v1/conversations", keys(50))->status, 201);
  EXPECT_EQ(post("/v1/conversations", keys(51))->status, 422);
}

TEST_F(ConversationsTest, A_near_miss_of_a_name_is_ignored_and_named_in_the_log) {
  EXPECT_EQ(post("/v1/conversations", R"({"repositry_id":"secret words"})")->status, 201);
  EXPECT_TRUE(logged("warn unknown field ignored field=/repositry_id did_you_mean=repository_id"));
  EXPECT_FALSE(logged("secret words"));
  EXPECT_EQ(get("/v1/conversations?limitt=5")->status, 200);
  EXPECT_TRUE(logged("field=limitt did_you_mean=limit"));
}

TEST_F(ConversationsTest, A_body_full_of_unknown_names_is_not_spelt_out) {
  std::string body = "{";
  for (int i = 0; i < 1000; ++i) body += "\"title" + std::to_string(i) + "\":1,";
  log.lines.clear();
  EXPECT_EQ(post("/v1/conversations", body + "\"title\":\"T\"}")->status, 201);
  EXPECT_LT(log.lines.size(), 30U);
}

TEST_F(ConversationsTest, A_body_that_is_not_JSON_is_400_and_another_media_type_415) {
  for (const auto& body : Texts{"", "{", "nonsense", "{}{}", "{\"title\":\"\xff\"}", std::string(200, '[')}) {
    const auto answer = post("/v1/conversations", body);
    EXPECT_EQ(answer->status, 400) << body;
    EXPECT_EQ(answer->slug(), "malformed-request");
  }
  for (const auto& body : Texts{"[]", "7", "\"x\"", "null"}) {
    EXPECT_EQ(post("/v1/conversations", body)->status, 422) << body;
  }
  EXPECT_EQ(post("/v1/conversations", "{}", {{"Content-Type", "text/plain"}})->status, 415);
  EXPECT_EQ(post("/v1/conversations", "{}", {{"Content-Type", "Application/JSON; charset=utf-8"}})->status, 201);
  EXPECT_EQ(post("/v1/conversations", "{}", {{"Content-Type", "application/merge-patch+json"}})->status, 201);
  for (const auto& coding : Texts{"gzip", "br", "identity, gzip", "zstd"}) {
    EXPECT_EQ(post("/v1/conversations", "{}", {{"Content-Encoding", coding}})->status, 415) << coding;
  }
  EXPECT_EQ(post("/v1/conversations", "{}", {{"Content-Encoding", "Identity"}})->status, 201);
}

TEST_F(ConversationsTest, The_problem_of_an_unreadable_body_is_precise) {
  const auto detail = [&](std::string body) {
    const auto answer = post("/v1/conversations", std::move(body));
    EXPECT_EQ(answer->slug(), "malformed-request");
    return answer->text("detail");
  };
  EXPECT_EQ(detail(R"({"title":"a","title":"b"})"), "The body cannot be read: a name stands twice in an object.");
  EXPECT_EQ(detail(R"({"x":1e999999})"), "The body cannot be read: a number is too large to be read.");
  EXPECT_EQ(detail("{"), "The body cannot be read: not valid JSON.");
}

TEST_F(ConversationsTest, A_patch_replaces_what_is_given_keeps_what_is_omitted_and_clears_what_is_null) {
  const auto path = "/v1/conversations/" + make_conversation(R"({"user_id":"ana","title":"T","metadata":{"a":"b"},
      "filler":{"enabled":true},"repository_id":")" + make_repository("code") +
                                                             "\"}");
  auto answer = patch(path, R"({"title":"U","filler":{"enabled":false}})");
  EXPECT_EQ(answer->status, 200);
  EXPECT_EQ(answer->text("title"), "U");
  EXPECT_EQ(answer->text("user_id"), "ana");
  EXPECT_EQ(answer->member("filler"), R"({"enabled":false})");
  answer = patch(path, R"({"title":null,"user_id":null,"metadata":null,"filler":null,"repository_id":null})");
  for (const auto& name : Texts{"title", "user_id", "filler", "repository_id"}) {
    EXPECT_EQ(answer->member(name), "null") << name;
  }
  EXPECT_EQ(answer->member("metadata"), "{}");
  for (const auto& body :
       Texts{R"({"status":null})", R"({"status":"gone"})", R"({"agent_id":null})", R"({"title":1})"}) {
    EXPECT_EQ(patch(path, body)->status, 422) << body;
  }
  EXPECT_EQ(patch(path, "{}")->status, 200);
}

TEST_F(ConversationsTest, Only_the_tenants_own_agents_can_be_named) {
  const std::string foreign = R"({"agent_id":")" + other.agent.text() + "\"}";
  const auto answer = post("/v1/conversations", foreign);
  EXPECT_EQ(answer->status, 422);
  EXPECT_NE(answer->body.find("/agent_id"), std::string::npos);
  EXPECT_EQ(patch("/v1/conversations/" + make_conversation(), foreign)->status, 422);
  const std::string unknown = R"({"agent_id":"agt_00000000000000000000000000"})";
  EXPECT_EQ(post("/v1/conversations", unknown)->status, 422) << "not the default agent by another name";
  EXPECT_EQ(patch("/v1/conversations/" + make_conversation(), unknown)->status, 422);
  const auto mine = post("/v1/agents", R"({"name":"second"})")->text("id");
  EXPECT_EQ(post("/v1/conversations", R"({"agent_id":")" + mine + "\"}")->text("agent_id"), mine);
}

TEST_F(ConversationsTest, Archiving_refuses_messages_and_can_be_undone_I_22) {
  const auto id = make_conversation();
  EXPECT_EQ(remove("/v1/conversations/" + id)->status, 204);
  EXPECT_EQ(remove("/v1/conversations/" + id)->status, 204);
  EXPECT_EQ(get("/v1/conversations/" + id)->text("status"), "archived");
  const auto refused = send(id, "hello");
  EXPECT_EQ(refused->status, 409);
  EXPECT_EQ(refused->slug(), "conversation-archived");
  EXPECT_EQ(get("/v1/conversations/" + id + "/messages")->member("data"), "[]");
  EXPECT_EQ(patch("/v1/conversations/" + id, R"({"status":"active"})")->status, 200);
  EXPECT_EQ(send(id, "hello")->status, 200);
}

TEST_F(ConversationsTest, Lists_are_cut_into_pages_that_meet_without_gap_or_overlap) {
  std::vector<std::string> ids_made;
  for (int i = 0; i < 5; ++i) {
    loop.advance({1});
    ids_made.push_back(make_conversation(i == 0 ? R"({"user_id":"a b"})" : "{}"));
  }
  std::vector<std::string> seen;
  std::string cursor;
  for (int page = 0; page < 3; ++page) {
    const auto answer = get("/v1/conversations?limit=2" + (cursor.empty() ? "" : "&starting_after=" + cursor));
    ASSERT_EQ(answer->status, 200);
    EXPECT_EQ(answer->member("object"), "\"list\"");
    EXPECT_EQ(answer->member("has_more"), page < 2 ? "true" : "false");
    const auto document = json::Document::parse(answer->body);
    document.value().root().find("data")->each_element(
        [&](json::Value row) { seen.emplace_back(*row.find("id")->string()); });
    cursor = answer->text("next_cursor");
    EXPECT_EQ(cursor.substr(0, cursor.find('.')), page < 2 ? seen.back() : "");
  }
  EXPECT_EQ(seen, std::vector<std::string>(ids_made.rbegin(), ids_made.rend()));
  const auto before = get("/v1/conversations?limit=2&ending_before=" + seen.back());
  EXPECT_TRUE(before->text("next_cursor").starts_with(seen[2] + "."))
      << "going back, the next page ends before the first row";
  EXPECT_NE(get("/v1/conversations?user_id=a%20b")->body.find(ids_made[0]), std::string::npos);
  EXPECT_EQ(get("/v1/conversations?user_id=unknown")->member("data"), "[]");
}

TEST_F(ConversationsTest, A_wrong_query_is_422_and_names_the_parameter) {
  const auto id = make_conversation();
  for (const auto& query :
       Texts{"limit=0", "limit=101", "limit=x", "limit=", "limit=1&limit=2", "starting_after=x", "ending_before=msg_1",
             "starting_after=con_00000000000000000000000000", "user_id=%ff", "user_id=%"}) {
    const auto answer = get("/v1/conversations?" + query);
    EXPECT_EQ(answer->status, 422) << query;
    EXPECT_EQ(answer->slug(), "validation-error");
  }
  EXPECT_EQ(get("/v1/conversations?starting_after=" + id + "&ending_before=" + id)->status, 422);
  EXPECT_EQ(get("/v1/conversations?limit=100&unknown=1")->status, 200);
}

TEST_F(ConversationsTest, A_retry_is_answered_the_same_when_the_agent_is_gone_since_I_19) {
  const auto agent_id = post("/v1/agents", R"({"name":"second"})")->text("id");
  const std::string named = R"("agent_id":")" + agent_id + "\"";
  const std::string plain = "{" + named + "}";
  const std::string with_message = "{" + named + R"(,"initial_message":{"content":"hello"}})";
  const auto first = post("/v1/conversations", plain, {{"Idempotency-Key", "plain"}});
  const auto stream = post("/v1/conversations", with_message, {{"Idempotency-Key", "streamed"}});
  agent_finishes();
  remove(first->header("Location"));
  const auto run = get("/v1/runs/" + stream->header("X-Run-Id"));
  remove("/v1/conversations/" + run->text("conversation_id"));
  ASSERT_EQ(remove("/v1/agents/" + agent_id)->status, 204);

  const auto again = post("/v1/conversations", plain, {{"Idempotency-Key", "plain"}});
  EXPECT_EQ(again->status, 201);
  EXPECT_EQ(again->body, first->body);
  const auto stream_again = post("/v1/conversations", with_message, {{"Idempotency-Key", "streamed"}});
  EXPECT_EQ(stream_again->status, 200);
  EXPECT_EQ(stream_again->body, stream->body);
  for (const auto& body : {plain, with_message}) {
    const auto fresh = post("/v1/conversations", body);
    EXPECT_EQ(fresh->status, 422);
    EXPECT_NE(fresh->body.find(R"("pointer":"/agent_id")"), std::string::npos);
  }
}

TEST_F(ConversationsTest, The_same_key_and_body_make_one_conversation_I_19) {
  const net::Headers key = {{"Idempotency-Key", "k-1"}};
  const auto first = post("/v1/conversations", R"({"title":"T"})", key);
  const auto again = post("/v1/conversations", R"({"title":"T"})", key);
  EXPECT_EQ(again->status, 201);
  EXPECT_EQ(again->body, first->body);
  EXPECT_EQ(again->header("Location"), first->header("Location"));
  EXPECT_EQ(first->header("Idempotency-Replayed"), "");
  EXPECT_EQ(again->header("Idempotency-Replayed"), "true");
  const auto conflict = post("/v1/conversations", R"({"title":"U"})", key);
  EXPECT_EQ(conflict->status, 422);
  EXPECT_EQ(conflict->slug(), "idempotency-key-conflict");
  EXPECT_EQ(get("/v1/conversations?limit=1")->member("has_more"), "false");
  for (const auto& wrong : Texts{"", "a b", "ü", std::string(256, 'k')}) {
    EXPECT_EQ(post("/v1/conversations", "{}", {{"Idempotency-Key", wrong}})->status, 422) << wrong;
  }
  EXPECT_EQ(post("/v1/conversations", "{}", {{"Idempotency-Key", "a"}, {"idempotency-key", "b"}})->status, 422);
  EXPECT_EQ(post("/v1/conversations", "{}", {{"Idempotency-Key", std::string(255, 'k')}})->status, 201);
}

}  // namespace conversations_test
}  // namespace sluice::api
