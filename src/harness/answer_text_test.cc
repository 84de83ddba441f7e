#include "harness/answer_text.h"

#include <gtest/gtest.h>

namespace sluice::harness {
namespace answer_text_test {

// The answer as its reader has it: text is added, and taken back where it was replaced.
std::string read(const std::vector<Heard>& heard) {
  std::string answer;
  for (const auto& each : heard) {
    if (each.kind == Heard::Kind::replaced) answer.resize(each.kept_bytes);
    answer += each.text;
  }
  return answer;
}

TEST(AnswerText, Repeated_text_is_reported_once) {
  AnswerText answer;
  std::vector<Heard> heard;
  answer.add("one ", heard);
  answer.add("two", heard);
  answer.again();
  answer.add("o", heard);
  answer.add("ne two three", heard);
  answer.complete(heard);
  EXPECT_EQ(heard.size(), 3U);
  EXPECT_EQ(read(heard), "one two three");
}

TEST(AnswerText, What_differs_takes_the_old_back_at_a_whole_character) {
  AnswerText answer;
  std::vector<Heard> heard;
  answer.add("before. ", heard);
  answer.begin();
  answer.add("a\u00e9b", heard);
  answer.again();
  answer.add("a\u00e8c", heard);
  EXPECT_EQ(heard.at(2).kept_bytes, 9U);
  EXPECT_EQ(heard.at(3).text, "\u00e8c");
  EXPECT_EQ(read(heard), "before. a\u00e8c");
}

TEST(AnswerText, What_is_not_said_again_is_taken_back_when_the_message_ends) {
  AnswerText answer;
  std::vector<Heard> heard;
  answer.add("one two", heard);
  answer.again();
  answer.begin();  // of the same message, under another id
  answer.add("one", heard);
  answer.complete(heard);
  answer.add(" more", heard);
  EXPECT_EQ(read(heard), "one more");
}

TEST(AnswerText, A_message_as_a_whole_adds_what_was_missing_of_it) {
  AnswerText answer;
  std::vector<Heard> heard;
  answer.add("Hel", heard);
  answer.whole("Hello", heard);
  answer.whole("Hello", heard);  // another message, with the same words
  EXPECT_EQ(read(heard), "HelloHello");
}

}  // namespace answer_text_test
}  // namespace sluice::harness
