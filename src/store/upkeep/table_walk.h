// Goes through a table that may be damaged: what cannot be read is told, and the rest is gone through all the same.
#pragma once

#include <functional>
#include <optional>

#include "store/upkeep/raw_database.h"

namespace sluice::store {

struct WalkTaker {
  std::function<void(const RawRow&)> on_row;
  // Rows numbered from `first` to `last` cannot be read; all up to the end when `last` is empty.
  std::function<void(int64_t first, std::optional<int64_t> last, const std::string& why)> on_gap;
};

// Of a table whose key is a number. In pages, each of a moment of its own, so that a server beside it need not keep
// old rows for long.
Result<Unit> walk(RawSource& source, const TableShape& table, const WalkTaker& taker);

}  // namespace sluice::store
