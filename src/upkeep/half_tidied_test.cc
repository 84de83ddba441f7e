// Stores that were stopped while they were being tidied up are copied and verified like any other.
#include "store/tidying_fixture.h"
#include "upkeep/upkeep.h"

namespace sluice::upkeep {
namespace half_tidied_test {

using store::DeletedTables;
using store::HalfSealed;
using store::SqliteStore;
using store::Store;

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

}  // namespace half_tidied_test
}  // namespace sluice::upkeep
