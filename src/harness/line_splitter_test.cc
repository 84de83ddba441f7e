#include "harness/json_line.h"

#include <gtest/gtest.h>

namespace sluice::harness {
namespace line_splitter_test {

using Lines = std::vector<std::string>;

TEST(LineSplitter, Lines_are_whole_however_the_bytes_are_cut) {
  LineSplitter lines;
  EXPECT_EQ(lines.feed("on"), Lines{});
  EXPECT_EQ(lines.rest(), "on");
  EXPECT_EQ(lines.feed("e\r\n\n\r\ntwo\nthr"), (Lines{"one", "two"}));
  EXPECT_EQ(lines.rest(), "thr");
  EXPECT_EQ(lines.feed("ee\n"), Lines{"three"});
  EXPECT_EQ(lines.rest(), "");
  EXPECT_FALSE(lines.take_overlong());
}

TEST(LineSplitter, The_longest_line_is_a_line) {
  LineSplitter lines;
  const std::string longest(line_bytes_max, 'x');
  EXPECT_EQ(lines.feed(longest), Lines{});
  EXPECT_EQ(lines.feed("\n"), Lines{longest});
  EXPECT_FALSE(lines.take_overlong());
}

TEST(LineSplitter, A_longer_line_is_skipped_to_its_end_and_reported_once) {
  LineSplitter lines;
  const std::string piece(line_bytes_max / 2, 'x');
  for (int i = 0; i < 5; ++i) EXPECT_EQ(lines.feed(piece), Lines{});
  EXPECT_EQ(lines.rest(), "");
  EXPECT_TRUE(lines.take_overlong());
  EXPECT_FALSE(lines.take_overlong());
  EXPECT_EQ(lines.feed("the rest of it\nnext\n"), Lines{"next"});
  EXPECT_FALSE(lines.take_overlong());
}

}  // namespace line_splitter_test
}  // namespace sluice::harness
