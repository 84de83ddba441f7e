// Chats as they are listed, read again, renamed and deleted (A-2).
#include "api/assistant/chat_fixture.h"

namespace sluice::api {
namespace chats_test {

class ChatsTest : public ChatTest {
 protected:
  static std::size_t count(const std::string& text, std::string_view what) {
    std::size_t times = 0;
    for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++times;
    return times;
  }
};

TEST_F(ChatsTest, A_2_a_reload_shows_the_messages_of_the_stream) {  // A-2
  const auto stream = turn("Count\\nplease");
  const auto id = stream->header("X-Chat-Id");
  agent_says("One.");
  agent_says(R"({"id":"s","name":"bash","status":"running","args":{"command":"ls"}})", model::EventKind::step);
  agent_says(R"({"id":"s","name":"bash","status":"succeeded","result":"x","durationMs":1})", model::EventKind::step);
  agent_finishes();
  const auto shown = chat(id);
  EXPECT_EQ(shown->status, 200);
  EXPECT_EQ(shown->text("title"), "Count");
  EXPECT_EQ(shown->member("running"), "null");
  EXPECT_EQ(shown->member("hasMore"), "false");
  const auto messages = shown->member("messages");
  EXPECT_NE(messages.find(R"("role":"user","content":[{"type":"text","text":"Count\nplease"}])"), std::string::npos);
  // The message in the frame is the message that is kept, to the byte.
  const auto at = stream->body.find(R"("message":)") + 10;
  const auto kept = stream->body.substr(at, stream->body.rfind(R"(,"usage":)") - at);
  EXPECT_NE(messages.find(kept), std::string::npos) << kept;
}

TEST_F(ChatsTest, A_5_a_chat_is_deleted_by_the_assistant_alone_and_then_gone_everywhere) {  // A-5
  const auto id = finished_chat();
  const auto plain = "/v1/conversations/" + id;
  EXPECT_EQ(patch(plain, R"({"status":"archived"})")->status, 422);
  EXPECT_EQ(remove(plain)->status, 409);
  EXPECT_EQ(get(plain)->status, 200);
  EXPECT_EQ(chat(id)->status, 200);
  EXPECT_EQ(remove("/api/assistant/chats/" + id)->status, 204);
  EXPECT_EQ(get(plain)->status, 404);
  EXPECT_EQ(get(plain + "/messages")->status, 404);
  EXPECT_EQ(patch(plain, R"({"status":"active"})")->status, 404) << "a deleted chat cannot be restored";
}

TEST_F(ChatsTest, A_turn_under_way_shows_its_question_and_where_to_follow_it) {
  const auto id = finished_chat();
  const auto stream = turn("And now?", id);
  agent_says("Well");
  const auto shown = chat(id);
  EXPECT_EQ(shown->member("running"), R"({"streamId":")" + stream->header("X-Stream-Id") + R"(","messageId":")" +
                                          stream->header("X-Message-Id") + R"(","lastEventId":1})");
  EXPECT_NE(shown->body.find("And now?"), std::string::npos);
  EXPECT_EQ(shown->body.find("Well"), std::string::npos);
  const auto list = get("/api/assistant/chats");
  EXPECT_NE(list->body.find(R"("running":")" + stream->header("X-Stream-Id") + "\""), std::string::npos);
}

TEST_F(ChatsTest, Chats_of_the_tenant_are_listed_latest_first) {
  const auto first = finished_chat();
  loop.advance({10});
  const auto second = finished_chat();
  make_conversation();
  const auto list = get("/api/assistant/chats?limit=1");
  EXPECT_NE(
      list->body.find(R"({"id":")" + second + R"(","object":"chat","title":"Hi","agentId":")" + acme.agent.text()),
      std::string::npos);
  EXPECT_TRUE(list->text("next_cursor").starts_with(second + "."));
  const auto rest = get("/api/assistant/chats?starting_after=" + list->text("next_cursor"));
  EXPECT_EQ(count(rest->body, R"("object":"chat")"), 1U);
  EXPECT_NE(rest->body.find(first), std::string::npos);
  EXPECT_EQ(count(ask_as("GET", "/api/assistant/chats", {.key = other.key})->body, R"("object":"chat")"), 0U);
}

TEST_F(ChatsTest, The_last_fifty_turns_are_shown_and_earlier_ones_on_request) {
  const auto id = finished_chat();
  for (int i = 1; i < 53; ++i) {
    loop.advance({1});
    turn("turn " + std::to_string(i) + ".", id);
    agent_finishes();
  }
  const auto last = chat(id);
  EXPECT_EQ(last->member("hasMore"), "true");
  EXPECT_EQ(count(last->body, R"("role":"user")"), 50U);
  const auto messages = last->member("messages");
  const auto oldest = messages.substr(messages.find("msg_"), 30);
  const auto before = chat(id, "?before=" + oldest);
  EXPECT_EQ(count(before->body, R"("role":"user")"), 3U);
  EXPECT_EQ(before->member("hasMore"), "false");
  EXPECT_NE(before->body.find("turn 2."), std::string::npos);
  EXPECT_EQ(before->body.find("turn 3."), std::string::npos);
  const auto answer = messages.find(R"("role":"assistant")") - 38;
  EXPECT_EQ(count(chat(id, "?before=" + messages.substr(messages.find("msg_", answer), 30))->body, R"("role":"user")"),
            3U);
  for (const auto& wrong : {std::string("x"), ids.make<model::MessageId>().text()}) {
    EXPECT_EQ(chat(id, "?before=" + wrong)->status, 422);
  }
}

TEST_F(ChatsTest, A_chat_is_renamed) {
  const auto id = finished_chat();
  const auto at = "/api/assistant/chats/" + id;
  const auto renamed = patch(at, R"({"title":"<script>alert(1)</script>"})");
  EXPECT_EQ(renamed->status, 200);
  EXPECT_EQ(renamed->text("title"), "<script>alert(1)</script>");
  for (const auto* wrong : {"{}", R"({"title":null})", R"({"title":""})", R"({"title":3})"}) {
    EXPECT_EQ(patch(at, wrong)->status, 422) << wrong;
  }
  turn("Next", id);
  EXPECT_EQ(chat(id)->text("title"), "<script>alert(1)</script>");
}

TEST_F(ChatsTest, Deleting_ends_the_turn_and_takes_the_files_along_A_5) {
  const auto id = finished_chat();
  const auto file = put_file(model::ConversationId::parse(id), acme);
  const auto stream = turn("Go", id);
  EXPECT_EQ(remove("/api/assistant/chats/" + id)->status, 204);
  EXPECT_TRUE(stream->finished);
  EXPECT_EQ(agent.listener, nullptr);
  EXPECT_EQ(chat(id)->status, 404);
  EXPECT_EQ(turn("Hello?", id)->status, 404);
  EXPECT_EQ(patch("/api/assistant/chats/" + id, R"({"title":"x"})")->status, 404);
  EXPECT_EQ(remove("/api/assistant/chats/" + id)->status, 404);
  EXPECT_EQ(follow(stream->header("X-Stream-Id"))->status, 404);
  EXPECT_EQ(get("/api/assistant/chats")->body.find(id), std::string::npos);
  bool is_found = true;
  store::bag_file(store.database(), acme.id, file,
                  [&](const Result<model::BagFile>& found) { is_found = static_cast<bool>(found); });
  loop.settle();
  EXPECT_FALSE(is_found);
}

TEST_F(ChatsTest, A_chat_of_another_tenant_is_404) {
  const auto own = finished_chat();
  const auto plain = make_conversation();
  for (const auto& [key, id] : {std::pair{other.key, own}, {acme.key, plain}, {acme.key, std::string("con_x")}}) {
    const auto at = "/api/assistant/chats/" + id;
    EXPECT_EQ(ask_as("GET", at, {.key = key})->status, 404) << id;
    EXPECT_EQ(ask_as("PATCH", at, {.key = key, .body = R"({"title":"x"})"})->status, 404) << id;
    EXPECT_EQ(ask_as("DELETE", at, {.key = key})->status, 404) << id;
    EXPECT_EQ(ask_as("POST", at + "/stop", {.key = key})->status, 404) << id;
  }
  const auto sent = ask_as("POST", "/api/assistant/chat/stream",
                           {.key = other.key, .body = R"({"message":"x","chatId":")" + own + "\"}"});
  EXPECT_EQ(sent->status, 404);
  EXPECT_EQ(turn("x", own, R"(,"agentId":")" + other.agent.text() + "\"")->status, 422) << "the chat has its agent";
}

}  // namespace chats_test
}  // namespace sluice::api
