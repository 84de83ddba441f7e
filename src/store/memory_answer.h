// How a MemoryStore says that there is none, and how it cuts pages: shared by its sources.
#pragma once

#include <algorithm>

#include "store/memory_store.h"
#include "store/no_such.h"
#include "store/room.h"

namespace sluice::store {

// `rows` are in list order; `keep` tells which of them are listed.
template <typename Row, typename AnyId, typename Keep, typename IdOf>
Result<Page<Row>> cut_page(const std::vector<Row>& rows, const PageQuery<AnyId>& query, IdOf id_of, Keep keep) {
  const auto at = [&](const AnyId& id) {
    return std::find_if(rows.begin(), rows.end(), [&](const Row& row) { return id_of(row) == id; });
  };
  Page<Row> page;
  Room room(query.limit, limits::page_bytes_max);
  const auto take = [&](const Row& row) {
    if (!keep(row)) return true;
    page.has_more = !room.take(bytes_of(row));
    if (!page.has_more) page.rows.push_back(row);
    return !page.has_more;
  };
  if (query.ending_before) {
    const auto end = at(*query.ending_before);
    if (end == rows.end()) return no_such("object to end before");
    for (auto row = std::make_reverse_iterator(end); row != rows.rend() && take(*row); ++row) {
    }
    std::reverse(page.rows.begin(), page.rows.end());
    return page;
  }
  auto row = rows.begin();
  if (query.starting_after) {
    row = at(*query.starting_after);
    if (row == rows.end()) return no_such("object to start after");
    ++row;
  }
  for (; row != rows.end() && take(*row); ++row) {
  }
  return page;
}

inline constexpr auto id_of = [](const auto& row) { return row.id; };
inline constexpr auto all = [](const auto&) { return true; };

// The rows of one tenant, oldest first.
template <typename Row, typename AnyTable>
std::vector<Row> rows_of(AnyTable& table, model::TenantId tenant) {
  std::vector<Row> rows;
  for (auto& [number, row] : table) {
    if (row.tenant_id == tenant) rows.push_back(row);
  }
  return rows;
}

}  // namespace sluice::store
