// How a SQLite database is tidied up.
#pragma once

#include "store/tidying.h"

namespace sluice::store {

class SqliteTidySide final : public TidySide {
 public:
  void make_plan(Connection& db, Timestamp now, TidyPlan& plan) const override;
  // One server uses it.
  bool may_tidy(Connection& /*db*/) const override { return true; }
  Timestamp now_of_keys(Connection& /*db*/, Timestamp now) const override { return now; }
  bool move(Connection& db, const PackedPart& part) const override;
};

}  // namespace sluice::store
