// How journals are sealed and old rows dropped without keeping those who write waiting.
#include "store/maintenance.h"
#include "store/upkeep/upkeep_fixture.h"

namespace sluice::store {
namespace tidying_test {

constexpr std::size_t mib = std::size_t{1024} * 1024;

class TidyingTest : public UpkeepTest {
 public:
  // A run that is over, with an answer of so many MiB.
  Accepted long_run(std::size_t size_mib) {
    const auto begun = accepted(tenant, make_conversation(tenant).id);
    auto end = the_end(begun, "The end.");
    Append more{.run = begun.run.id, .epoch = begun.run.epoch, .head = begun.run.head};
    for (std::size_t i = 0; i < size_mib; ++i, ++more.head.value) {
      more.events = {{model::EventKind::reasoning, {7000}, std::string(mib, static_cast<char>('a' + i % 26))}};
      get(&journal::Journal::append, more);
    }
    end.head = more.head;
    end.events.insert(end.events.begin(), {model::EventKind::started, {7000}, ""});
    get(&journal::Journal::append, end);
    return begun;
  }
  std::vector<std::string> bodies_of(model::RunId run) {
    std::vector<std::string> bodies;
    for (;;) {
      const auto page = get(&journal::Journal::read, run, model::Position{bodies.size()}, std::size_t{256 * 1024});
      if (page.events.empty()) return bodies;
      for (const auto& event : page.events) bodies.push_back(event.event().body);
    }
  }
  int64_t count(const std::string& sql) const {
    sqlite3* db = nullptr;
    int64_t number = 0;
    SLUICE_CHECK(sqlite3_open(path.c_str(), &db) == SQLITE_OK);
    const auto take = [](void* to, int, char** columns, char**) {
      *static_cast<int64_t*>(to) = std::stoll(columns[0]);
      return 0;
    };
    SLUICE_CHECK(sqlite3_exec(db, sql.c_str(), take, &number, nullptr) == SQLITE_OK);
    sqlite3_close(db);
    return number;
  }
  uint64_t commits() { return metrics.counter("sluice_store_commits_total", "").value(); }
  int64_t gauge(std::string_view name) { return metrics.gauge(name, "").value(); }
};

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

class DeletedTables : public TidyingTest {
 public:
  // Three tables of six thousand rows, all of them deleted: more than one round removes.
  DeletedTables() {
    fill();
    open();
    for (int number = 1; number <= 3; ++number) {
      const model::Table table{.id = make_id<model::TableId>(), .tenant_id = tenant, .name = std::to_string(number)};
      get(&store::create_table, table);
      for (int i = 0; i < 6; ++i) {
        std::vector<model::TableRow> rows;
        for (int j = 0; j < 1'000; ++j) rows.push_back({.id = make_id<model::TableRowId>(), .cells = "{}"});
        get(&store::insert_rows, tenant, table.id, rows);
      }
      get(&store::delete_table, tenant, table.id);
    }
  }
  int64_t left() const { return count("SELECT count(*) FROM user_rows"); }
};

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

class Faults final : public Inspector {
 public:
  void on_damage(const Damage& damage) override { all += damage.table + " " + damage.id + ": " + damage.what + "\n"; }
  void on_content(const ContentUse& /*content*/) override {}
  void on_progress(std::string_view /*table*/, int64_t /*row_count*/) override {}
  std::string all;
};

TEST_F(DeletedTables, A_store_in_which_rows_of_deleted_tables_are_left_is_whole_and_can_be_carried) {
  get(&Store::tidy_up, Timestamp{60'000});
  ASSERT_EQ(left(), 8'000);
  store_.reset();
  Faults faults;
  ASSERT_TRUE(verify_store(place, faults));
  EXPECT_EQ(faults.all, "");
  const auto other_path = folder.file("other.db");
  ASSERT_TRUE(export_store(place, folder.file("a"), quiet));
  ASSERT_TRUE(import_store("sqlite:" + other_path, folder.file("a"), quiet));
  store_ = SqliteStore::open({.path = other_path}, 1, loop_, metrics).take();
  get(&Store::tidy_up, Timestamp{60'000});
  EXPECT_EQ(gauge("sluice_store_deleted_rows"), 0);
  faults.all.clear();
  ASSERT_TRUE(verify_store("sqlite:" + other_path, faults));
  EXPECT_EQ(faults.all, "");
}

// As a server that stopped in the middle of sealing a long journal leaves it.
class HalfSealed : public TidyingTest {
 public:
  HalfSealed() {
    fill();
    open();
    run = long_run(12).run.id;
    while (count("SELECT count(*) FROM sealed_journals") < 5) get(&Store::tidy_up, Timestamp{60'000});
    SLUICE_CHECK(count("SELECT count(*) FROM journal") > 5);
    whole = bodies_of(run);
    store_.reset();
  }

  model::RunId run;
  std::vector<std::string> whole;
};

TEST_F(HalfSealed, A_journal_is_sealed_to_its_end_after_a_restart) {
  open();
  EXPECT_EQ(bodies_of(run), whole);
  for (int round = 0; round < 20 && get(&Store::tidy_up, Timestamp{60'000}) > 0;) ++round;
  EXPECT_EQ(count("SELECT count(*) FROM runs WHERE ended_at IS NOT NULL AND journal_rows IS NOT NULL"), 0);
  EXPECT_EQ(bodies_of(run), whole);
}

TEST_F(HalfSealed, A_journal_is_verified_as_one) {
  Faults faults;
  ASSERT_TRUE(verify_store(place, faults));
  EXPECT_EQ(faults.all, "");
  tell(path, "DELETE FROM sealed_journals WHERE number = (SELECT max(number) FROM sealed_journals)");
  ASSERT_TRUE(verify_store(place, faults));
  EXPECT_NE(faults.all.find(run.text()), std::string::npos) << faults.all;
}

TEST_F(HalfSealed, A_journal_is_carried_to_another_store_and_back) {
  const auto other_path = folder.file("other.db");
  ASSERT_TRUE(export_store(place, folder.file("a"), quiet));
  ASSERT_TRUE(import_store("sqlite:" + other_path, folder.file("a"), quiet));
  ASSERT_TRUE(export_store("sqlite:" + other_path, folder.file("b"), quiet));
  EXPECT_EQ(bytes_of_file(folder.file("a")), bytes_of_file(folder.file("b")));
  store_ = SqliteStore::open({.path = other_path}, 1, loop_, metrics).take();
  EXPECT_EQ(bodies_of(run), whole);
  for (int round = 0; round < 20 && get(&Store::tidy_up, Timestamp{60'000}) > 0;) ++round;
  EXPECT_EQ(bodies_of(run), whole);
  EXPECT_EQ(gauge("sluice_store_unsealed_runs"), 0);
}

}  // namespace tidying_test
}  // namespace sluice::store
