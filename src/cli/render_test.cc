#include "cli/render.h"

#include <gtest/gtest.h>

namespace sluice::cli {
namespace render_test {

template <typename Render>
std::string rendered(std::string_view text, Render render) {
  const auto document = json::Document::parse(text);
  EXPECT_TRUE(document);
  return render(document.value().root());
}

TEST(Render, Columns_are_aligned_by_characters_not_bytes) {
  constexpr Column columns[] = {{"ID", "id"}, {"NAME", "name"}, {"MODEL", "model.name"}};
  EXPECT_EQ(rendered(R"([{"id":"a","name":"Grüße","model":{"name":"m"}},{"id":"bbb","name":null}])",
                     [&](json::Value v) { return table_of(v, columns); }),
            "ID   NAME   MODEL\n"
            "a    Grüße  m\n"
            "bbb  -      -\n");
  EXPECT_EQ(rendered("[]", [&](json::Value v) { return table_of(v, columns); }), "none\n");
}

TEST(Render, A_cell_is_one_line_of_bounded_length) {
  constexpr Column columns[] = {{"T", "t"}};
  const auto text = rendered(R"([{"t":"a\nb"},{"t":")" + std::string(200, 'x') + R"("}])",
                             [&](json::Value v) { return table_of(v, columns); });
  EXPECT_EQ(text, "T\na b\n" + std::string(59, 'x') + "…\n");
}

TEST(Render, Fields_are_one_a_line) {
  EXPECT_EQ(rendered(R"({"object":"run","id":"run_1","ended_at":null,"limits":{"n":1}})", fields_of),
            "id        run_1\nended_at  -\nlimits    {\"n\":1}\n");
}

TEST(Render, A_dialogue_shows_who_said_what) {
  EXPECT_EQ(rendered(R"([{"id":"m1","role":"user","content":"a\nb","status":"completed","created_at":"T"},
                         {"id":"m2","role":"assistant","content":"","status":"failed","created_at":"T"}])",
                     dialogue_of),
            "user  T  m1\n  a\n  b\n\nassistant  T  m2  failed\n");
}

TEST(Render, A_problem_says_all_it_knows) {
  EXPECT_EQ(
      problem_text(422, R"({"title":"Validation error","status":422,"detail":"One field is wrong.",
                                  "errors":[{"pointer":"/content","message":"must not be empty"}],"request_id":"req_1"})"),
      "sluice: Validation error (422)\n  One field is wrong.\n  /content: must not be empty\n  request_id req_1\n");
  EXPECT_EQ(problem_text(
                404, R"({"title":"There is no such thing","status":404,"detail":"No.","instance":"/v1/agents/agt_x"})"),
            "sluice: There is no such thing (404)\n  No.\n  asked for /v1/agents/agt_x\n");
  EXPECT_EQ(problem_text(502, "<html>"), "sluice: the server answered 502, and not with a problem of ours\n");
}

TEST(Render, Nothing_from_the_wire_commands_the_terminal) {
  EXPECT_EQ(harmless("a\x1b[2Jb\tc\nd"), "a\xEF\xBF\xBD[2Jb\tc\nd");
  EXPECT_EQ(harmless("\xC2\x9B"
                     "31m ü"),
            "\xEF\xBF\xBD"
            "31m ü");
}

TEST(Render, What_a_program_printed_reads_as_a_terminal_would_leave_it) {
  EXPECT_EQ(printed_text("\x1b[31mred\x1b[0m \x1b]8;;http://x\x07link\x1b]8;;\x1b\\\n"), "red link\n");
  EXPECT_EQ(printed_text("progress 10%\rprogress 100%\r\ndone\n"), "progress 100%\ndone\n");
  EXPECT_EQ(printed_text("longer line\rshort\nab\bc"), "shortr line\nac");
  EXPECT_EQ(printed_text("\b\rä\b\x1b(Bö"), "ö");
  EXPECT_EQ(printed_text("\x1b[3"), "3") << "no sequence, in the end";
  EXPECT_EQ(printed_text("\x1b"), "");
}

TEST(Render, A_sequence_whose_end_may_still_come_is_waited_for) {
  EXPECT_EQ(without_open_escape("a\x1b"), "a");
  EXPECT_EQ(without_open_escape("a\x1b[3"), "a");
  EXPECT_EQ(without_open_escape("a\x1b[3m"), "a\x1b[3m");
  EXPECT_EQ(without_open_escape("a\x1b]0;x"), "a");
  EXPECT_EQ(without_open_escape("a\x1b]0;x\x1b"), "a");
  EXPECT_EQ(without_open_escape("a\x1b]0;x\x1b\\b"), "a\x1b]0;x\x1b\\b");
}

}  // namespace render_test
}  // namespace sluice::cli
