// How journals are sealed and old rows dropped without keeping those who write waiting.
#include "store/tidying_fixture.h"

namespace sluice::store {
namespace tidying_test {

TEST_F(TidyingTest, A_long_journal_is_sealed_part_by_part_in_short_transactions) {
  open();
  tenant = make_tenant();
  const auto run = long_run(20).run.id;
  const auto whole = bodies_of(run);
  ASSERT_EQ(whole.size(), 24U);
  const auto before = commits();
  EXPECT_EQ(get(&Store::tidy_up, Timestamp{60'000}), 1);
  EXPECT_GT(count("SELECT count(*) FROM journal"), 0) << "it is too long for one round";
  EXPECT_GT(count("SELECT count(*) FROM sealed_journals"), 0);
  EXPECT_EQ(bodies_of(run), whole) << "while its first events are sealed and the others are not";
  for (int round = 0; round < 20 && get(&Store::tidy_up, Timestamp{60'000}) > 0; ++round) {
    EXPECT_EQ(bodies_of(run), whole);
  }
  EXPECT_EQ(count("SELECT count(*) FROM journal"), 0);
  EXPECT_EQ(count("SELECT count(*) FROM runs WHERE journal_rows IS NOT NULL"), 0);
  EXPECT_GE(commits() - before, 3U);
  EXPECT_EQ(bodies_of(run), whole);
}

TEST_F(TidyingTest, What_is_written_while_a_journal_is_read_and_packed_does_not_wait_for_it) {
  open();
  tenant = make_tenant();
  std::vector<std::string> answered;
  // More than once: all may be tidied before a busy machine lets this thread ask for the conversation.
  for (int tries = 0; tries < 20 && answered != std::vector<std::string>{"made", "tidied"}; ++tries) {
    answered.clear();
    long_run(8);
    store().tidy_up({60'000}, [&](const auto&) { answered.emplace_back("tidied"); });
    store().create_conversation({a_conversation(tenant), "", {}}, [&](const auto&) { answered.emplace_back("made"); });
    ASSERT_TRUE(loop().run_until([&] { return answered.size() == 2; }));
  }
  EXPECT_EQ(answered, (std::vector<std::string>{"made", "tidied"}));
}

TEST_F(TidyingTest, A_journal_that_cannot_be_read_keeps_no_other_from_being_sealed) {
  open();
  tenant = make_tenant();
  const auto damaged = accepted(tenant, make_conversation(tenant).id);
  get(&journal::Journal::append, the_end(damaged));
  tell(path, "UPDATE journal SET batch = x'FF' WHERE last > 1");
  for (int i = 0; i < 300; ++i)
    get(&journal::Journal::append, the_end(accepted(tenant, make_conversation(tenant).id, {7000 + i})));
  int sealed = 0;
  for (int round = 0; round < 5; ++round) sealed += get(&Store::tidy_up, Timestamp{60'000});
  EXPECT_EQ(sealed, 300);
  EXPECT_EQ(gauge("sluice_store_unsealed_runs"), 1) << "it is told until it is mended";
  EXPECT_EQ(gauge("sluice_store_unsealed_oldest_seconds"), 53);
}

TEST_F(TidyingTest, The_figures_say_what_waits_to_be_tidied_up) {
  open();
  tenant = make_tenant();
  const auto run = long_run(20);
  get(&Store::tidy_up, Timestamp{60'000});
  EXPECT_EQ(gauge("sluice_store_unsealed_runs"), 1);
  EXPECT_GT(gauge("sluice_store_unsealed_oldest_seconds"), 50);
  for (int round = 0; round < 20 && get(&Store::tidy_up, Timestamp{60'000}) > 0;) ++round;
  EXPECT_EQ(gauge("sluice_store_unsealed_runs"), 0);
  EXPECT_EQ(gauge("sluice_store_unsealed_oldest_seconds"), 0);
  EXPECT_EQ(metrics.counter("sluice_store_sealed_journals_total", "").value(), 1U);
}

TEST_F(TidyingTest, More_old_keys_than_one_slice_drops_are_dropped_in_several_rounds) {
  open();
  tenant = make_tenant();
  tell(path,
       "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30000) "
       "INSERT INTO idempotency_keys SELECT zeroblob(16), 'x', 'key ' || i, zeroblob(32), NULL, '', 5 FROM n");
  const Timestamp now{10 + limits::idempotency_ms};
  const auto left = [&] { return count("SELECT count(*) FROM idempotency_keys"); };
  for (int round = 0; round < 200 && left() > 0; ++round) {
    get(&Store::tidy_up, now);
    EXPECT_EQ(gauge("sluice_store_expired_keys"), left());
  }
  EXPECT_EQ(left(), 0);
}

TEST_F(DeletedTables, Rows_of_deleted_tables_are_removed_in_short_transactions_across_a_restart) {
  EXPECT_EQ(left(), 18'000) << "whoever deletes a table does not wait for its rows";
  const auto before = commits();
  get(&Store::tidy_up, Timestamp{60'000});
  EXPECT_EQ(left(), 8'000);
  EXPECT_EQ(gauge("sluice_store_deleted_rows"), 8'002) << "and two tables";
  EXPECT_GT(commits(), before);
  open();
  get(&Store::tidy_up, Timestamp{60'000});
  EXPECT_EQ(left(), 0);
  EXPECT_EQ(count("SELECT count(*) FROM user_tables"), 0);
  EXPECT_EQ(gauge("sluice_store_deleted_rows"), 0);
}

TEST_F(DeletedTables, What_is_written_while_rows_are_removed_has_its_turn) {
  std::vector<std::string> answered;
  store().tidy_up({60'000}, [&](const auto&) { answered.emplace_back("tidied"); });
  store().create_conversation({a_conversation(tenant), "", {}}, [&](const auto&) { answered.emplace_back("made"); });
  ASSERT_TRUE(loop().run_until([&] { return answered.size() == 2; }));
  EXPECT_EQ(answered, (std::vector<std::string>{"made", "tidied"}));
}

TEST_F(HalfSealed, A_journal_is_sealed_to_its_end_after_a_restart) {
  open();
  EXPECT_EQ(bodies_of(run), whole);
  for (int round = 0; round < 20 && get(&Store::tidy_up, Timestamp{60'000}) > 0;) ++round;
  EXPECT_EQ(count("SELECT count(*) FROM runs WHERE ended_at IS NOT NULL AND journal_rows IS NOT NULL"), 0);
  EXPECT_EQ(bodies_of(run), whole);
}

}  // namespace tidying_test
}  // namespace sluice::store
