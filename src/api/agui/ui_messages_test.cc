#include "api/agui/agui.h"

#include <gtest/gtest.h>

namespace sluice::api::agui {
namespace ui_messages_test {

TEST(UiMessages, H_2_turns_have_their_thoughts_calls_and_results_as_parts) {
  EXPECT_EQ(
      ui_messages(R"([{"id":"u1","role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]},)"
                  R"({"id":"r1","role":"reasoning","content":"hm"},)"
                  R"({"id":"a1","role":"assistant","content":"Hi.","toolCalls":[{"id":"c1","type":"function",)"
                  R"("function":{"name":"bash","arguments":"{}"}}]},)"
                  R"({"id":"t1","role":"tool","toolCallId":"c1","content":"out"},)"
                  R"({"id":"a2","role":"assistant","content":"Done."}])"),
      R"([{"id":"u1","role":"user","parts":[{"type":"text","content":"a\nb"}]},)"
      R"({"id":"a1","role":"assistant","parts":[{"type":"thinking","content":"hm"},{"type":"text","content":"Hi."},)"
      R"({"type":"tool-call","id":"c1","name":"bash","arguments":"{}","state":"input-complete"},)"
      R"({"type":"tool-result","toolCallId":"c1","content":"out","state":"complete"}]},)"
      R"({"id":"a2","role":"assistant","parts":[{"type":"text","content":"Done."}]}])");
}

TEST(UiMessages, Failed_results_are_marked_and_unmatched_ones_are_left_out) {
  EXPECT_EQ(
      ui_messages(
          R"([{"id":"a1","role":"assistant","toolCalls":[{"id":"c1","function":{"name":"x","arguments":"{}"}}]},)"
          R"({"id":"t1","role":"tool","toolCallId":"c1","content":"","error":"no"},)"
          R"({"id":"t2","role":"tool","toolCallId":"c9","content":"?"},{"id":"r","role":"reasoning","content":"mm"}])"),
      R"([{"id":"a1","role":"assistant","parts":[{"type":"tool-call","id":"c1","name":"x","arguments":"{}",)"
      R"("state":"input-complete"},{"type":"tool-result","toolCallId":"c1","content":"","state":"error",)"
      R"("error":"no"}]},{"id":"thoughts","role":"assistant","parts":[{"type":"thinking","content":"mm"}]}])");
  EXPECT_EQ(ui_messages("[]"), "[]");
}

}  // namespace ui_messages_test
}  // namespace sluice::api::agui
