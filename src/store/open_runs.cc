#include "store/open_runs.h"

#include <algorithm>
#include <limits>

#include "base/check.h"
#include "store/on_disk.h"
#include "store/sql_query.h"

namespace sluice::store {

namespace {

std::vector<int64_t> flights(Connection& db) {
  std::vector<int64_t> runs;
  Query query(db, "SELECT run FROM flights");
  while (query.next()) query.read(runs.emplace_back());
  return runs;
}

// The rows of the journal after one, as far as they can be read.
template <typename Take>
void read_journal_after(Connection& db, int64_t number, Take take) {
  Query query(db, "SELECT number, run, last FROM journal WHERE number > ? ORDER BY number", number);
  while (query.next()) {
    int64_t run = 0;
    model::Position last;
    query.read(number, run, last);
    take(number, run, last);
  }
}

std::optional<std::pair<model::RunId, OpenRun>> read_open_run(Connection& db, int64_t number) {
  Query query(db, "SELECT number, id, state, epoch, conversation, message, journal_rows FROM runs WHERE number = ?",
              number);
  if (!query.next()) return std::nullopt;
  std::pair<model::RunId, OpenRun> found;
  auto& [id, open] = found;
  std::string rows;
  query.read(open.number, id, open.state, open.epoch, open.conversation, open.message, rows);
  auto read = JournalRows::from_bytes(rows);
  if (!read || db.failure()) return std::nullopt;
  open.rows = *std::move(read);
  return found;
}

bool is_damage(const std::optional<Failure>& failure) { return failure && failure->trouble == Trouble::corrupt; }

// A page that cannot be read is passed over: whose rows were in it has a journal that cannot be read, and nobody else.
template <typename Take>
void read_journal_past_damage(Connection& db, int64_t number, Take take) {
  for (std::optional<int64_t> at = number; at;) {
    read_journal_after(db, *at, [&](int64_t row, int64_t run, model::Position last) {
      at = row;
      take(row, run, last);
    });
    if (!is_damage(db.failure())) return;
    db.take_failure();
    at = end_of_gap(*at, [&](int64_t after) {
      Query(db, "SELECT run, last FROM journal WHERE number > ? ORDER BY number LIMIT 1", after).next();
      return !db.take_failure();
    });
  }
}

}  // namespace

void OpenRuns::load(Connection& db) {
  runs_.clear();
  undo_.clear();
  std::unordered_map<int64_t, OpenRun*> by_number;
  int64_t known_number = std::numeric_limits<int64_t>::max();
  for (const auto number : flights(db)) {
    auto found = read_open_run(db, number);
    // One that is damaged stays as it is, and its conversation waits: the others are served.
    if (is_damage(db.failure())) db.take_failure();
    if (!found) continue;
    known_number = std::min(known_number, found->second.rows.last_number());
    auto& entered = runs_.emplace(found->first, std::move(found->second)).first->second;
    by_number[number] = &entered;
  }
  // Flow is written without touching the run's own row; after a crash this is where it is found.
  read_journal_past_damage(db, known_number, [&](int64_t number, int64_t run, model::Position last) {
    const auto found = by_number.find(run);
    if (found == by_number.end()) return;
    auto& rows = found->second->rows;
    if (number <= rows.last_number() || last <= rows.head()) return;
    rows.add(number, last.value - rows.head().value);
  });
}

const OpenRun* OpenRuns::find(model::RunId run) const {
  const auto found = runs_.find(run);
  return found == runs_.end() ? nullptr : &found->second;
}

std::unordered_map<model::RunId, JournalRows> OpenRuns::all_rows() const {
  std::unordered_map<model::RunId, JournalRows> all;
  for (const auto& [run, open] : runs_) all.emplace(run, open.rows);
  return all;
}

OpenRun& OpenRuns::changing(model::RunId run) {
  const auto found = runs_.find(run);
  SLUICE_CHECK(found != runs_.end());
  auto& open = found->second;
  undo_.push_back({run, Former{open.state, open.epoch, open.rows.mark()}});
  return open;
}

void OpenRuns::enter(model::RunId run, OpenRun open) {
  SLUICE_CHECK(open.number > 0 && open.conversation > 0 && open.message > 0);
  SLUICE_CHECK(open.epoch.value >= 1);
  SLUICE_CHECK(!model::is_over(open.state));
  const bool fresh = runs_.emplace(run, std::move(open)).second;
  SLUICE_CHECK(fresh);
  undo_.push_back({run, std::monostate{}});
}

void OpenRuns::add_row(model::RunId run, int64_t number, uint64_t event_count) {
  changing(run).rows.add(number, event_count);
}

void OpenRuns::set_state(model::RunId run, model::RunState state) {
  SLUICE_CHECK(!model::is_over(state));  // such a run leaves
  changing(run).state = state;
}

void OpenRuns::set_epoch(model::RunId run, model::Epoch epoch) {
  auto& open = changing(run);
  SLUICE_CHECK(open.epoch <= epoch);
  open.epoch = epoch;
}

void OpenRuns::leave(model::RunId run) {
  auto left = runs_.extract(run);
  SLUICE_CHECK(!left.empty());
  undo_.push_back({run, std::move(left.mapped())});
}

void OpenRuns::undo_changes() {
  for (; !undo_.empty(); undo_.pop_back()) {
    auto& [run, before] = undo_.back();
    if (auto* left = std::get_if<OpenRun>(&before)) {
      const bool is_back = runs_.emplace(run, std::move(*left)).second;
      SLUICE_CHECK(is_back);
    } else if (const auto* former = std::get_if<Former>(&before)) {
      const auto found = runs_.find(run);
      SLUICE_CHECK(found != runs_.end());
      auto& open = found->second;
      SLUICE_CHECK(former->epoch <= open.epoch);
      open.state = former->state;
      open.epoch = former->epoch;
      open.rows.go_back(former->mark);
    } else {
      const auto removed = runs_.erase(run);
      SLUICE_CHECK(removed == 1);
    }
  }
}

}  // namespace sluice::store
