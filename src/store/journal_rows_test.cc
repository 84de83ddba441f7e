#include "store/journal_rows.h"

#include <gtest/gtest.h>

namespace sluice::store {
namespace journal_rows_test {

JournalRows three_rows() {
  JournalRows rows;
  rows.add(7, 2);
  rows.add(8, 1);
  rows.add(5'000'000'000, 300);
  return rows;
}

TEST(JournalRows, Know_the_head_and_every_row_that_holds_something_after_a_position) {
  const auto rows = three_rows();
  EXPECT_EQ(rows.head().value, 303U);
  EXPECT_EQ(rows.last_number(), 5'000'000'000);
  const auto numbers_after = [&](uint64_t after) {
    std::vector<int64_t> numbers;
    for (const auto& row : rows.rows_after({after})) numbers.push_back(row.number);
    return numbers;
  };
  EXPECT_EQ(numbers_after(0), (std::vector<int64_t>{7, 8, 5'000'000'000}));
  EXPECT_EQ(numbers_after(1), (std::vector<int64_t>{7, 8, 5'000'000'000}));
  EXPECT_EQ(numbers_after(2), (std::vector<int64_t>{8, 5'000'000'000}));
  EXPECT_EQ(numbers_after(302), (std::vector<int64_t>{5'000'000'000}));
  EXPECT_TRUE(numbers_after(303).empty());
}

TEST(JournalRows, Come_back_from_their_bytes) {
  const auto rows = three_rows();
  const auto again = JournalRows::from_bytes(rows.bytes());
  ASSERT_TRUE(again);
  EXPECT_EQ(again->bytes(), rows.bytes());
  EXPECT_EQ(again->head(), rows.head());
  EXPECT_EQ(again->last_number(), rows.last_number());
}

TEST(JournalRows, Refuse_bytes_that_no_list_has) {
  const auto whole = three_rows().bytes();
  int whole_lists = 0;
  for (std::size_t size = 1; size < whole.size(); ++size) {
    whole_lists += JournalRows::from_bytes(whole.substr(0, size)) ? 1 : 0;
  }
  EXPECT_EQ(whole_lists, 2) << "only where a row ends";
  EXPECT_FALSE(JournalRows::from_bytes(std::string("\0\1", 2))) << "a number twice";
  EXPECT_FALSE(JournalRows::from_bytes(std::string("\1\0", 2))) << "a row without events";
  EXPECT_FALSE(JournalRows::from_bytes("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x01")) << "a number beyond all";
}

// A page of a run that has written a million rows must not cost what all of them cost.
TEST(JournalRows, Give_the_part_that_a_page_needs_of_a_list_however_long) {
  JournalRows rows;
  constexpr uint64_t count = 1'000'000;
  for (uint64_t i = 1; i <= count; ++i) rows.add(static_cast<int64_t>(3 * i), 1 + i % 2);
  const auto all = rows.rows_after({0});
  for (const uint64_t after : {0UL, 1UL, 766UL, 767UL, 768UL, 500'000UL, rows.head().value - 3}) {
    const auto part = rows.part_after({after}, 1'000);
    EXPECT_LE(part.bytes().size(), 2 * 1'600 + 8U);
    const auto expected = rows.rows_after({after});
    const auto given = part.rows_after({after});
    ASSERT_GE(given.size(), std::min<std::size_t>(expected.size(), 1'000)) << after;
    for (std::size_t i = 0; i < given.size(); ++i) {
      ASSERT_EQ(given[i].number, expected[i].number);
      ASSERT_EQ(given[i].last, expected[i].last);
    }
    const auto again = JournalRows::from_bytes(part.bytes());
    ASSERT_TRUE(again);
    EXPECT_EQ(again->head(), part.head());
  }
  EXPECT_EQ(all.size(), count);
  EXPECT_TRUE(rows.part_after(rows.head(), 1'000).bytes().empty());
}

TEST(JournalRows, Know_the_same_rows_after_going_back_over_many) {
  JournalRows rows;
  for (int64_t i = 1; i <= 300; ++i) rows.add(i, 1);
  const auto mark = rows.mark();
  for (int64_t i = 301; i <= 2'000; ++i) rows.add(i, 2);
  rows.go_back(mark);
  for (int64_t i = 301; i <= 1'000; ++i) rows.add(2 * i, 1);
  EXPECT_EQ(rows.rows_after({0}).size(), 1'000U);
  ASSERT_EQ(rows.rows_after({700}).size(), 300U);
  EXPECT_EQ(rows.rows_after({700})[0].number, 1'402);
  EXPECT_EQ(rows.part_after({700}, 10).rows_after({700})[0].number, 1'402);
}

TEST(JournalRows, Go_back_to_a_mark) {
  auto rows = three_rows();
  const auto mark = rows.mark();
  rows.add(5'000'000'001, 5);
  rows.go_back(mark);
  EXPECT_EQ(rows.bytes(), three_rows().bytes());
  EXPECT_EQ(rows.head().value, 303U);
}

}  // namespace journal_rows_test
}  // namespace sluice::store
