#include "base/time.h"

#include <gtest/gtest.h>

namespace sluice {
namespace time_test {

TEST(Rfc3339, Is_written_in_UTC_with_milliseconds) {
  EXPECT_EQ(to_rfc3339({0}), "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(to_rfc3339({1'782'986'400'000}), "2026-07-02T10:00:00.000Z");
  EXPECT_EQ(to_rfc3339({1'782'986'401'123}), "2026-07-02T10:00:01.123Z");
  EXPECT_EQ(to_rfc3339({-1}), "1969-12-31T23:59:59.999Z");
  EXPECT_EQ(to_rfc3339({951'782'400'000}), "2000-02-29T00:00:00.000Z");
  EXPECT_EQ(to_rfc3339({253'402'300'799'999}), "9999-12-31T23:59:59.999Z");
}

TEST(Rfc3339, Comes_back_as_the_same_moment) {
  for (const int64_t ms : {0LL, 1LL, 999LL, 86'399'999LL, 86'400'000LL, 951'782'400'000LL, 1'782'986'401'123LL,
                           253'402'300'799'999LL, -1LL, -86'400'000LL}) {
    EXPECT_EQ(from_rfc3339(to_rfc3339({ms})), Timestamp{ms});
  }
}

TEST(Rfc3339, May_leave_out_the_milliseconds) {
  EXPECT_EQ(from_rfc3339("2026-07-02T10:00:01Z"), Timestamp{1'782'986'401'000});
}

TEST(Rfc3339, Refuses_what_is_no_moment_in_UTC) {
  for (const std::string_view text : {"",
                                      "2026-07-02",
                                      "2026-07-02T10:00:01",
                                      "2026-07-02T10:00:01+00:00",
                                      "2026-07-02 10:00:01Z",
                                      "2026-7-2T10:00:01Z",
                                      "2026-02-29T10:00:00Z",
                                      "2026-13-01T10:00:00Z",
                                      "2026-00-01T10:00:00Z",
                                      "2026-01-32T10:00:00Z",
                                      "2026-01-00T10:00:00Z",
                                      "2026-01-01T24:00:00Z",
                                      "2026-01-01T10:60:00Z",
                                      "2026-01-01T10:00:60Z",
                                      "2026-01-01T10:00:00.1Z",
                                      "2026-01-01T10:00:00,123Z",
                                      "2026-01-01T10:00:00.12xZ",
                                      "2026-01-01T-1:00:00Z",
                                      "202x-01-01T10:00:00Z",
                                      "2026-01-01T10:00:00.123z",
                                      "2026/01/01T10:00:00Z"}) {
    EXPECT_FALSE(from_rfc3339(text)) << text;
  }
}

TEST(Millis, Add_and_compare) {
  EXPECT_EQ(Millis{3} + Millis{4}, Millis{7});
  EXPECT_EQ(Millis{3} - Millis{4}, Millis{-1});
  EXPECT_LT(Millis{3}, Millis{4});
}

}  // namespace time_test
}  // namespace sluice
