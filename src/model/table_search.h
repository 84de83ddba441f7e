// A question about the rows of a table, answered row by row, so that who reads the rows need not have all of them at
// once and can stop in between.
#pragma once

#include <memory>
#include <vector>

#include "model/tables.h"

namespace sluice::model {

class TableSearch final {
 public:
  // Both must outlive this.
  TableSearch(const std::vector<Column>& columns, const TableQuery& query);
  ~TableSearch();
  TableSearch(const TableSearch&) = delete;
  TableSearch& operator=(const TableSearch&) = delete;

  void look_at(TableRow row);
  // Once, after the last row.
  Selection finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace sluice::model
