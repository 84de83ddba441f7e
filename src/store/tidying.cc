#include "store/tidying.h"

#include <algorithm>
#include <chrono>

#include "store/sql_parts.h"
#include "store/sql_rows.h"

namespace sluice::store {

namespace {

constexpr int runs_max = 256;               // in one round
constexpr int64_t slice_us = 10'000;        // how long one transaction of the writer goes on taking parts
constexpr std::size_t damaged_max = 1'000;  // beyond it they are all looked at again
constexpr int dropped_keys_max = 500;       // in one statement
constexpr int dropped_executions_max = 100;
constexpr int dropped_rows_max = 100;               // of tables
constexpr int64_t round_dropped_rows_max = 10'000;  // so that journals are sealed meanwhile
// Tenants delete their tables, so the rows are deleted in turn with what tenants write. No id is this one.
constexpr Ulid deletion_lane{{1}};
// A part is about one sealed row, counted as pages count, so that one of very short events has few thousand.
constexpr std::size_t part_bytes = std::size_t{1024} * 1024;

int64_t monotonic_us() {
  using std::chrono::steady_clock;
  return std::chrono::duration_cast<std::chrono::microseconds>(steady_clock::now().time_since_epoch()).count();
}

int64_t count_expired(Connection& db, std::string_view table, std::string_view column, Timestamp before) {
  std::string sql("SELECT count(*) FROM (SELECT 1 FROM ");
  sql.append(table).append(" WHERE ").append(column).append(" <= ? LIMIT ?) AS expired");
  return find_number(db, sql, before, backlog_count_max).value_or(0);
}

Timestamp day_before(Timestamp now) { return {now.ms - limits::idempotency_ms}; }

}  // namespace

// ── a plan ──

Packing::Packing(TidyPlan& plan) : plan_(plan) { plan_.parts.clear(); }

void Packing::begin(int64_t run, model::Position from) {
  sealing_.emplace(packer_, from);
  part_ = {.run = run, .begins_plan = true, .from = from, .upto = from};
  first_part_ = plan_.parts.size();
}

Result<Unit> Packing::add(std::string_view batch, model::Position last, int64_t row_number) {
  const auto before = sealing_->page_bytes();
  if (auto added = sealing_->add(batch, last); !added) return added;
  page_bytes_ += sealing_->page_bytes() - before;
  part_.upto = last;
  if (row_number != 0) part_.rows.push_back(row_number);
  if (sealing_->page_bytes() >= part_bytes) close_part();
  return Unit{};
}

void Packing::close_part() {
  const PackedPart next{.run = part_.run, .from = part_.upto, .upto = part_.upto};
  part_.sealed = std::move(*sealing_).rows();
  plan_.parts.push_back(std::exchange(part_, next));
  sealing_.emplace(packer_, next.from);
}

void Packing::end(bool completes) {
  const bool has_more = part_.upto > part_.from;
  // The last row may have closed its part; a journal without rows has none that could be marked.
  if (has_more || (completes && first_part_ == plan_.parts.size())) close_part();
  if (first_part_ < plan_.parts.size()) plan_.parts.back().completes = completes;
  sealing_.reset();
}

void Packing::give_up(const Connection& db) {
  plan_.parts.resize(first_part_);
  if (!db.failure() || db.failure()->trouble == Trouble::corrupt) plan_.damaged.insert(part_.run);
  sealing_.reset();
}

void TidySide::measure(Connection& db, Timestamp now, std::string_view condition, TidyPlan& plan) const {
  Backlog backlog;
  {
    std::string sql("SELECT count(*), min(ended_at) FROM (SELECT ended_at FROM runs WHERE ended_at IS NOT NULL AND ");
    sql.append(condition).append(" ORDER BY ended_at LIMIT ?) AS unsealed");
    Query query(db, sql, backlog_count_max);
    if (query.next()) query.read(backlog.unsealed_runs, backlog.oldest_end);
  }
  backlog.expired_keys = count_expired(db, "idempotency_keys", "created_at", day_before(now_of_keys(db, now)));
  backlog.expired_executions = count_expired(db, "executions", "expires_at", day_before(now));
  backlog.deleted_rows = sql::count_deleted_rows(db);
  plan.backlog = backlog;
}

std::vector<int64_t> TidySide::runs_to_seal(Connection& db, std::string_view condition, const TidyPlan& plan) {
  std::string sql("SELECT number FROM runs WHERE ended_at IS NOT NULL AND ");
  sql.append(condition).append(" ORDER BY ended_at LIMIT ?");
  Query query(db, sql, runs_max + static_cast<int64_t>(plan.damaged.size()));
  std::vector<int64_t> runs;
  while (query.next()) {
    int64_t run = 0;
    query.read(run);
    if (!plan.damaged.contains(run)) runs.push_back(run);
  }
  return runs;
}

// ── a round ──

Tidying::Tidying(const TidySide& side, Writer& writer, Readers& readers, world::Metrics& metrics)
    : side_(side),
      writer_(writer),
      readers_(readers),
      sealed_journals_(metrics.counter("sluice_store_sealed_journals_total", "Journals of finished runs sealed.")),
      unsealed_runs_(metrics.gauge("sluice_store_unsealed_runs",
                                   "Finished runs whose journals wait to be sealed, counted up to 100,000.")),
      unsealed_seconds_(metrics.gauge("sluice_store_unsealed_oldest_seconds",
                                      "How long ago the first of the runs ended whose journals wait to be sealed.")),
      expired_keys_(metrics.gauge("sluice_store_expired_keys",
                                  "Expired idempotency keys that wait to be dropped, counted up to 100,000.")),
      expired_executions_(
          metrics.gauge("sluice_store_expired_executions",
                        "Expired executions that wait to be dropped with their tokens, counted up to 100,000.")),
      deleted_rows_(
          metrics.gauge("sluice_store_deleted_rows", "Deleted tables that wait to be removed, and their rows.")) {}

void Tidying::tidy_up(Timestamp now, Done<int> done) {
  auto round = std::make_shared<Round>(Round{.now = now, .plan = {}, .done = std::move(done)});
  round->plan.damaged = damaged_;
  Done<Unit> planned = [this, round](Result<Unit> made) {
    // Also after a failure: the damage may be what it failed for, and next time another journal has its turn.
    damaged_ = std::move(round->plan.damaged);
    if (damaged_.size() > damaged_max) damaged_.clear();
    if (!made) return round->done(std::move(made.error()));
    show(round->plan.backlog, round->now);
    drop_old(round);
  };
  const auto attempt = [&side = side_, round](Connection& db) -> Result<Unit> {
    side.make_plan(db, round->now, round->plan);
    return Unit{};
  };
  readers_.submit(std::make_unique<Operation<Unit, decltype(attempt)>>(Work::Class::flow, attempt, std::move(planned)),
                  {});
}

void Tidying::drop_old(const std::shared_ptr<Round>& round) {
  auto& backlog = round->plan.backlog;
  if (backlog.expired_keys == 0 && backlog.expired_executions == 0) return drop_rows(round);
  Done<Dropped> then = [this, round](Result<Dropped> dropped) {
    if (!dropped) return round->done(std::move(dropped.error()));
    auto& left = round->plan.backlog;
    left.expired_keys = std::max<int64_t>(0, left.expired_keys - dropped.value().keys);
    left.expired_executions = std::max<int64_t>(0, left.expired_executions - dropped.value().executions);
    drop_rows(round);
  };
  write(std::move(then),
        [&side = side_, now = round->now](Connection& db) -> Result<Dropped> { return drop_slice(db, side, now); });
}

void Tidying::drop_rows(const std::shared_ptr<Round>& round) {
  if (round->plan.backlog.deleted_rows == 0 || round->dropped_rows >= round_dropped_rows_max) return seal(round, 0);
  Done<int64_t> then = [this, round](Result<int64_t> dropped) {
    if (!dropped) return round->done(std::move(dropped.error()));
    round->dropped_rows += dropped.value();
    auto& left = round->plan.backlog.deleted_rows;
    left = std::max<int64_t>(0, left - dropped.value());
    if (dropped.value() == 0) return seal(round, 0);  // another server is at it
    drop_rows(round);
  };
  const auto most = round_dropped_rows_max - round->dropped_rows;
  const auto attempt = [&side = side_, most](Connection& db) -> Result<int64_t> {
    return drop_rows_slice(db, side, most);
  };
  write(std::move(then), attempt, deletion_lane);
}

void Tidying::seal(const std::shared_ptr<Round>& round, std::size_t begin) {
  if (begin == round->plan.parts.size()) return finish(*round);
  Done<Slice> then = [this, round](Result<Slice> slice) {
    if (!slice) return round->done(std::move(slice.error()));
    round->touched += slice.value().touched;
    round->sealed += slice.value().sealed;
    seal(round, slice.value().end);
  };
  write(std::move(then), [&side = side_, round, begin](Connection& db) -> Result<Slice> {
    return move_slice(db, side, round->plan, begin);
  });
}

void Tidying::finish(Round& round) {
  sealed_journals_.add(static_cast<uint64_t>(round.sealed));
  round.plan.backlog.unsealed_runs = std::max<int64_t>(0, round.plan.backlog.unsealed_runs - round.sealed);
  if (round.plan.backlog.unsealed_runs == 0) round.plan.backlog.oldest_end.reset();
  show(round.plan.backlog, round.now);
  round.done(round.touched);
}

void Tidying::show(const Backlog& backlog, Timestamp now) {
  unsealed_runs_.set(backlog.unsealed_runs);
  unsealed_seconds_.set(std::max<int64_t>(0, now.ms - backlog.oldest_end.value_or(now).ms) / 1000);
  expired_keys_.set(backlog.expired_keys);
  expired_executions_.set(backlog.expired_executions);
  deleted_rows_.set(backlog.deleted_rows);
}

// A statement at least of each kind, however slow they are, so that nothing waits for ever.
Tidying::Dropped Tidying::drop_slice(Connection& db, const TidySide& side, Timestamp now) {
  Dropped dropped;
  if (!side.may_tidy(db)) return dropped;
  const auto until_us = monotonic_us() + slice_us;
  const auto keys_before = day_before(side.now_of_keys(db, now));
  for (bool more_keys = true, more_executions = true; more_keys || more_executions;) {
    if (more_keys) {
      const int count = sql::drop_keys(db, keys_before, dropped_keys_max);
      dropped.keys += count;
      more_keys = count == dropped_keys_max;
    }
    if (more_executions) {
      const int count = sql::drop_executions(db, day_before(now), dropped_executions_max);
      dropped.executions += count;
      more_executions = count == dropped_executions_max;
    }
    if (db.failure() || monotonic_us() >= until_us) break;
  }
  return dropped;
}

int64_t Tidying::drop_rows_slice(Connection& db, const TidySide& side, int64_t most) {
  if (!side.may_tidy(db)) return 0;
  int64_t dropped = 0;
  const auto until_us = monotonic_us() + slice_us;
  do {
    const int count = sql::drop_deleted_rows(db, dropped_rows_max);
    dropped += count;
    if (count == 0) break;
  } while (!db.failure() && dropped < most && monotonic_us() < until_us);
  return dropped;
}

Tidying::Slice Tidying::move_slice(Connection& db, const TidySide& side, const TidyPlan& plan, std::size_t begin) {
  Slice slice{.end = plan.parts.size()};
  if (!side.may_tidy(db)) return slice;
  const auto until_us = monotonic_us() + slice_us;
  for (auto at = begin; at < plan.parts.size(); ++at) {
    const auto& part = plan.parts[at];
    if (side.move(db, part)) {
      if (part.begins_plan) ++slice.touched;
      if (part.completes) ++slice.sealed;
    }
    if (!db.failure() && monotonic_us() < until_us) continue;
    slice.end = at + 1;
    break;
  }
  return slice;
}

}  // namespace sluice::store
