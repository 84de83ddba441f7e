// An AG-UI client without a socket, of any kind, in one thread with one name.
#pragma once

#include <cctype>
#include <string>

#include "api/approval_fixture.h"

namespace sluice::api::agui {

class AguiTest : public ApprovalTest {
 protected:
  // Another text is another message, as every client has it.
  static std::string user(const std::string& text) {
    std::string id = "u_";
    for (const char byte : text.substr(0, 60)) id += std::isalnum(static_cast<unsigned char>(byte)) != 0 ? byte : '_';
    return R"({"id":")" + id + R"(","role":"user","content":")" + text + "\"}";
  }
  static std::string result(const std::string& call_id, const std::string& content, const std::string& more = "") {
    return R"({"id":"r_)" + call_id + R"(","role":"tool","toolCallId":")" + call_id + R"(","content":")" + content +
           "\"" + more + "}";
  }
  // `more`: further members, each with a comma before it.
  static std::string input(const std::string& run_id, const std::string& messages, const std::string& more = "") {
    return R"({"threadId":"t1","runId":")" + run_id + R"(","protocolVersion":"1.0","messages":[)" + messages + "]" +
           more + "}";
  }
  Answer start(const std::string& run_id, const std::string& messages, const std::string& more = "",
               net::Headers headers = {}) {
    return post("/agui", input(run_id, messages, more), std::move(headers));
  }
  Answer resume(const std::string& run_id, const std::string& entries) {
    return start(run_id, user("hello"), R"(,"resume":[)" + entries + "]");
  }

  // A run of the thread asks for something; `approval` is its id.
  Answer start_and_ask(const std::string& run_id, std::vector<model::RequestedItem> items) {
    auto answer = start(run_id, user("hello"));
    agent_asks(std::move(items));
    const auto list = get("/v1/approvals?status=pending");
    const auto document = json::Document::parse(list->body);
    EXPECT_TRUE(document);
    document.value().root().find("data")->each_element([&](json::Value row) { approval = *row.find("id")->string(); });
    return answer;
  }
  static model::RequestedItem a_call(const std::string& id) {
    return {.kind = model::ItemKind::client_tool,
            .description = "pick",
            .call = model::ClientCall{id, "pick", R"({"from":3})"}};
  }
  void allow_unsigned() {
    admin("PATCH", "/v1/tenants/" + acme.id.text(), R"({"settings":{"agui_unsigned_approvals":true}})");
  }

  static void expect_refused(const Answer& answer, const std::string& pointer) {
    EXPECT_EQ(answer->status, 422) << pointer << " " << answer->body;
    EXPECT_NE(answer->body.find("\"pointer\":\"" + pointer + "\""), std::string::npos) << pointer << answer->body;
  }
  static bool has(const Answer& answer, std::string_view words) {
    return answer->body.find(words) != std::string::npos;
  }
};

}  // namespace sluice::api::agui
