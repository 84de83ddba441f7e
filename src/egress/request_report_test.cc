// What is reported of a sandbox that never stops asking.
#include "egress/request_report.h"

#include <gtest/gtest.h>

#include "model/event_codec.h"

namespace sluice::egress {
namespace request_report_test {

RequestRecord refused(std::string host) {
  return {.host = std::move(host), .method = "GET", .status = 403, .refused = "no"};
}

TEST(RequestReport, The_first_requests_are_reported_one_by_one_and_the_rest_as_a_sum_for_each_host) {
  RequestReport report(2);
  EXPECT_TRUE(report.is_single(refused("a.test")));
  EXPECT_TRUE(report.is_single(refused("a.test")));
  EXPECT_FALSE(report.has_sums());
  EXPECT_FALSE(report.is_single(refused("a.test")));
  EXPECT_FALSE(report.is_single(
      {.host = "a.test", .status = 200, .sent_bytes = 5, .received_bytes = 7, .aliases = {"KEY", "KEY"}}));
  EXPECT_FALSE(report.is_single({.host = "b.test", .status = 200, .received_bytes = 1}));
  const auto sums = report.take_sums();
  ASSERT_EQ(sums.size(), 2u);
  EXPECT_EQ(model::encode(event_of(sums[0]), {}).body,
            R"({"host":"a.test","port":0,"method":"","status":0,"sent_bytes":5,"received_bytes":7,"aliases":["KEY"],)"
            R"("refused":"no","duration_ms":0,"more":2,"more_refused":1})");
  EXPECT_EQ(sums[1].host, "b.test");
  EXPECT_EQ(sums[1].more, 1);
  EXPECT_EQ(sums[1].more_refused, 0);
  EXPECT_FALSE(report.has_sums());
  EXPECT_FALSE(report.is_single(refused("a.test"))) << "the first ones are the run's first ones";
}

TEST(RequestReport, Names_that_a_sandbox_makes_up_are_summed_up_together) {
  RequestReport report(0);
  for (int i = 0; i < 1'000; ++i) EXPECT_FALSE(report.is_single(refused("h" + std::to_string(i) + ".test")));
  const auto sums = report.take_sums();
  EXPECT_EQ(sums.size(), RequestReport::hosts_max + 1);
  EXPECT_EQ(sums.front().host, RequestReport::other_hosts);
  EXPECT_EQ(sums.front().more, 1'000 - static_cast<int64_t>(RequestReport::hosts_max));
}

TEST(LineBudget, Lines_are_written_at_once_and_then_at_a_rate_and_the_others_are_counted) {
  LineBudget budget(3, 2);
  const int64_t second = 1'000'000;
  int written = 0;
  for (int i = 0; i < 10; ++i) written += budget.take(5 * second) ? 1 : 0;
  EXPECT_EQ(written, 3);
  EXPECT_EQ(budget.take_left_out(), 7);
  EXPECT_EQ(budget.take_left_out(), 0);
  EXPECT_FALSE(budget.take(5 * second + second / 4));
  EXPECT_TRUE(budget.take(5 * second + second / 2));
  EXPECT_FALSE(budget.take(5 * second + second / 2));
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(budget.take(60 * second)) << i;
  EXPECT_FALSE(budget.take(60 * second));
}

TEST(SharedLineBudget, One_tenant_leaves_lines_for_others) {
  SharedLineBudget budget({.at_once = 5, .per_second = 1}, {.at_once = 3, .per_second = 1});
  const int64_t now_us = 5'000'000;
  int of_a = 0, of_b = 0;
  for (int i = 0; i < 10; ++i) of_a += budget.take("a", now_us) ? 1 : 0;
  for (int i = 0; i < 10; ++i) of_b += budget.take("b", now_us) ? 1 : 0;
  EXPECT_EQ(of_a, 3);
  EXPECT_EQ(of_b, 2) << "all together have no more than five";
  EXPECT_EQ(budget.take_left_out(), 15);
  EXPECT_EQ(budget.take_left_out(), 0);
}

}  // namespace request_report_test
}  // namespace sluice::egress
