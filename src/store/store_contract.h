// The contract suite's fixture: each story is told to every kind of store.
#pragma once

#include "store/contract_world.h"

namespace sluice::store {

enum class Backend : uint8_t { memory, sqlite };

class StoreContract : public StoreTeller, public testing::TestWithParam<Backend> {
 public:
  StoreContract() { open(); }
  ~StoreContract() override { store_.reset(); }  // before the disk and the figures it uses

  // The server dies and another one comes.
  void restart() {
    store_.reset();
    open();
  }

 private:
  void open() {
    if (GetParam() == Backend::memory) {
      store_ = std::make_unique<MemoryStore>(disk_, loop_);
      return;
    }
    auto opened = open_sqlite({.path = folder_.file("sluice.db")}, loop_, metrics_);
    if (!opened) check_failed(opened.error().what.c_str(), __FILE__, __LINE__);
    store_ = std::move(opened).take();
  }

  MemoryDisk disk_;
  ScratchFolder folder_;
  world::Metrics metrics_;
};

inline std::string name_of_backend(const testing::TestParamInfo<Backend>& info) {
  return info.param == Backend::memory ? "memory" : "sqlite";
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
