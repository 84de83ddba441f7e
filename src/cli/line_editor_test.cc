#include "cli/line_editor.h"

#include <gtest/gtest.h>

namespace sluice::cli {
namespace line_editor_test {

using State = LineEditor::State;

constexpr const char* up = "\x1b[A";
constexpr const char* down = "\x1b[B";
constexpr const char* right = "\x1b[C";
constexpr const char* left = "\x1b[D";

class LineEditorTest : public testing::Test {
 protected:
  // The last key's effect.
  State type(std::string_view keys) {
    State state = State::editing;
    for (const char key : keys) state = editor.feed(static_cast<unsigned char>(key));
    return state;
  }

  LineEditor editor{"you> ", {"first", "second"}, 80};
};

TEST_F(LineEditorTest, arrow_keys_move_the_cursor_and_are_not_part_of_the_line) {
  type(std::string("helo") + left + "l" + right + "!");
  EXPECT_EQ(editor.line(), "hello!");
}

TEST_F(LineEditorTest, up_and_down_fetch_earlier_lines_and_return_to_what_was_typed) {
  type(std::string("draft") + up);
  EXPECT_EQ(editor.line(), "second");
  type(std::string(up) + up);
  EXPECT_EQ(editor.line(), "first");
  type(std::string(down) + down + down);
  EXPECT_EQ(editor.line(), "draft");
}

TEST_F(LineEditorTest, a_character_of_several_bytes_is_moved_over_and_erased_whole) {
  type(std::string("grüße") + left + left + "\x7f");
  EXPECT_EQ(editor.line(), "grße");
  type("\x01\x1b[3~\x04");
  EXPECT_EQ(editor.line(), "ße");
}

TEST_F(LineEditorTest, words_and_ends_are_erased_as_in_a_shell) {
  type("one two  \x17");
  EXPECT_EQ(editor.line(), "one ");
  type("three\x01\x0b");
  EXPECT_EQ(editor.line(), "");
  type("rest\x02\x02\x15");
  EXPECT_EQ(editor.line(), "st");
}

TEST_F(LineEditorTest, ctrl_d_ends_the_input_on_an_empty_line_only) {
  EXPECT_EQ(type("\x04"), State::ended);
  EXPECT_EQ(type("x\x04"), State::editing);
  EXPECT_EQ(type("\r"), State::entered);
}

TEST_F(LineEditorTest, the_end_of_input_that_was_typed_before_the_prompt_ends_it) {
  EXPECT_EQ(editor.feed(0), State::ended) << "as the kernel keeps it of a terminal that collected lines";
}

TEST_F(LineEditorTest, unknown_keys_leave_the_line_as_it_is) {
  type("a\x1b[15~\x1b[1;5C\x1bOP\x1bx\x07z");
  EXPECT_EQ(editor.line(), "az");
  EXPECT_EQ(type("\x1b[" + std::string(40, '1')), State::editing) << "a sequence without an end is given up";
}

TEST_F(LineEditorTest, the_line_is_drawn_with_the_cursor_where_it_is) {
  type(std::string("abc") + left + left);
  EXPECT_EQ(editor.drawn(), "\ryou> abc\x1b[K\x1b[2D");
}

TEST(LineEditor, a_line_wider_than_the_terminal_scrolls_sideways) {
  LineEditor editor("> ", {}, 20);
  for (const char key : std::string("0123456789abcdefghijklmn")) editor.feed(static_cast<unsigned char>(key));
  EXPECT_EQ(editor.drawn(), "\r> 789abcdefghijklmn\x1b[K");
  editor.feed(0x01);
  EXPECT_EQ(editor.drawn(), "\r> 0123456789abcdefg\x1b[K\x1b[17D");
}

}  // namespace line_editor_test
}  // namespace sluice::cli
