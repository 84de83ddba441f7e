// How a PostgreSQL database is tidied up, by one of the servers that share it at a time.
#pragma once

#include "store/tidying.h"

namespace sluice::store {

class PgTidySide final : public TidySide {
 public:
  void make_plan(Connection& db, Timestamp now, TidyPlan& plan) const override;
  bool may_tidy(Connection& db) const override;
  Timestamp now_of_keys(Connection& db, Timestamp now) const override;
  bool move(Connection& db, const PackedPart& part) const override;
};

}  // namespace sluice::store
