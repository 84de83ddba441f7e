// How a PostgreSQL database becomes ours.
#include "store/pg_schema.h"

#include "store/postgres_fixture.h"

namespace sluice::store {
namespace pg_schema_test {

class PgSchema : public testing::Test {
 public:
  std::unique_ptr<PgSession> connected() const { return std::move(PgSession::connect({.url = database.url()})).take(); }
  Result<Unit> migrated() const { return migrate(*connected()); }
  int64_t number_of(const char* sql) const { return connected()->execute(sql).number(0, 0); }

  PostgresDatabase database;
};

TEST_F(PgSchema, An_empty_database_is_filled_once_however_many_come_at_once) {
  std::vector<std::thread> servers;
  std::atomic<int> fine = 0;
  for (int i = 0; i < 6; ++i) servers.emplace_back([&] { fine += static_cast<bool>(migrated()) ? 1 : 0; });
  for (auto& server : servers) server.join();
  EXPECT_EQ(fine, 6);
  EXPECT_EQ(number_of("SELECT count(*) FROM sluice_schema"), number_of("SELECT max(version) FROM sluice_schema"));
}

TEST_F(PgSchema, A_database_of_another_program_is_left_alone) {
  database.run("CREATE TABLE payroll (salary bigint)");
  const auto refused = migrated();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::invalid);
  EXPECT_NE(refused.error().what.find("another program"), std::string::npos);
  EXPECT_EQ(number_of("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"), 1);
}

TEST_F(PgSchema, A_newer_database_is_refused_in_words) {
  ASSERT_TRUE(migrated());
  database.run("INSERT INTO sluice_schema VALUES (99, now())");
  const auto refused = migrated();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::invalid);
  EXPECT_NE(refused.error().what.find("99"), std::string::npos);
  EXPECT_NE(refused.error().what.find("newer sluice"), std::string::npos);
}

TEST_F(PgSchema, A_step_that_fails_leaves_nothing) {
  database.run("CREATE VIEW agents AS SELECT 1");  // in the way of a table
  EXPECT_FALSE(migrated());
  EXPECT_EQ(number_of("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"), 0);
  database.run("DROP VIEW agents");
  EXPECT_TRUE(migrated());
}

TEST_F(PgSchema, Journals_are_spread_over_partitions) {
  ASSERT_TRUE(migrated());
  database.run("INSERT INTO journal SELECT run, 1, '' FROM generate_series(1, 1000) run");
  EXPECT_GT(number_of("SELECT min(n) FROM (SELECT count(*) n FROM journal GROUP BY tableoid) counts"), 80);
  EXPECT_EQ(number_of("SELECT count(DISTINCT tableoid) FROM journal"), 8);
}

}  // namespace pg_schema_test
}  // namespace sluice::store
