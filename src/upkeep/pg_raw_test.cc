// From SQLite to PostgreSQL and back without loss.
#include "store/filled_store_fixture.h"
#include "store/postgres_fixture.h"
#include "upkeep/upkeep.h"

namespace sluice::upkeep {
namespace pg_raw_test {

class ToPostgres : public store::FilledStoreTest {
 protected:
  class Quiet final : public Inspector {
   public:
    void on_damage(const Damage& damage) override { all += damage.table + " " + damage.id + ": " + damage.what + "\n"; }
    void on_content(const ContentUse& /*content*/) override {}
    void on_progress(std::string_view /*table*/, int64_t /*row_count*/) override {}
    std::string all;
  };
  store::PostgresDatabase database;
};

TEST_F(ToPostgres, There_and_back_is_the_same_export) {
  fill();
  ASSERT_TRUE(export_store(place, folder.file("a"), quiet));
  const auto there = carry_store(place, database.url(), quiet);
  ASSERT_TRUE(there) << there.error().what;
  ASSERT_TRUE(export_store(database.url(), folder.file("b"), quiet));
  EXPECT_EQ(bytes_of_file(folder.file("a")), bytes_of_file(folder.file("b")));
  const auto back = carry_store(database.url(), "sqlite:" + folder.file("back.db"), quiet);
  ASSERT_TRUE(back) << back.error().what;
  ASSERT_TRUE(export_store("sqlite:" + folder.file("back.db"), folder.file("c"), quiet));
  EXPECT_EQ(bytes_of_file(folder.file("a")), bytes_of_file(folder.file("c")));
  Quiet found;
  const auto inspected = verify_store(database.url(), found);
  ASSERT_TRUE(inspected) << inspected.error().what;
  EXPECT_EQ(inspected.value().run_count, 3);
  EXPECT_EQ(found.all, "");
}

TEST_F(ToPostgres, A_damaged_row_is_named) {
  fill();
  ASSERT_TRUE(carry_store(place, database.url(), quiet));
  database.run("UPDATE messages SET json = replace(json, 'second', 'zweite') WHERE run = 2");
  Quiet found;
  ASSERT_TRUE(verify_store(database.url(), found));
  EXPECT_NE(found.all.find("messages " + over.run.id.text()), std::string::npos) << found.all;
}

TEST_F(ToPostgres, Nothing_is_written_over_and_a_damaged_file_leaves_it_empty) {
  fill();
  ASSERT_TRUE(export_store(place, folder.file("a"), quiet));
  auto bytes = bytes_of_file(folder.file("a"));
  bytes.resize(bytes.size() - 10);
  std::ofstream(folder.file("cut"), std::ios::binary) << bytes;
  EXPECT_FALSE(import_store(database.url(), folder.file("cut"), quiet));
  ASSERT_TRUE(import_store(database.url(), folder.file("a"), quiet));
  const auto again = import_store(database.url(), folder.file("a"), quiet);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().kind, ErrorKind::conflict);
}

}  // namespace pg_raw_test
}  // namespace sluice::upkeep
