#include "api/assistant/chats.h"

#include "api/assistant/chat_fixture.h"

namespace sluice::api {
namespace turn_input_test {

using assistant::title_of;

TEST(ChatTitle, It_is_the_first_line_cut_at_eighty_characters) {
  EXPECT_EQ(title_of("Plan my week\nand my month"), "Plan my week");
  EXPECT_EQ(title_of("\r\n  \tHello\tthere \r\nx"), "Hello there");
  std::string long_line;
  for (int i = 0; i < 100; ++i) long_line += "é";
  EXPECT_EQ(title_of(long_line), long_line.substr(0, 160));
  EXPECT_EQ(title_of(" \n "), "Untitled");
}

class TurnInputTest : public ChatTest {
 protected:
  // The pointers of what is refused.
  std::string refused_at(const std::string& body) {
    const auto answer = post("/api/assistant/chat/stream", body);
    EXPECT_EQ(answer->status, 422) << body << "\n" << answer->body;
    const auto document = json::Document::parse(answer->body);
    std::string pointers;
    if (const auto errors = document.value().root().find("errors")) {
      errors->each_element([&](json::Value error) { pointers += std::string(*error.find("pointer")->string()) + " "; });
    }
    EXPECT_EQ(agent.dispatch_count, 0) << "nothing was created";
    return pointers;
  }
};

TEST_F(TurnInputTest, Everything_that_is_wrong_is_pointed_at) {
  EXPECT_EQ(refused_at("{}"), "/message ");
  EXPECT_EQ(refused_at(R"({"message":""})"), "/message ");
  EXPECT_EQ(refused_at(R"({"message":7,"chatId":"x","agentId":"agt_","onDisconnect":"maybe","onCapacity":1})"),
            "/message /chatId /agentId /onDisconnect /onCapacity ");
  EXPECT_EQ(refused_at(R"({"message":")" + std::string(100'001, 'x') + "\"}"), "/message ");
  EXPECT_EQ(refused_at(R"({"message":"x","workspaceId":"wsp_0"})"), "/workspaceId ");
  EXPECT_EQ(refused_at(R"({"message":"x","attachmentIds":["../../etc/passwd",1]})"),
            "/attachmentIds/1 /attachmentIds/0 ");
  EXPECT_EQ(refused_at(R"({"message":"x","attachmentIds":["../../etc/passwd"]})"), "/attachmentIds/0 ");
  EXPECT_EQ(refused_at(R"({"message":"x","attachmentIds":"fil_1"})"), "/attachmentIds ");
  EXPECT_EQ(refused_at(R"({"message":"x","agentId":")" + ids.make<model::AgentId>().text() + "\"}"), "/agentId ");
  EXPECT_EQ(refused_at(R"({"message":"x","agentId":")" + other.agent.text() + "\"}"), "/agentId ");
  EXPECT_EQ(post("/api/assistant/chat/stream", "{\"message\":")->status, 400);
  EXPECT_EQ(post("/api/assistant/chat/stream", R"({"message":"\ud800"})")->status, 400);
}

TEST_F(TurnInputTest, A_first_turn_makes_the_chat_and_takes_its_title_from_it_A_1) {  // A-1
  const auto stream = turn(R"(Plan my <b>week</b>\nplease)", "",
                           R"(,"workspaceId":")" + model::WorkspaceId{acme.id.ulid}.text() + "\"");
  EXPECT_EQ(stream->status, 200);
  EXPECT_EQ(stream->header("Content-Type"), "text/event-stream");
  const auto chat_id = stream->header("X-Chat-Id");
  EXPECT_NE(stream->body.find("id: 0\nevent: chat\ndata: {\"chatId\":\"" + chat_id + "\",\"streamId\":\"" +
                              stream->header("X-Stream-Id") + "\""),
            std::string::npos)
      << stream->body;
  EXPECT_NE(stream->body.find(R"("title":"Plan my <b>week</b>","createdAt":)" + std::to_string(loop.now().ms)),
            std::string::npos);
  EXPECT_EQ(agent.last.extras.builtin_skills, (Texts{"tables", "files", "workflow_editor"}));
  EXPECT_EQ(get("/v1/conversations")->body.find(chat_id), std::string::npos) << "host systems do not see it";
}

TEST_F(TurnInputTest, Files_of_the_chat_and_files_without_a_chat_may_be_attached_A_5) {  // A-5
  const auto chat_id = model::ConversationId::parse(finished_chat());
  const auto elsewhere = model::ConversationId::parse(finished_chat());
  const auto loose = put_file(std::nullopt, acme);
  const auto own = put_file(chat_id, acme);
  const auto of_another_chat = put_file(elsewhere, acme);
  const auto of_another_tenant = put_file(std::nullopt, other);
  const auto attach = [&](model::FileId id) {
    return turn("See", chat_id->text(), R"(,"attachmentIds":[")" + own.text() + "\",\"" + id.text() + "\"]");
  };
  for (const auto wrong : {of_another_chat, of_another_tenant, ids.make<model::FileId>()}) {
    const auto refused = attach(wrong);
    EXPECT_EQ(refused->status, 422);
    EXPECT_NE(refused->body.find("/attachmentIds/1"), std::string::npos) << refused->body;
  }
  EXPECT_EQ(attach(own)->status, 422) << "twice";
  EXPECT_EQ(attach(loose)->status, 200);
  ASSERT_TRUE(agent.last.extras.chat);
  EXPECT_EQ(agent.last.extras.chat->attachments.size(), 2U);
  agent_finishes();
  const auto shown = chat(chat_id->text());
  EXPECT_NE(shown->member("messages").find(R"("fileAttachments":[{"id":")" + own.text()), std::string::npos);
  EXPECT_NE(shown->member("files").find(loose.text()), std::string::npos) << "it has joined the chat";
}

TEST_F(TurnInputTest, S_8_the_caller_names_a_runner_only_where_the_server_lets_it) {  // S-8
  const std::string named = R"({"message":"x","sandboxUrl":"https://runner.example/box"})";
  EXPECT_EQ(refused_at(named), "/sandboxUrl ");
  make_surfaces({.sandbox_urls = {"https://runner.example"}});
  for (const auto* url : {"file:///etc/passwd", "https://u:p@runner.example", "https://runner.example.evil/",
                          "https://runner.example/?x", "http://runner.example"}) {
    EXPECT_EQ(refused_at(R"({"message":"x","sandboxUrl":")" + std::string(url) + "\"}"), "/sandboxUrl ") << url;
  }
  EXPECT_EQ(post("/api/assistant/chat/stream", named)->status, 200);
  EXPECT_EQ(agent.last.extras.sandbox_url, "https://runner.example/box");
}

TEST_F(TurnInputTest, S_8_without_any_sandbox_there_is_talk_and_what_needs_one_fails_before_anything_is_made) {
  make_surfaces({.has_sandbox = false});
  const auto file = put_file(std::nullopt, acme);
  const auto refused = turn("See", "", R"(,"attachmentIds":[")" + file.text() + "\"]");
  EXPECT_EQ(refused->status, 503);
  EXPECT_EQ(refused->slug(), "runner-unavailable");
  EXPECT_EQ(get("/api/assistant/chats")->body.find("con_"), std::string::npos);
  EXPECT_EQ(turn("Hi")->status, 200);
  EXPECT_TRUE(agent.last.extras.builtin_skills.empty());
}

TEST_F(TurnInputTest, S_8_then_the_agents_environment_does) {
  make_surfaces({.sandbox_urls = {"https://runner.example"}});
  const auto make = [&](const std::string& url) {
    const auto environment =
        post("/v1/environments", R"({"name":")" + url + R"(","variables":{"SANDBOX_URL":")" + url + R"("}})");
    return post("/v1/agents", R"({"name":")" + url + R"(","environment_id":")" + environment->text("id") + "\"}")
        ->text("id");
  };
  const auto allowed = make("https://runner.example/a");
  const auto not_allowed = make("https://other.example");
  EXPECT_EQ(refused_at(R"({"message":"x","agentId":")" + not_allowed + "\"}"), "/agentId ");
  turn("x", "", R"(,"agentId":")" + allowed + "\"");
  EXPECT_EQ(agent.last.extras.sandbox_url, "https://runner.example/a");
  agent_finishes();
  turn("x", "", R"(,"agentId":")" + allowed + R"(","sandboxUrl":"https://runner.example/b")");
  EXPECT_EQ(agent.last.extras.sandbox_url, "https://runner.example/b") << "the caller's word comes first";
}

}  // namespace turn_input_test
}  // namespace sluice::api
