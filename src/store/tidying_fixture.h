// Stores in which something waits to be tidied up: long journals, and rows of deleted tables.
#pragma once

#include "store/filled_store_fixture.h"

namespace sluice::store {

class TidyingTest : public FilledStoreTest {
 public:
  static constexpr std::size_t mib = std::size_t{1024} * 1024;

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

}  // namespace sluice::store
