// The contract suite's fixture: each story is told to every kind of store.
#pragma once

#include "store/contract_world.h"
#include "store/postgres_fixture.h"

namespace sluice::store {

enum class Backend : uint8_t { simulated, sqlite, postgres };
inline const auto every_backend = testing::Values(Backend::simulated, Backend::sqlite, Backend::postgres);

// The database that all stories share: to make one takes longer than to tell most of them.
inline PostgresDatabase& contract_database() {
  static auto* database = new PostgresDatabase;  // goes with its server
  return *database;
}
inline void empty(PostgresDatabase& database) {
  database.run(
      "DO $$ DECLARE name text; BEGIN FOR name IN SELECT relname FROM pg_class WHERE relnamespace = "
      "'public'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition AND relname <> 'sluice_schema' "
      "LOOP EXECUTE 'DELETE FROM ' || name; END LOOP; END $$");
}

class StoreContract : public StoreTeller, public testing::TestWithParam<Backend> {
 public:
  StoreContract() {
    if (GetParam() == Backend::postgres) empty(contract_database());
    open();
  }
  ~StoreContract() override { store_.reset(); }  // before the disk and the figures it uses

  // May several servers use it at once?
  static bool is_shared() { return GetParam() == Backend::postgres; }
  // A gauge of the server that is there; nothing of a simulated one.
  int64_t figure(std::string_view name) { return metrics_.gauge(name, "").value(); }
  // The server dies and another one comes.
  void restart() {
    store_.reset();
    open();
  }

 private:
  void open() {
    if (GetParam() == Backend::simulated) {
      store_ = std::make_unique<SimulatedStore>(disk_, loop_);
      return;
    }
    auto opened = GetParam() == Backend::sqlite
                      ? open_sqlite({.path = folder_.file("sluice.db")}, loop_, metrics_)
                      : open_postgres({.url = contract_database().url(), .node = node_}, loop_, metrics_);
    if (!opened) check_failed(opened.error().what.c_str(), __FILE__, __LINE__);
    store_ = std::move(opened).take();
  }

  SimulatedDatabase disk_;
  ScratchFolder folder_;
  world::Metrics metrics_;
  const model::NodeId node_ = make_id<model::NodeId>();
};

inline std::string name_of_backend(const testing::TestParamInfo<Backend>& info) {
  switch (info.param) {
    case Backend::simulated: return "simulated";
    case Backend::sqlite: return "sqlite";
    case Backend::postgres: return "postgres";
  }
  return "";
}

template <typename Row>
auto ids_of(const Page<Row>& page) {
  std::vector<decltype(Row::id)> ids;
  for (const auto& row : page.rows) ids.push_back(row.id);
  return ids;
}

// Walks a list of five in both directions; `list(query)` is one page.
template <typename AnyId, typename List>
void expect_pages(const std::vector<AnyId>& rows, AnyId unknown, List list) {
  using Ids = std::vector<AnyId>;
  ASSERT_EQ(rows.size(), 5U);
  const auto expect = [&](PageQuery<AnyId> query, const Ids& ids, bool has_more) {
    auto page = list(query);
    ASSERT_TRUE(page);
    EXPECT_EQ(ids_of(page.value()), ids);
    EXPECT_EQ(page.value().has_more, has_more);
  };
  expect({}, rows, false);
  expect({.limit = 5}, rows, false);
  expect({.limit = 2}, {rows[0], rows[1]}, true);
  expect({.limit = 2, .starting_after = rows[1]}, {rows[2], rows[3]}, true);
  expect({.limit = 2, .starting_after = rows[2]}, {rows[3], rows[4]}, false);
  expect({.limit = 2, .starting_after = rows[4]}, {}, false);
  expect({.limit = 2, .ending_before = rows[4]}, {rows[2], rows[3]}, true);
  expect({.limit = 2, .ending_before = rows[2]}, {rows[0], rows[1]}, false);
  expect({.limit = 2, .ending_before = rows[0]}, {}, false);
  auto lost = list(PageQuery<AnyId>{.starting_after = unknown});
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().kind, ErrorKind::not_found);
}

}  // namespace sluice::store
