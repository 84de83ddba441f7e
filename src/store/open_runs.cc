#include "store/open_runs.h"

#include <algorithm>
#include <limits>

#include "base/check.h"
#include "store/sqlite_query.h"

namespace sluice::store {

void OpenRuns::load(Connection& db) {
  runs_.clear();
  undo_.clear();
  std::unordered_map<int64_t, OpenRun*> by_number;
  int64_t known_number = std::numeric_limits<int64_t>::max();
  {
    Query query(db,
                "SELECT runs.number, id, state, epoch, runs.conversation, message, journal_rows FROM flights "
                "JOIN runs ON runs.number = flights.run");
    while (query.next()) {
      OpenRun open;
      model::RunId id;
      std::string rows;
      query.read(open.number, id, open.state, open.epoch, open.conversation, open.message, rows);
      auto read = JournalRows::from_bytes(rows);
      if (!read) return db.fail_corrupt("the list of a journal's rows is damaged");
      open.rows = *std::move(read);
      known_number = std::min(known_number, open.rows.last_number());
      auto& entered = runs_.emplace(id, std::move(open)).first->second;
      by_number[entered.number] = &entered;
    }
  }
  // Flow is written without touching the run's own row; after a crash this is where it is found.
  Query query(db, "SELECT number, run, last FROM journal WHERE number > ? ORDER BY number", known_number);
  while (query.next()) {
    int64_t number = 0;
    int64_t run = 0;
    model::Position last;
    query.read(number, run, last);
    const auto found = by_number.find(run);
    if (found == by_number.end()) continue;
    auto& rows = found->second->rows;
    if (number <= rows.last_number()) continue;
    if (last <= rows.head()) return db.fail_corrupt("a journal's rows are out of order");
    rows.add(number, last.value - rows.head().value);
  }
}

const OpenRun* OpenRuns::find(model::RunId run) const {
  const auto found = runs_.find(run);
  return found == runs_.end() ? nullptr : &found->second;
}

OpenRun& OpenRuns::changing(model::RunId run) {
  const auto found = runs_.find(run);
  SLUICE_CHECK(found != runs_.end());
  auto& open = found->second;
  undo_.push_back({run, Former{open.state, open.epoch, open.rows.mark()}});
  return open;
}

void OpenRuns::enter(model::RunId run, OpenRun open) {
  const bool fresh = runs_.emplace(run, std::move(open)).second;
  SLUICE_CHECK(fresh);
  undo_.push_back({run, std::monostate{}});
}

void OpenRuns::add_row(model::RunId run, int64_t number, uint64_t event_count) {
  changing(run).rows.add(number, event_count);
}

void OpenRuns::set_state(model::RunId run, model::RunState state) { changing(run).state = state; }

void OpenRuns::set_epoch(model::RunId run, model::Epoch epoch) { changing(run).epoch = epoch; }

void OpenRuns::leave(model::RunId run) {
  auto left = runs_.extract(run);
  SLUICE_CHECK(!left.empty());
  undo_.push_back({run, std::move(left.mapped())});
}

void OpenRuns::undo_changes() {
  for (; !undo_.empty(); undo_.pop_back()) {
    auto& [run, before] = undo_.back();
    if (auto* left = std::get_if<OpenRun>(&before)) {
      runs_.emplace(run, std::move(*left));
    } else if (const auto* former = std::get_if<Former>(&before)) {
      auto& open = runs_.at(run);
      open.state = former->state;
      open.epoch = former->epoch;
      open.rows.go_back(former->mark);
    } else {
      runs_.erase(run);
    }
  }
}

}  // namespace sluice::store
