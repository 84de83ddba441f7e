#include "store/sql_writer.h"

#include <algorithm>

namespace sluice::store {

namespace {

constexpr std::size_t group_max = 2'000;  // so that a long queue is answered as it goes
constexpr int64_t group_us = 20'000;      // after which a group takes no more works
constexpr std::size_t tenant_waiting_max = WaitingWorks<Work>::waiting_max / 4;
constexpr int64_t full_us = 5'000'000;  // how long a full disk is remembered, if nobody tries it again

Error unknown_outcome(const std::string& cause) {
  return {ErrorKind::unavailable,
          "the database did not say whether it wrote; nothing is written until it is reopened (" + cause + ")"};
}

bool is_own(const WaitingWorks<Work>::Lane& lane) { return lane == WaitingWorks<Work>::Lane{}; }

}  // namespace

Writer::Writer(WriteSide& side, LoopPoster& poster, world::Metrics& metrics, const Executors& executors)
    : side_(side),
      poster_(poster),
      commits_(metrics.counter("sluice_store_commits_total", "Transactions committed.")),
      operations_(metrics.counter("sluice_store_operations_total", "Write operations that were in them.")),
      commit_time_(metrics.histogram("sluice_store_commit_seconds", "From the start of a group to its commit.")),
      waiting_(poster, "too much is waiting to be written",
               &metrics.gauge("sluice_store_queue_length", "Write operations that wait for the writer.")),
      executor_(executors()) {
  waiting_.bound_lanes(tenant_waiting_max, {ErrorKind::overloaded, "too much of this tenant is waiting to be written"});
  waiting_.put_own_first();
  waiting_.notify(*executor_);
  executor_->start([this] { return turn(); });
}

Writer::~Writer() {
  waiting_.stop();
  executor_->finish();
}

bool Writer::turn() {
  auto group = take_group();
  if (group.empty()) return false;
  if (group[0]->work_class() == Work::Class::reopen) {
    reopen(*group[0]);
  } else {
    const auto taken = group.size();
    commit(group);
    const bool is_cut = group.size() < taken || taken == group_max;
    if (is_cut && std::ranges::all_of(lanes_, is_own)) waiting_.let_lane_be_next();
  }
  poster_.post(std::move(group));
  rest(false);
  return true;
}

// Everything that waits, up to a bound, or one reopening; nothing when it is time to stop.
WorkList Writer::take_group() {
  if (waiting_.is_idle()) rest(true);
  const auto is_reopening = [](const Work& work) { return work.work_class() == Work::Class::reopen; };
  const auto fits = [&](const Work& work, const WorkList& group) {
    return group.empty() || (!is_reopening(work) && !is_reopening(*group.back()));
  };
  return waiting_.take(group_max, fits, &lanes_);
}

// All but the first so many of the group that was taken.
void Writer::put_back(WorkList& group, std::size_t begun) {
  const auto from = group.begin() + static_cast<std::ptrdiff_t>(begun);
  WorkList rest(std::move_iterator(from), std::move_iterator(group.end()));
  group.erase(from, group.end());
  waiting_.put_back(std::move(rest), std::span(lanes_).subspan(begun));
  lanes_.resize(begun);
}

void Writer::commit(WorkList& group) {
  const auto fail_all = [&](const Error& error) {
    for (const auto& work : group) work->fail(error);
  };
  if (broken()) return fail_all(unknown_outcome(broken_by_));
  auto mishap = try_commit(group);
  // Nothing of it was written, and a connection that stood idle may have been dead for long.
  if (mishap && !mishap->while_committing && mishap->failure.trouble == Trouble::lost) mishap = try_commit(group);
  if (!mishap) return;
  const auto& [failure, while_committing] = *mishap;
  switch (failure.trouble) {
    case Trouble::full: full_until_us_ = executor_->now_us() + full_us; [[fallthrough]];
    case Trouble::busy: return fail_all(error_of(failure));
    case Trouble::lost:
      if (while_committing) break;
      return fail_all(error_of(failure));
    case Trouble::conflict:
    case Trouble::invalid:
    case Trouble::corrupt:
      if (while_committing) break;
      if (group.size() == 1) return fail_all(error_of(failure));
      // One of them is to blame. Each alone, so that only that one suffers.
      for (auto& work : group) {
        WorkList alone;
        alone.push_back(std::move(work));
        commit(alone);
        work = std::move(alone[0]);
      }
      return;
    case Trouble::unknown: break;
  }
  break_down(failure.what);
  fail_all(unknown_outcome(broken_by_));
}

std::optional<Writer::Mishap> Writer::try_commit(WorkList& group) {
  const int64_t began_us = executor_->now_us();
  auto wanted = Work::Class::look;
  for (const auto& work : group) wanted = std::max(wanted, work->work_class());
  side_.begin(wanted);
  auto& db = side_.db();
  const int64_t until_us = executor_->now_us() + group_us;
  for (std::size_t at = 0; at < group.size() && !db.failure(); ++at) {
    if (at > 0 && executor_->now_us() >= until_us) {
      put_back(group, at);
      break;
    }
    group[at]->attempt(db);
  }
  const bool while_committing = !db.failure();
  side_.commit();
  if (auto failure = db.take_failure()) {
    db.run("ROLLBACK");
    db.take_failure();  // it may have been rolled back already
    side_.ended(false);
    return Mishap{*std::move(failure), while_committing};
  }
  side_.ended(true);
  full_until_us_ = 0;
  commits_.add();
  operations_.add(group.size());
  commit_time_.observe_us(executor_->now_us() - began_us);
  return std::nullopt;
}

bool Writer::unwritable() const {
  return broken() || executor_->now_us() < full_until_us_.load(std::memory_order_relaxed);
}

void Writer::break_down(std::string cause) {
  broken_by_ = std::move(cause);
  broken_ = true;
}

void Writer::reopen(Work& work) {
  break_down("it is being reopened");
  auto opened = side_.reopen();
  if (!opened) return work.fail(std::move(opened.error()).in("reopen the store"));
  broken_ = false;
  generation_.fetch_add(1, std::memory_order_release);
  work.attempt(side_.db());
}

void Writer::rest(bool idle) {
  if (broken()) return;
  if (auto cause = side_.rest(idle)) break_down(*std::move(cause));
}

}  // namespace sluice::store
