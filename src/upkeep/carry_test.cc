// Whole stores there and back again.
#include "store/filled_store_fixture.h"
#include "upkeep/upkeep.h"

namespace sluice::upkeep {
namespace carry_test {

class Carry : public store::FilledStoreTest {
 protected:
  std::string other_path = folder.file("other.db");
  std::string other = "sqlite:" + other_path;
};

TEST_F(Carry, A_store_that_was_imported_exports_the_same_bytes) {
  fill();
  const auto exported = export_store(place, folder.file("a"), quiet);
  ASSERT_TRUE(exported) << exported.error().what;
  EXPECT_GT(exported.value(), 15);
  const auto imported = import_store(other, folder.file("a"), quiet);
  ASSERT_TRUE(imported) << imported.error().what;
  EXPECT_EQ(imported.value(), exported.value());
  ASSERT_TRUE(export_store(other, folder.file("b"), quiet));
  EXPECT_EQ(bytes_of_file(folder.file("a")), bytes_of_file(folder.file("b")));
}

TEST_F(Carry, A_store_that_was_carried_continues_where_it_was) {
  fill();
  ASSERT_TRUE(carry_store(place, other, quiet));
  store_ = store::SqliteStore::open({.path = other_path}, 1, loop_, metrics).take();
  for (const auto& run : {sealed, over, unfinished}) {
    const auto page = get(&journal::Journal::read, run.run.id, model::Position{0}, std::size_t{1'000'000});
    EXPECT_GE(page.events.size(), 3u);
  }
  auto mine = get(&journal::Journal::unfinished_runs).runs;
  ASSERT_EQ(mine.size(), 1u);
  EXPECT_EQ(mine[0].head.value, 3u);
  const auto taken = get(&journal::Journal::take_over, mine[0].id, mine[0].epoch);
  auto end = the_end({.run = taken});
  get(&journal::Journal::append, end);
  get(&store::Store::tidy_up, Timestamp{100'000});
  EXPECT_EQ(get(&journal::Journal::read, taken.id, model::Position{0}, std::size_t{1'000'000}).events.size(), 5u);
}

TEST_F(Carry, A_store_in_use_can_be_exported_but_neither_carried_away_nor_filled) {
  fill();
  open();
  EXPECT_TRUE(export_store(place, folder.file("a"), quiet));
  const auto carried = carry_store(place, other, quiet);
  ASSERT_FALSE(carried);
  EXPECT_EQ(carried.error().kind, ErrorKind::conflict);
  const auto imported = import_store(place, folder.file("a"), quiet);
  ASSERT_FALSE(imported);
  EXPECT_EQ(imported.error().kind, ErrorKind::conflict);
}

TEST_F(Carry, Nothing_is_written_over_a_store_that_has_rows) {
  fill();
  ASSERT_TRUE(export_store(place, folder.file("a"), quiet));
  const auto before = bytes_of_file(path);
  const auto imported = import_store(place, folder.file("a"), quiet);
  ASSERT_FALSE(imported);
  EXPECT_EQ(imported.error().kind, ErrorKind::conflict);
  EXPECT_NE(imported.error().what.find("tenants"), std::string::npos) << imported.error().what;
  EXPECT_EQ(bytes_of_file(path), before);
}

TEST_F(Carry, A_file_that_is_damaged_leaves_the_target_empty) {
  fill();
  ASSERT_TRUE(export_store(place, folder.file("a"), quiet));
  auto bytes = bytes_of_file(folder.file("a"));
  bytes.resize(bytes.size() - 10);
  std::ofstream(folder.file("cut"), std::ios::binary) << bytes;
  EXPECT_FALSE(import_store(other, folder.file("cut"), quiet));
  EXPECT_FALSE(std::filesystem::exists(other_path));
  EXPECT_FALSE(std::filesystem::exists(other_path + ".importing"));
  EXPECT_TRUE(import_store(other, folder.file("a"), quiet));
}

TEST_F(Carry, What_a_killed_import_left_is_no_store_and_not_in_the_way) {
  fill();
  ASSERT_TRUE(export_store(place, folder.file("a"), quiet));
  std::ofstream(other_path + ".importing") << "half";
  std::ofstream(other_path + ".importing-journal") << "half";
  EXPECT_TRUE(import_store(other, folder.file("a"), quiet));
}

TEST_F(Carry, A_copy_of_a_database_in_use_is_a_database) {
  fill();
  open();
  const auto copied = copy_database(path, other_path);
  ASSERT_TRUE(copied) << copied.error().what;
  ASSERT_TRUE(export_store(place, folder.file("a"), quiet));
  ASSERT_TRUE(export_store(other, folder.file("b"), quiet));
  EXPECT_EQ(bytes_of_file(folder.file("a")), bytes_of_file(folder.file("b")));
  EXPECT_FALSE(std::filesystem::exists(other_path + "-wal")) << "a copy that was read only needs no log";
}

TEST_F(Carry, An_invalid_place_is_refused_with_a_reason) {
  EXPECT_FALSE(export_store("mysql://x", folder.file("a"), quiet));
  EXPECT_FALSE(export_store("sqlite:" + folder.file("missing.db"), folder.file("a"), quiet));
  EXPECT_FALSE(std::filesystem::exists(folder.file("missing.db")));
}

}  // namespace carry_test
}  // namespace sluice::upkeep
