// What it costs to read a long row in pages, and what is kept for that.
#include "store/unpacked_rows.h"

#include "store/sqlite_fixture.h"
#include "store/sqlite_runs.h"

namespace sluice::store {
namespace unpacked_rows_test {

std::string batch_of(uint64_t count, const std::string& body = "word") {
  return model::encode_batch(
      std::vector<model::RunEvent>(count, model::RunEvent{model::EventKind::text, {7000}, body}));
}
std::shared_ptr<const UnpackedRow> a_row(model::Position last, uint64_t count, const std::string& body = "word") {
  return std::move(UnpackedRow::from(batch_of(count, body), last)).take();
}
model::RunId run_numbered(uint8_t number) {
  model::RunId run;
  run.ulid.bytes[0] = number;
  return run;
}

TEST(UnpackedRow, Is_read_from_any_event_on_and_walks_few_before_it) {
  std::vector<model::RunEvent> events;
  for (int i = 0; i < 1000; ++i) events.push_back({model::EventKind::text, {7000 - i}, std::to_string(i)});
  const auto row = std::move(UnpackedRow::from(model::encode_batch(events), {1010})).take();
  EXPECT_EQ(row->first().value, 11U);
  EXPECT_EQ(row->event_count(), 1000U);
  for (const std::size_t at : {0, 1, 255, 256, 257, 511, 700, 999}) {
    UnpackedRow::Cursor cursor(*row, {11 + at});
    EXPECT_LT(cursor.walked(), 256U);
    for (std::size_t i = at; i < events.size(); ++i) {
      const auto event = cursor.next();
      ASSERT_EQ(model::RunEvent({event.kind, event.at, std::string(event.body)}), events[i]);
    }
    EXPECT_TRUE(cursor.at_end());
  }
}

TEST(UnpackedRow, That_is_damaged_or_cannot_be_there_is_refused) {
  const auto whole = batch_of(300);
  EXPECT_TRUE(UnpackedRow::from(whole, {300}));
  EXPECT_FALSE(UnpackedRow::from(whole, {299}));
  EXPECT_FALSE(UnpackedRow::from(whole.substr(0, whole.size() - 1), {300}));
  EXPECT_FALSE(UnpackedRow::from(whole.substr(0, 1), {300})) << "a row without events";
  EXPECT_FALSE(UnpackedRow::from("", {300}));
}

TEST(UnpackedRows, Are_found_by_their_events_until_they_are_dropped) {
  UnpackedRows rows;
  const auto run = run_numbered(1);
  const auto row = a_row({10'100}, 10'000);
  rows.keep(run, row);
  EXPECT_EQ(rows.find(run, {100}), nullptr);
  EXPECT_EQ(rows.find(run, {101}), row);
  EXPECT_EQ(rows.find(run, {10'100}), row);
  EXPECT_EQ(rows.find(run, {10'101}), nullptr);
  EXPECT_EQ(rows.find(run_numbered(2), {101}), nullptr);
  rows.keep(run, a_row({10'100}, 10'000));
  EXPECT_EQ(rows.bytes(), row->batch().size()) << "the same one is kept once";
  rows.drop(run, *row);
  EXPECT_EQ(rows.find(run, {101}), nullptr);
  EXPECT_EQ(rows.bytes(), 0U);
}

TEST(UnpackedRows, Keep_no_more_than_they_may_and_lose_what_was_not_used_for_longest) {
  UnpackedRows rows;
  const std::string large(UnpackedRows::bytes_max / 4, 'x');
  for (uint8_t i = 1; i <= 3; ++i) rows.keep(run_numbered(i), a_row({1}, 1, large));
  EXPECT_NE(rows.find(run_numbered(1), {1}), nullptr);
  rows.keep(run_numbered(4), a_row({1}, 1, large));
  EXPECT_LE(rows.bytes(), UnpackedRows::bytes_max);
  EXPECT_NE(rows.find(run_numbered(1), {1}), nullptr);
  EXPECT_EQ(rows.find(run_numbered(2), {1}), nullptr);

  const auto kept = rows.bytes();
  rows.keep(run_numbered(5), a_row({1}, 1, std::string(UnpackedRows::bytes_max, 'x')));
  rows.keep(run_numbered(6), a_row({1}, 1));
  EXPECT_EQ(rows.bytes(), kept) << "neither too large a one nor a small one";
  rows.clear();
  EXPECT_EQ(rows.bytes(), 0U);
  EXPECT_EQ(rows.find(run_numbered(1), {1}), nullptr);
}

class LongJournal : public SqliteFiles {
 public:
  static constexpr uint64_t count = 50'000;
  static constexpr std::size_t page_bytes = 256 * 1024;

  LongJournal() {
    open();
    const auto tenant = make_tenant();
    const auto begun = accepted(tenant, make_conversation(tenant).id);
    auto end = the_end(begun);
    end.events.insert(end.events.begin(), count - 3, {model::EventKind::text, {7000}, "word"});
    get(&journal::Journal::append, end);
    run = begun.run.id;
    db = std::move(SqliteConnection::open(path, SqliteConnection::Mode::reader)).take();
  }
  // The next page; how many events were gone through for it.
  uint64_t turn_page(UnpackedRows& rows, uint64_t& read) const {
    auto slice = sql::journal(*db, rows, run, std::nullopt, {read}, page_bytes);
    SLUICE_CHECK(slice && slice.value().first.value == read + 1);
    read += slice.value().events.size();
    return slice.value().walked;
  }
  uint64_t walked_by_one_reader() const {
    UnpackedRows rows;
    uint64_t walked = 0;
    for (uint64_t read = 0; read < count;) walked += turn_page(rows, read);
    EXPECT_EQ(rows.bytes(), 0U) << "nothing is kept of a journal that was read to its end";
    return walked;
  }

  model::RunId run;
  std::unique_ptr<Connection> db;
};

// Once to unpack, once to copy, and less than once more to find where each page begins.
TEST_F(LongJournal, Is_read_in_pages_with_work_in_proportion_to_its_length) {
  EXPECT_LE(walked_by_one_reader(), 3 * count);
}

TEST_F(LongJournal, Is_sealed_in_rows_of_few_pages_and_read_with_as_little_work) {
  EXPECT_EQ(get(&Store::tidy_up, Timestamp{8000}), 1);
  EXPECT_LE(walked_by_one_reader(), 3 * count);
  UnpackedRows none;
  uint64_t walked = 0;
  for (uint64_t read = 0; read < count; none.clear()) walked += turn_page(none, read);
  EXPECT_LE(walked, 8 * count) << "even when nothing can be kept";
}

TEST_F(LongJournal, Costs_each_of_several_readers_no_more_than_one_alone) {
  UnpackedRows rows;
  uint64_t walked = 0;
  std::array<uint64_t, 5> readers{0, 0, 7, 10'000, 20'000};
  for (bool reading = true; reading;) {
    reading = false;
    for (auto& read : readers) {
      if (read == count) continue;
      walked += turn_page(rows, read);
      reading = true;
    }
  }
  EXPECT_LE(walked, readers.size() * 3 * count);
}

}  // namespace unpacked_rows_test
}  // namespace sluice::store
