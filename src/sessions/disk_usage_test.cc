#include "sessions/disk_usage.h"

#include <gtest/gtest.h>

namespace sluice::sessions {
namespace disk_usage_test {

class WorkspaceLedgerTest : public testing::Test {
 public:
  template <typename AnyId>
  static AnyId id(uint8_t number) {
    AnyId made;
    made.ulid.bytes[15] = number;
    return made;
  }
  int64_t gauge() { return metrics.gauge("sluice_workspace_bytes", "").value(); }

  static constexpr int64_t mib = 1024 * 1024;
  world::Metrics metrics;
  DiskUsage disk_usage{10 * mib, metrics};
  const model::TenantId acme = id<model::TenantId>(1), other = id<model::TenantId>(2);
  const model::ConversationId first = id<model::ConversationId>(3), second = id<model::ConversationId>(4),
                              third = id<model::ConversationId>(5);
};

TEST_F(WorkspaceLedgerTest, A_tenants_workspaces_have_no_more_than_its_quota_together) {
  EXPECT_EQ(disk_usage.take(acme, first, 6 * mib), std::nullopt);
  EXPECT_EQ(disk_usage.take(acme, second, 4 * mib), std::nullopt);
  const auto refused = disk_usage.take(acme, second, 5 * mib);
  ASSERT_TRUE(refused);
  EXPECT_NE(refused->find("would have 11 MiB, and may have 10 MiB"), std::string::npos) << *refused;
  EXPECT_NE(refused->find("Archive conversations"), std::string::npos) << *refused;
  EXPECT_EQ(disk_usage.bytes_of(acme), 10 * mib) << "what was refused does not count";
  EXPECT_EQ(disk_usage.take(other, third, 9 * mib), std::nullopt) << "another tenant has a quota of its own";
  EXPECT_EQ(gauge(), 19 * mib);
}

TEST_F(WorkspaceLedgerTest, A_tenant_that_has_its_quota_opens_no_more_sandboxes_until_a_workspace_is_removed) {
  disk_usage.note(acme, first, 6 * mib);
  EXPECT_EQ(disk_usage.refusal(acme), std::nullopt);
  disk_usage.note(acme, second, 6 * mib);
  EXPECT_TRUE(disk_usage.refusal(acme));
  EXPECT_EQ(disk_usage.refusal(other), std::nullopt);
  disk_usage.forget(first);
  EXPECT_EQ(disk_usage.refusal(acme), std::nullopt);
  EXPECT_EQ(gauge(), 6 * mib);
}

TEST_F(WorkspaceLedgerTest, A_workspace_that_shrinks_is_kept_however_much_there_is) {
  disk_usage.note(acme, first, 30 * mib);
  EXPECT_EQ(disk_usage.take(acme, first, 20 * mib), std::nullopt);
  EXPECT_TRUE(disk_usage.take(acme, first, 21 * mib));
}

TEST_F(WorkspaceLedgerTest, A_workspace_in_which_nothing_is_left_counts_no_more) {
  disk_usage.note(acme, first, 3 * mib);
  EXPECT_TRUE(disk_usage.knows(first));
  disk_usage.note(acme, first, 0);
  EXPECT_FALSE(disk_usage.knows(first));
  EXPECT_EQ(disk_usage.bytes_of(acme), 0);
  EXPECT_EQ(gauge(), 0);
}

TEST_F(WorkspaceLedgerTest, A_quota_of_zero_is_none) {
  DiskUsage open(0, metrics);
  EXPECT_EQ(open.take(acme, first, 1000 * mib), std::nullopt);
  EXPECT_EQ(open.refusal(acme), std::nullopt);
}

TEST_F(WorkspaceLedgerTest, A_workspace_is_in_use_until_the_last_run_has_left_it) {
  disk_usage.enter(first);
  disk_usage.enter(first);
  disk_usage.leave(first);
  EXPECT_TRUE(disk_usage.is_in_use(first));
  disk_usage.leave(first);
  EXPECT_FALSE(disk_usage.is_in_use(first));
}

}  // namespace disk_usage_test
}  // namespace sluice::sessions
