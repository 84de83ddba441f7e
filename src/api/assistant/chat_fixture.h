// Chats with the Assistant, over the surfaces' fixture.
#pragma once

#include "api/api_fixture.h"
#include "model/json.h"

namespace sluice::api {

class ChatTest : public ApiTest {
 protected:
  // The first turn of a chat, or the next one of `chat`; `more` are further members.
  Answer turn(const std::string& message, const std::string& chat = "", const std::string& more = "") {
    auto body = R"({"message":")" + message + "\"";
    if (!chat.empty()) body += R"(,"chatId":")" + chat + "\"";
    return post("/api/assistant/chat/stream", body + more + "}");
  }
  std::string finished_chat(const std::string& answer = "Hello.") {
    const auto stream = turn("Hi");
    agent_says(answer);
    agent_finishes();
    return stream->header("X-Chat-Id");
  }
  Answer follow(const std::string& stream, const std::string& more = "") {
    return get("/api/assistant/chat/stream?streamId=" + stream + more);
  }
  Answer chat(const std::string& id, const std::string& more = "") { return get("/api/assistant/chats/" + id + more); }

  model::FileId put_file(std::optional<model::ConversationId> in, const TenantInHand& tenant) {
    model::BagFile file{.id = ids.make<model::FileId>(), .tenant_id = tenant.id, .chat_id = in};
    file.name = "a.csv";
    file.type = "text/csv";
    file.size_bytes = 3;
    file.sha256 = std::string(64, 'a');
    file.created_at = loop.now();
    store::create_bag_files(store.database(), {file}, 1'000'000,
                            [](Result<store::BagOutcome> kept) { ASSERT_TRUE(kept); });
    loop.settle();
    return file.id;
  }
};

}  // namespace sluice::api
