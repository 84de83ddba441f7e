#include "store/log_pace.h"

#include <gtest/gtest.h>

#include "store/sqlite_fixture.h"

namespace sluice::store {
namespace log_pace_test {

// A log that grows by 100 frames a commit; how often readers are waited for. `reader` is where the oldest one began,
// -1: there is none.
struct Growing {
  LogPace pace{{.busy = 4'000, .idle = 1'000, .max = 40'000}};
  int frame_count = 0;
  int waits = 0;

  void write(int commits, int reader) {
    for (int i = 0; i < commits; ++i) {
      frame_count += 100;
      if (!pace.is_due(frame_count, false)) continue;
      const int moved = reader < 0 ? frame_count : reader;
      if (!pace.should_wait(frame_count, moved)) continue;
      ++waits;
      if (reader < 0) frame_count = 0;
      if (reader >= 0) pace.waited_in_vain(moved);
    }
  }
};

TEST(LogPace, A_reader_that_stands_still_is_waited_for_once) {
  Growing log;
  log.write(2'000, 500);
  EXPECT_EQ(log.frame_count, 200'000);
  EXPECT_EQ(log.waits, 1);
}

TEST(LogPace, Once_the_log_moves_on_readers_are_waited_for_again_and_it_begins_anew) {
  Growing log;
  log.write(1'000, 500);
  log.write(1'000, 60'000);
  EXPECT_EQ(log.waits, 2) << "another reader stands elsewhere";
  log.write(40, -1);
  EXPECT_EQ(log.waits, 3);
  EXPECT_LT(log.frame_count, 4'100);
  log.write(400, 300);
  EXPECT_EQ(log.waits, 3) << "a short log waits for nobody";
}

TEST(LogPace, The_log_is_moved_sooner_while_nothing_waits_to_be_written) {
  LogPace pace{{.busy = 4'000, .idle = 1'000, .max = 40'000}};
  EXPECT_FALSE(pace.is_due(999, true));
  EXPECT_TRUE(pace.is_due(1'000, true));
  EXPECT_FALSE(pace.is_due(3'999, false));
  EXPECT_FALSE(pace.should_wait(1'000, 1'000));
  EXPECT_FALSE(pace.is_due(1'999, true));
  EXPECT_FALSE(pace.is_due(10, true)) << "begun anew";
  EXPECT_TRUE(pace.is_due(1'010, true));
}

// The same with a database and a reader that does not go.
TEST_F(SqliteFiles, A_long_reader_keeps_the_log_and_not_those_who_write) {
  open({.path = path, .log = {.busy = 40, .idle = 40, .max = 100}});
  const auto tenant = make_tenant();
  auto made = a_conversation(tenant);
  made.title = std::string(20'000, 't');
  const auto write = [&](int count) {
    for (int i = 0; i < count; ++i) {
      made.id = make_id<model::ConversationId>();
      get(&journal::Journal::create_conversation, NewConversation{made, "", {}});
    }
  };
  const auto waits = [&] { return metrics.counter("sluice_store_log_waits_total", "").value(); };
  const auto bytes = [&] { return metrics.gauge("sluice_store_log_bytes", "").value(); };
  write(10);
  sqlite3* reader = nullptr;
  SLUICE_CHECK(sqlite3_open(path.c_str(), &reader) == SQLITE_OK);
  SLUICE_CHECK(sqlite3_exec(reader, "BEGIN; SELECT count(*) FROM tenants", nullptr, nullptr, nullptr) == SQLITE_OK);
  const auto before = waits();
  write(200);
  EXPECT_LE(waits() - before, 2U) << "the log was due some forty times";
  EXPECT_GT(bytes(), 4'000'000);
  // The last commit may have been answered before it was counted.
  EXPECT_LT(static_cast<std::uintmax_t>(bytes()), std::filesystem::file_size(path + "-wal"));
  sqlite3_close(reader);
  write(30);
  EXPECT_LT(bytes(), 1'000'000) << "it began anew";
}

}  // namespace log_pace_test
}  // namespace sluice::store
