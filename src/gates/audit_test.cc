// The chain of audit entries breaks wherever somebody touched it.
#include <gtest/gtest.h>

#include "gates/gates.h"

namespace sluice::gates {
namespace audit_test {

std::vector<model::AuditEntry> chain(int64_t count) {
  std::vector<model::AuditEntry> entries;
  for (int64_t number = 1; number <= count; ++number) {
    model::AuditEntry entry;
    entry.number = number;
    entry.action = "approval.approved";
    entry.subject = "apr_" + std::to_string(number);
    entry.actor = "server";
    entry.detail = "{}";
    entry.at = {number * 1000};
    entry.previous_sha256 = entries.empty() ? "" : entries.back().sha256;
    entry.sha256 = model::digest_of(entry);
    entries.push_back(std::move(entry));
  }
  return entries;
}

using Entries = std::vector<model::AuditEntry>;

TEST(AuditChains, Hold_whole_and_page_by_page) {
  const auto entries = chain(5);
  EXPECT_EQ(first_broken_link(entries, ""), std::nullopt);
  EXPECT_EQ(first_broken_link({}, ""), std::nullopt);
  const Entries page(entries.begin() + 2, entries.end());
  EXPECT_EQ(first_broken_link(page, entries[1].sha256), std::nullopt);
  EXPECT_EQ(first_broken_link(page, entries[0].sha256), 3);
  EXPECT_EQ(first_broken_link(page, ""), 3) << "the beginning was cut off";
  EXPECT_EQ(first_broken_link(entries, entries[0].sha256), 1) << "nothing comes before entry 1";
}

TEST(AuditChains, Break_where_an_entry_was_changed) {
  const auto broken_after = [](auto spoil) {
    auto entries = chain(5);
    spoil(entries[2]);
    return first_broken_link(entries, "");
  };
  EXPECT_EQ(broken_after([](auto& entry) { entry.action = "approval.denied"; }), 3);
  EXPECT_EQ(broken_after([](auto& entry) { entry.subject += "x"; }), 3);
  EXPECT_EQ(broken_after([](auto& entry) { entry.actor = "admin"; }), 3);
  EXPECT_EQ(broken_after([](auto& entry) { entry.detail = "[]"; }), 3);
  EXPECT_EQ(broken_after([](auto& entry) { entry.at.ms += 1; }), 3);
  EXPECT_EQ(broken_after([](auto& entry) { entry.tenant_id = model::TenantId{}; }), 3);
  EXPECT_EQ(broken_after([](auto& entry) { entry.number = 9; }), 9);
  EXPECT_EQ(broken_after([](auto& entry) { entry.sha256[0] ^= 1; }), 3);
  EXPECT_EQ(broken_after([](auto& entry) {
              entry.actor = "admin";
              entry.sha256 = model::digest_of(entry);
            }),
            4)
      << "who recomputes a hash breaks the next link";
}

TEST(AuditChains, Break_where_an_entry_was_taken_out_put_in_or_moved) {
  auto without = chain(5);
  without.erase(without.begin() + 2);
  EXPECT_EQ(first_broken_link(without, ""), 4);
  auto twice = chain(5);
  twice.insert(twice.begin() + 2, twice[2]);
  EXPECT_EQ(first_broken_link(twice, ""), 3);
  auto swapped = chain(5);
  std::swap(swapped[2], swapped[3]);
  EXPECT_EQ(first_broken_link(swapped, ""), 4);
}

}  // namespace audit_test
}  // namespace sluice::gates
