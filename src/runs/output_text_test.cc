#include "runs/output_text.h"

#include <gtest/gtest.h>

#include <random>

#include "base/bytes.h"

namespace sluice::runs {
namespace output_text_test {

TEST(Utf8Stream, Gives_the_same_text_however_the_bytes_are_cut) {
  const std::string text = "aé€\U0001F600 \xFF\xC3(\xE2\x82 \xF0\x9F\x98 \xED\xA0\x80 z\xC3";
  const auto whole = to_utf8(text);
  EXPECT_TRUE(is_utf8(whole));
  EXPECT_TRUE(whole.starts_with("aé€\U0001F600 \xEF\xBF\xBD\xEF\xBF\xBD("));
  for (std::size_t first = 0; first <= text.size(); ++first) {
    for (std::size_t second = first; second <= text.size(); ++second) {
      Utf8Stream stream;
      auto out = stream.feed(text.substr(0, first));
      out += stream.feed(text.substr(first, second - first));
      out += stream.feed(text.substr(second));
      EXPECT_TRUE(is_utf8(out));
      EXPECT_EQ(out + stream.end(), whole) << first << " " << second;
    }
  }
}

TEST(Utf8Stream, Makes_text_of_noise) {
  std::mt19937 random(1);
  for (int i = 0; i < 2'000; ++i) {
    Utf8Stream stream;
    for (int piece = 0; piece < 5; ++piece) {
      std::string noise(random() % 9, ' ');
      for (char& byte : noise) byte = static_cast<char>(random());
      EXPECT_TRUE(is_utf8(stream.feed(noise)));
    }
    EXPECT_TRUE(is_utf8(stream.end()));
  }
}

TEST(Utf8Prefix, Ends_between_two_characters) {
  EXPECT_EQ(utf8_prefix("a€b", 5), "a€b");
  EXPECT_EQ(utf8_prefix("a€b", 4), "a€");
  EXPECT_EQ(utf8_prefix("a€b", 3), "a");
  EXPECT_EQ(utf8_prefix("€", 2), "");
}

TEST(Excerpt, Is_the_text_itself_up_to_the_last_character_that_fits) {
  Excerpt excerpt(6);
  EXPECT_FALSE(excerpt.is_cut());
  excerpt.append("ab");
  excerpt.append("€€c");
  excerpt.append("d");
  EXPECT_EQ(excerpt.text(), "ab€€cd");
}

TEST(Excerpt, Keeps_head_and_tail_and_says_how_much_is_missing) {
  Excerpt excerpt(6);
  excerpt.append("ab€€");
  excerpt.append("cdefgh");
  excerpt.append("€é!");
  EXPECT_EQ(excerpt.text(), "ab€\n… 9 bytes left out …\n€é!");
}

TEST(Excerpt, Stays_small_whatever_comes) {
  Excerpt by_piece(100), at_once(100);
  std::string all;
  for (int i = 0; i < 20'000; ++i) {
    const auto piece = std::to_string(i) + "é";
    by_piece.append(piece);
    all += piece;
  }
  at_once.append(all);
  EXPECT_EQ(by_piece.text(), at_once.text());
  EXPECT_LT(by_piece.text().size(), 300u);
}

}  // namespace output_text_test
}  // namespace sluice::runs
