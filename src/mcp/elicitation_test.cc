// What a server wants to know of a user who is not there: H-6.
#include "mcp/elicitation.h"

#include <gtest/gtest.h>

namespace sluice::mcp {
namespace elicitation_test {

constexpr std::string_view declined = R"({"jsonrpc":"2.0","id":"e1","result":{"action":"decline"}})";

std::string answer_to(const std::string& params) {
  const auto document = json::Document::parse(params);
  EXPECT_TRUE(document) << params;
  return document ? answer_to_elicitation(R"("e1")", document.value().root()) : "";
}

std::string answer_to_fields(const std::string& fields) {
  return answer_to(R"({"message":"Say more","requestedSchema":{"type":"object","properties":)" + fields + "}}");
}

TEST(Elicitation, A_form_whose_every_field_has_a_default_is_accepted_with_them) {
  EXPECT_EQ(answer_to_fields(R"({"name":{"type":"string","default":"Ann"},"age":{"type":"integer","default":30},)"
                             R"("score":{"type":"number","default":95.5},"is_new":{"type":"boolean","default":true},)"
                             R"("state":{"type":"string","enum":["on","off"],"default":"off"},)"
                             R"("size":{"type":"string","oneOf":[{"const":"s","title":"Small"}],"default":"s"},)"
                             R"("tags":{"type":"array","items":{"enum":["a","b"]},"default":["b"]}})"),
            R"({"jsonrpc":"2.0","id":"e1","result":{"action":"accept","content":{"name":"Ann","age":30,)"
            R"("score":95.5,"is_new":true,"state":"off","size":"s","tags":["b"]}}})");
}

TEST(Elicitation, A_form_that_needs_a_human_is_declined) {
  for (const auto* fields :
       {R"({"name":{"type":"string"}})", R"({"name":{"type":"string","default":"Ann"},"age":{"type":"integer"}})",
        R"({"age":{"type":"integer","default":"thirty"}})",
        R"({"state":{"type":"string","enum":["on","off"],"default":"broken"}})",
        R"({"size":{"type":"string","oneOf":[{"const":"s"}],"default":"m"}})",
        R"({"tags":{"type":"array","items":{"enum":["a"]},"default":["c"]}})",
        R"({"what":{"type":"object","default":{}}})", R"({})", "[]"}) {
    EXPECT_EQ(answer_to_fields(fields), declined) << fields;
  }
  EXPECT_EQ(answer_to(R"({"message":"Delete all orders?"})"), declined) << "only a human says yes to a question";
  EXPECT_EQ(answer_to("null"), declined);
}

TEST(Elicitation, A_form_without_end_is_declined) {
  std::string fields;
  for (std::size_t i = 0; i <= form_fields_max; ++i) {
    fields += (i == 0 ? "" : ",") + ("\"f" + std::to_string(i) + "\":{\"type\":\"string\",\"default\":\"x\"}");
  }
  EXPECT_EQ(answer_to_fields("{" + fields + "}"), declined);
  EXPECT_EQ(answer_to_fields(R"({"f":{"type":"string","default":")" + std::string(1 << 20, 'x') + R"("}})"), declined);
}

TEST(Elicitation, A_page_to_be_visited_is_an_error_because_it_was_not_offered) {
  const auto answer = answer_to(R"({"mode":"url","url":"https://login.example/","message":"Log in"})");
  EXPECT_NE(answer.find(R"("code":-32602)"), std::string::npos) << answer;
}

}  // namespace elicitation_test
}  // namespace sluice::mcp
