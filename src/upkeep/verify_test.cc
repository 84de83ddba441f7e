// Damage is named, and the rest is looked at all the same.
#include "store/filled_store_fixture.h"
#include "upkeep/upkeep.h"

namespace sluice::upkeep {
namespace verify_test {

class Found final : public Inspector {
 public:
  void on_damage(const Damage& damage) override {
    EXPECT_FALSE(damage.what.empty());
    EXPECT_FALSE(damage.remedy.empty());
    all += damage.table + " " + damage.id + ": " + damage.what + "\n";
  }
  void on_content(const ContentUse& content) override { contents.push_back(content); }
  void on_progress(std::string_view /*table*/, int64_t /*row_count*/) override {}
  bool names(std::string_view what) const { return all.find(what) != std::string::npos; }

  std::string all;
  std::vector<ContentUse> contents;
};

class Verify : public store::FilledStoreTest {
 protected:
  Inspected verify() {
    found = {};
    auto inspected = verify_store(place, found);
    if (!inspected) check_failed(inspected.error().what.c_str(), __FILE__, __LINE__);
    return inspected.value();
  }
  void expect_damage(std::string_view table, std::string_view id, const char* sql) {
    tell(path, sql);
    EXPECT_GT(verify().damage_count, 0) << sql;
    EXPECT_TRUE(found.names(std::string(table) + " " + std::string(id))) << sql << "\n" << found.all;
    EXPECT_EQ(verify().run_count, 3) << "the rest is looked at";
  }
  Found found;
};

TEST_F(Verify, A_store_in_order_has_no_damage_also_while_it_is_used) {
  fill();
  auto inspected = verify();
  EXPECT_EQ(inspected.damage_count, 0) << found.all;
  EXPECT_EQ(inspected.run_count, 3);
  EXPECT_EQ(inspected.event_count, 4 + 4 + 3);
  ASSERT_EQ(found.contents.size(), 1u);
  EXPECT_EQ(found.contents[0].sha256, std::string(64, 'a'));
  open();
  EXPECT_EQ(verify().damage_count, 0) << found.all;
}

TEST_F(Verify, A_batch_that_is_none_is_named_by_its_run) {
  fill();
  expect_damage("journal", over.run.id.text(), "UPDATE journal SET batch = x'0103' WHERE run = 2");
}

TEST_F(Verify, Words_of_a_journal_that_changed_are_noticed_by_its_message) {
  fill();
  expect_damage(
      "messages", over.run.id.text(),
      "UPDATE journal SET batch = CAST(replace(CAST(batch AS TEXT), 'second answer', 'secund answer') AS BLOB) "
      "WHERE run = 2");
}

TEST_F(Verify, A_row_of_a_journal_that_is_gone_is_named) {
  fill();
  expect_damage("journal", unfinished.run.id.text(), "DELETE FROM journal WHERE run = 3 AND last = 1");
}

TEST_F(Verify, A_sealed_row_with_one_changed_byte_is_named) {
  fill();
  expect_damage("sealed_journals", sealed.run.id.text(),
                "UPDATE sealed_journals SET batch_zstd = CAST(substr(batch_zstd, 1, 20) || x'00' || "
                "substr(batch_zstd, 22) AS BLOB)");
}

TEST_F(Verify, A_message_that_is_not_what_its_journal_ends_with_is_named) {
  fill();
  expect_damage("messages", over.run.id.text(),
                "UPDATE messages SET json = replace(json, 'second', 'zweite') WHERE run = 2");
}

TEST_F(Verify, A_message_that_is_no_json_is_named) {
  fill();
  expect_damage("messages", over.run.message_id.text(), "UPDATE messages SET json = '{' WHERE run = 2");
}

TEST_F(Verify, An_audit_entry_that_was_changed_or_taken_out_is_named) {
  fill();
  expect_damage("audit", "number 2", "UPDATE audit SET actor = 'stranger' WHERE number = 2");
  expect_damage("audit", "number 3", "DELETE FROM audit WHERE number = 2");
}

TEST_F(Verify, Flights_and_unfinished_runs_belong_together) {
  fill();
  expect_damage("runs", unfinished.run.id.text(), "DELETE FROM flights");
  expect_damage("flights", "conversation 1", "INSERT INTO flights VALUES (1, 2)");
}

TEST_F(Verify, Rows_that_refer_to_nothing_are_named) {
  fill();
  tell(path, "INSERT INTO journal VALUES (NULL, 77, 1, x'00')");
  tell(path, "INSERT INTO one_time_tokens VALUES (zeroblob(32), 77, 'setup', 1, NULL)");
  tell(path, "INSERT INTO workflow_events VALUES (77, 1, '{}')");
  EXPECT_EQ(verify().damage_count, 3) << found.all;
  EXPECT_TRUE(found.names("journal run 77: its run is not in runs")) << found.all;
  EXPECT_TRUE(found.names("its execution is not in executions")) << found.all;
  EXPECT_TRUE(found.names("workflow_events run 77: its run is not in workflow_runs")) << found.all;
  expect_damage("messages", over.run.message_id.text(), "DELETE FROM conversations WHERE number = 1");
}

TEST_F(Verify, Of_many_rows_that_refer_to_nothing_some_are_named_and_all_are_counted) {
  fill();
  tell(path,
       "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 150) "
       "INSERT INTO workflow_events SELECT 77, i, '{}' FROM n");
  EXPECT_EQ(verify().damage_count, 101);
  EXPECT_TRUE(found.names("50 more whose workflow_events.run is nowhere")) << found.all;
}

TEST_F(Verify, Heads_and_states_are_those_of_the_journal) {
  fill();
  expect_damage("journal", over.run.id.text(), "UPDATE runs SET head = 9 WHERE number = 2");
  expect_damage("journal", sealed.run.id.text(), "UPDATE runs SET state = 'failed' WHERE number = 1");
}

TEST_F(Verify, A_page_that_was_overwritten_is_named_by_its_table_and_its_rows) {
  open();
  tenant = make_tenant();
  const auto conversation = make_conversation(tenant);
  std::vector<journal::Accepted> runs;
  for (int i = 0; i < 40; ++i) runs.push_back(finished(conversation.id, std::string(2000, 'y')));
  store_.reset();
  // Somewhere among the leaves of the messages.
  auto file = bytes_of_file(path);
  const auto at = file.find(std::string(100, 'y'), file.find(runs[20].run.message_id.text()));
  ASSERT_NE(at, std::string::npos);
  const auto page = at / 4096 * 4096;
  file.replace(page, 4096, std::string(4096, '\xA5'));
  std::ofstream(path, std::ios::binary) << file;
  const auto inspected = verify();
  EXPECT_GT(inspected.damage_count, 0);
  EXPECT_TRUE(found.names("messages rows") || found.names("messages row") || found.names("journal ")) << found.all;
  EXPECT_EQ(inspected.run_count, 40) << found.all;
}

TEST_F(Verify, A_table_of_which_nothing_can_be_read_is_named_and_the_others_are_looked_at) {
  fill();
  damage_table("audit");
  const auto inspected = verify();
  EXPECT_TRUE(found.names("audit rows 1 to the end: cannot be read")) << found.all;
  EXPECT_EQ(inspected.run_count, 3);
  EXPECT_FALSE(found.names("journal")) << found.all;
}

TEST_F(Verify, Contents_in_use_are_those_of_rows_and_whatever_looks_like_one) {
  fill();
  std::vector<std::string> used;
  ASSERT_TRUE(each_content(place, [&](std::string_view sha256) { used.emplace_back(sha256); }));
  EXPECT_EQ(used, std::vector{std::string(64, 'a')});
}

}  // namespace verify_test
}  // namespace sluice::upkeep
