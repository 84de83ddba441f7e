// The operator's view: capacity, egress, the audit chain, the vault's key.
#include "base/bytes.h"
#include "cli/fake_terminal.h"
#include "model/model.h"

namespace sluice::cli {
namespace operations_test {

class AuditTest : public CommandsTest {
 protected:
  // A chain as a store would keep it, sent a page at a time.
  void keep(int count, const std::function<void(model::AuditEntry&)>& meddle = [](auto&) {}) {
    std::string pages[2];
    model::AuditEntry entry;
    for (int number = 1; number <= count; ++number) {
      entry.previous_sha256 = entry.sha256;
      entry.number = number;
      entry.action = "approval.approved";
      entry.detail = number == 1 ? "" : R"({"exp":7,"aliases":["A"],"note":"a \"b\" ü"})";
      if (number > 1) entry.tenant_id = model::TenantId{};
      entry.sha256 = model::digest_of(entry);
      heads.push_back(to_hex(entry.sha256));
      auto sent = entry;
      meddle(sent);
      auto& page = pages[number <= 2 ? 0 : 1];
      page += (page.empty() ? "" : ",") + model::to_json(sent);
    }
    remote.answers["GET /v1/admin/audit?after=0&limit=100"] = {200, R"({"data":[)" + pages[0] + "]}"};
    remote.answers["GET /v1/admin/audit?after=2&limit=100"] = {200, R"({"data":[)" + pages[1] + "]}"};
    remote.answer = R"({"data":[]})";
  }
  std::vector<std::string> heads;
};

TEST_F(AuditTest, A_whole_chain_is_verified_and_its_head_is_printed) {
  keep(3);
  EXPECT_EQ(run({"audit", "verify"}), exit_ok) << console.errors;
  EXPECT_EQ(console.output, "intact, 3 entries\nhead " + heads[2] + "\n");
  EXPECT_EQ(remote.asked, (std::vector<std::string>{"admin GET /v1/admin/audit?after=0&limit=100",
                                                    "admin GET /v1/admin/audit?after=2&limit=100",
                                                    "admin GET /v1/admin/audit?after=3&limit=100"}));
}

TEST_F(AuditTest, An_entry_that_was_changed_is_found) {
  keep(3, [](model::AuditEntry& entry) {
    if (entry.number == 2) entry.actor = "approver_key:apk_2";
  });
  EXPECT_EQ(run({"audit", "verify"}), exit_failed);
  EXPECT_NE(console.errors.find("broken at entry 2"), std::string::npos) << console.errors;
}

TEST_F(AuditTest, An_entry_that_was_changed_with_its_hash_breaks_the_link_to_the_next) {
  keep(3, [](model::AuditEntry& entry) {
    if (entry.number != 2) return;
    entry.detail = "{}";
    entry.sha256 = model::digest_of(entry);
  });
  EXPECT_EQ(run({"audit", "verify", "--json"}), exit_failed);
  EXPECT_NE(console.output.find(R"("intact":false,"entries":3,"broken_at":3)"), std::string::npos) << console.output;
}

TEST_F(AuditTest, A_chain_that_begins_late_is_broken) {
  keep(3);
  remote.answers["GET /v1/admin/audit?after=0&limit=100"] = remote.answers["GET /v1/admin/audit?after=2&limit=100"];
  EXPECT_EQ(run({"audit", "verify"}), exit_failed);
}

TEST_F(AuditTest, A_head_noted_before_must_still_be_in_it) {
  keep(3);
  EXPECT_EQ(run({"audit", "verify", "--expect", heads[1]}), exit_ok) << "it may have grown since";
  EXPECT_EQ(run({"audit", "verify", "--expect", std::string(64, 'a')}), exit_failed);
  EXPECT_NE(console.errors.find("cut short or written anew"), std::string::npos) << console.errors;
  EXPECT_EQ(run({"audit", "verify", "--expect", "abc"}), exit_usage);
}

TEST_F(AuditTest, A_chain_that_cannot_be_read_is_not_called_whole) {
  remote.reachable = false;
  EXPECT_EQ(run({"audit", "verify"}), exit_unknown);
  remote.reachable = true;
  remote.answer = "?";
  EXPECT_EQ(run({"audit", "verify"}), exit_unknown);
}

TEST_F(AuditTest, Entries_are_listed_after_a_number) {
  run({"audit", "list", "--tenant", "tnt_9", "--after", "7", "--limit", "2"});
  EXPECT_EQ(remote.asked.back(), "admin GET /v1/admin/audit?after=7&limit=2&tenant_id=tnt_9");
}

TEST_F(CommandsTest, The_console_is_opened_by_a_URL_that_the_server_makes) {
  remote.answers["POST /v1/admin/console-codes"] = {201, R"({"code":"c","url":"http://h/console/#code=c"})"};
  EXPECT_EQ(run({"console"}), exit_ok) << console.errors;
  EXPECT_EQ(console.output, "http://h/console/#code=c\n");
  EXPECT_EQ(remote.asked, std::vector<std::string>{"admin POST /v1/admin/console-codes"});
}

TEST_F(CommandsTest, What_is_there_now_is_asked_for) {
  run({"capacity"});
  EXPECT_EQ(remote.asked.back(), "GET /v1/capacity");
  run({"nodes"});
  EXPECT_EQ(remote.asked.back(), "admin GET /v1/admin/nodes");
  run({"runs", "egress", "run_1", "--after", "17"});
  EXPECT_EQ(remote.asked.back(), "GET /v1/runs/run_1/egress?starting_after=17");
  run({"vault", "reseal"});
  EXPECT_EQ(remote.asked.back(), "admin POST /v1/admin/vault/rotate");
}

}  // namespace operations_test
}  // namespace sluice::cli
