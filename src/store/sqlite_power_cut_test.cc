// What a power cut leaves of a database that was opened again after the disk had failed.
#include "store/power_cut_fixture.h"
#include "store/sqlite_fixture.h"

namespace sluice::store {
namespace sqlite_power_cut_test {

class PowerCut : public SqliteFiles {
 public:
  ~PowerCut() override { store_.reset(); }

  // Opens what the power cut left.
  void cut_power() {
    const auto copy = folder.file("copy.db");
    disk.cut_power(path, copy);
    store_.reset();
    store_ = std::move(try_to_open(copy)).take();
    sqlite3* db = nullptr;
    std::string verdict;
    const auto take = [](void* to, int, char** columns, char**) {
      static_cast<std::string*>(to)->append(columns[0]);
      return 0;
    };
    SLUICE_CHECK(sqlite3_open(copy.c_str(), &db) == SQLITE_OK);
    sqlite3_exec(db, "PRAGMA integrity_check", take, &verdict, nullptr);
    sqlite3_close(db);
    EXPECT_EQ(verdict, "ok");
  }
  sqlite3* a_reader() const {
    sqlite3* reader = nullptr;
    SLUICE_CHECK(sqlite3_open(path.c_str(), &reader) == SQLITE_OK);
    SLUICE_CHECK(sqlite3_exec(reader, "BEGIN; SELECT count(*) FROM tenants", nullptr, nullptr, nullptr) == SQLITE_OK);
    return reader;
  }
  bool is_there(model::TenantId tenant, model::ConversationId conversation) {
    return static_cast<bool>(ask(&store::conversation, tenant, conversation));
  }

  ForgetfulDisk disk;
};

TEST_F(PowerCut, What_is_confirmed_after_a_failed_sync_of_the_log_outlives_a_power_cut) {
  open();
  const auto tenant = make_tenant();
  const auto begun = accepted(tenant, make_conversation(tenant).id);
  // A commit that nobody waits to be on the disk: it is in the log, and the sync that fails was to write it.
  get(&journal::Journal::append, Append{.run = begun.run.id,
                                        .epoch = begun.run.epoch,
                                        .head = begun.run.head,
                                        .events = {{model::EventKind::text, {7000}, "flow"}}});
  disk.fail_next_sync("-wal");
  EXPECT_EQ(refused(&journal::Journal::create_conversation, NewConversation{a_conversation(tenant), "", {}}),
            ErrorKind::unavailable);
  ASSERT_TRUE(disk.has_failed());
  get(&journal::Journal::reopen);
  const auto confirmed = make_conversation(tenant).id;
  cut_power();
  EXPECT_TRUE(is_there(tenant, confirmed));
  EXPECT_EQ(get(&journal::Journal::read, begun.run.id, model::Position{1}, std::size_t{1000}).events.size(), 1U);
}

TEST_F(PowerCut, Pages_that_were_moved_before_a_failed_sync_of_the_database_outlive_a_power_cut) {
  open({.path = path, .log = {.busy = 1, .idle = 1, .max = 1'000'000}});
  const auto tenant = make_tenant();
  std::vector<model::ConversationId> made;
  const auto write = [&](int count) {
    for (int i = 0; i < count; ++i) {
      auto large = a_conversation(tenant);
      large.title = std::string(1500, 't');
      if (ask(&journal::Journal::create_conversation, NewConversation{large, "", {}})) made.push_back(large.id);
    }
  };
  // The second one begins after commits that the first one keeps in the log; when only the second is left, the log is
  // moved as far as it has begun, which is a part, and so nothing is synced.
  auto* first = a_reader();
  write(10);
  auto* second = a_reader();
  sqlite3_close(first);
  write(10);
  disk.fail_next_sync("sluice.db");
  sqlite3_close(second);
  for (int i = 0; i < 100 && !disk.has_failed(); ++i) write(1);
  EXPECT_EQ(refused(&journal::Journal::create_conversation, NewConversation{a_conversation(tenant), "", {}}),
            ErrorKind::unavailable);
  get(&journal::Journal::reopen);
  write(60);
  cut_power();
  EXPECT_GE(made.size(), 80U);
  for (const auto id : made) EXPECT_TRUE(is_there(tenant, id));
}

}  // namespace sqlite_power_cut_test
}  // namespace sluice::store
