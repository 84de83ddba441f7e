// A dispatch's lines by their numbers: every way to cut them into pieces, acknowledge them and come back.
#include "station/account.h"

#include <gtest/gtest.h>

#include <utility>

namespace sluice::station {
namespace spool_test {

std::string joined(const std::optional<std::vector<SharedBytes>>& pieces) {
  if (!pieces) return "gone";
  std::string out;
  for (const auto& piece : *pieces) out += *piece;
  return out;
}

TEST(Spool, Gives_exactly_the_lines_after_any_number_however_they_came_and_went) {
  constexpr int line_count = 6;
  const auto line = [](int number) { return "line " + std::to_string(number) + "\n"; };
  // Bit i of `cuts`: a piece ends after line i + 1.
  for (unsigned cuts = 0; cuts < 1U << (line_count - 1); ++cuts) {
    for (int safe = 0; safe <= line_count; ++safe) {
      Spool spool;
      std::string piece;
      for (int i = 1; i <= line_count; ++i) {
        piece += line(i);
        if (i == line_count || (cuts >> (i - 1) & 1U) != 0) spool.add(std::exchange(piece, ""));
      }
      ASSERT_TRUE(spool.let_go(safe));
      EXPECT_EQ(spool.empty(), safe == line_count);
      for (int after = 0; after <= line_count + 1; ++after) {
        std::string expected;
        for (int i = after + 1; i <= line_count; ++i) expected += line(i);
        if (after < safe || after > line_count) expected = "gone";
        EXPECT_EQ(joined(spool.after(after)), expected) << cuts << " " << safe << " " << after;
      }
    }
  }
}

TEST(Spool, Keeps_no_byte_of_what_is_safe_but_for_the_rest_of_one_piece) {
  Spool spool;
  spool.add("a\nb\n");
  spool.add("c\n");
  EXPECT_EQ(spool.bytes(), 6u);
  EXPECT_TRUE(spool.let_go(1));
  EXPECT_EQ(spool.bytes(), 6u);
  EXPECT_TRUE(spool.let_go(2));
  EXPECT_EQ(spool.bytes(), 2u);
  EXPECT_TRUE(spool.let_go(3));
  EXPECT_EQ(spool.bytes(), 0u);
  spool.add("d\n");
  EXPECT_EQ(joined(spool.after(3)), "d\n");
}

TEST(Spool, An_acknowledgement_that_comes_late_changes_nothing_and_one_that_is_early_is_refused) {
  Spool spool;
  spool.add("a\nb\n");
  EXPECT_FALSE(spool.let_go(3));
  EXPECT_EQ(joined(spool.after(0)), "a\nb\n");
  EXPECT_TRUE(spool.let_go(2));
  EXPECT_TRUE(spool.let_go(1));
  EXPECT_EQ(spool.gone(), 2);
  EXPECT_EQ(spool.last_line(), 2);
}

}  // namespace spool_test
}  // namespace sluice::station
