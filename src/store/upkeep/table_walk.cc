#include "store/upkeep/table_walk.h"

#include <array>

#include "store/gap_search.h"

namespace sluice::store {
namespace {

constexpr int64_t page_rows = 256;

class Walk {
 public:
  Walk(RawSource& source, const TableShape& table)
      : source_(source),
        key_(table.index_of(table.key[0])),
        sql_("SELECT " + column_list(table) + " FROM " + table.name + " WHERE " + table.key[0] + " > $1 ORDER BY " +
             table.key[0] + " LIMIT $2") {}

  Result<Unit> go(const WalkTaker& taker) {
    for (;;) {
      int64_t count = 0;
      if (auto begun = source_.begin(); !begun) return begun;
      auto read = page(page_rows, [&](const RawRow& row) {
        at_ = row[key_].number;
        ++count;
        taker.on_row(row);
        return true;
      });
      source_.end();
      if (!read && read.error().kind != ErrorKind::corrupt) return read;
      if (!read) {
        const auto first = at_ + 1;
        const auto next = end_of_gap(at_, [this](int64_t number) { return is_readable_after(number); });
        taker.on_gap(first, next, read.error().what);
        if (!next) return Unit{};
        at_ = *next;
      } else if (count < page_rows) {
        return Unit{};
      }
    }
  }

 private:
  Result<Unit> page(int64_t limit, const RowTaker& take) {
    const std::array values{Cell::of(at_), Cell::of(limit)};
    return source_.read(sql_, values, take);
  }
  bool is_readable_after(int64_t number) {
    const auto before = std::exchange(at_, number);
    const bool readable = static_cast<bool>(page(1, [](const RawRow&) { return true; }));
    at_ = before;
    return readable;
  }
  RawSource& source_;
  std::size_t key_;
  std::string sql_;
  int64_t at_ = 0;  // numbers begin with 1
};

}  // namespace

Result<Unit> walk(RawSource& source, const TableShape& table, const WalkTaker& taker) {
  return Walk(source, table).go(taker);
}

}  // namespace sluice::store
