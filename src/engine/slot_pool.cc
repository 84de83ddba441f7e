#include "engine/slot_pool.h"

#include <algorithm>
#include <limits>
#include <queue>
#include <set>
#include <tuple>

#include "base/check.h"

namespace sluice::engine {
namespace {

constexpr int64_t turn_of_weight_one = 1'000'000'000;
constexpr int64_t weight_max = 1'000'000;
constexpr int64_t mean_weight = 8;              // one slot time counts an eighth
constexpr int64_t first_guess_us = 10'000'000;  // before any run has ended
constexpr int64_t hint_seconds_max = 24 * 3'600;

}  // namespace

int64_t SlotPool::Tenant::room() const {
  if (max_running <= 0) return std::numeric_limits<int64_t>::max();
  return std::max<int64_t>(0, max_running - taken - returning);
}

SlotPool::Tenant& SlotPool::know(model::TenantId tenant, const model::TenantLimits& limits) {
  auto& known = tenants_[tenant];
  known.max_running = limits.max_running;
  known.stride = turn_of_weight_one / std::clamp<int64_t>(limits.weight, 1, weight_max);
  return known;
}

void SlotPool::drop_if_idle(model::TenantId tenant) {
  const auto found = tenants_.find(tenant);
  if (found == tenants_.end()) return;
  const auto& known = found->second;
  if (known.taken == 0 && known.returning == 0 && known.waiting() == 0) tenants_.erase(found);
}

bool SlotPool::adds_up() const {
  const bool slots = 0 <= pinned_ && pinned_ <= taken_ && taken_ <= limits_.max_running;
  return slots && held_ == std::ssize(tickets_) && listed_ >= 0;
}

// ── slots ───────────────────────────────────────────────────────────────────────────────────────

bool SlotPool::take(model::TenantId tenant, const model::TenantLimits& limits) {
  auto& known = know(tenant, limits);
  if (taken_ >= limits_.max_running || known.at_limit()) {
    drop_if_idle(tenant);
    return false;
  }
  ++taken_;
  ++known.taken;
  SLUICE_CHECK(adds_up());
  return true;
}

void SlotPool::give_back(model::TenantId tenant) {
  auto& known = tenants_.at(tenant);
  SLUICE_CHECK(known.taken > known.pinned);
  --known.taken;
  --taken_;
  SLUICE_CHECK(adds_up());
  drop_if_idle(tenant);
}

// ── the queue ───────────────────────────────────────────────────────────────────────────────────

bool SlotPool::has_room_to_wait(model::TenantId tenant, const model::TenantLimits& limits) const {
  if (held_ >= limits_.max_held) return false;
  const auto known = tenants_.find(tenant);
  const auto waiting = known == tenants_.end() ? 0 : static_cast<int64_t>(known->second.held.size());
  return limits.max_held <= 0 || waiting < limits.max_held;
}

void SlotPool::begin_to_wait(Tenant& tenant) const {
  if (tenant.waiting() == 0) tenant.next_start = std::max(tenant.next_start, virtual_now_);
}

int64_t SlotPool::hold(model::RunId run, model::TenantId tenant, const model::TenantLimits& limits) {
  auto& mine = know(tenant, limits);
  begin_to_wait(mine);
  const auto number = next_ticket_++;
  mine.held.emplace(number, run);
  const bool fresh = tickets_.emplace(run, Ticket{tenant, number}).second;
  SLUICE_CHECK(fresh);
  ++held_;
  SLUICE_CHECK(adds_up());

  // How many have a turn before this one, by arithmetic: no run came later, so equal turns go first.
  const auto before_me = mine.overdue + static_cast<int64_t>(mine.held.size()) - 1;
  const bool passed_over = before_me >= mine.room();
  const auto my_turn = mine.next_start + before_me * mine.stride;
  int64_t position = before_me + 1;
  for (const auto& [id, other] : tenants_) {
    const auto count = other.waiting();
    if (id == tenant || count == 0) continue;
    const auto open = std::min(count, other.room());
    const auto until = my_turn < other.next_start ? 0 : (my_turn - other.next_start) / other.stride + 1;
    position += passed_over ? std::max(open, std::min(count, until)) : std::min(open, until);
  }
  return position;
}

void SlotPool::await_return(model::RunId run, model::TenantId tenant, const model::TenantLimits& limits) {
  ++know(tenant, limits).returning;
  returning_.push_back({run, tenant});
}

bool SlotPool::forget(model::RunId run) {
  if (const auto ticket = tickets_.find(run); ticket != tickets_.end()) {
    const auto [tenant, number] = ticket->second;
    tickets_.erase(ticket);
    const auto left = tenants_.at(tenant).held.erase(number);
    SLUICE_CHECK(left == 1);
    --held_;
    SLUICE_CHECK(adds_up());
    drop_if_idle(tenant);
    return true;
  }
  const auto found = std::ranges::find(returning_, run, &Returning::run);
  if (found == returning_.end()) return false;
  const auto tenant = found->tenant;
  returning_.erase(found);
  --tenants_.at(tenant).returning;
  SLUICE_CHECK(tenants_.at(tenant).returning >= 0);
  drop_if_idle(tenant);
  return true;
}

std::optional<model::RunId> SlotPool::next_returning() {
  for (auto waiting = returning_.begin(); waiting != returning_.end(); ++waiting) {
    auto& tenant = tenants_.at(waiting->tenant);
    if (tenant.at_limit()) continue;
    const auto run = waiting->run;
    returning_.erase(waiting);
    --tenant.returning;
    ++tenant.taken;
    ++taken_;
    SLUICE_CHECK(tenant.returning >= 0 && adds_up());
    return run;
  }
  return std::nullopt;
}

void SlotPool::forget_elsewhere(Tenant& tenant) {
  listed_ -= static_cast<int64_t>(tenant.elsewhere.size());
  tenant.elsewhere.clear();
  tenant.elsewhere_count = tenant.overdue = 0;
  SLUICE_CHECK(listed_ >= 0);
}

void SlotPool::set_elsewhere(const std::vector<journal::HeldElsewhere>& held) {
  std::set<model::TenantId> named;
  for (const auto& [tenant, limits, count, overdue, oldest] : held) {
    if (oldest.empty()) continue;
    named.insert(tenant);
    auto& known = know(tenant, limits);
    begin_to_wait(known);
    forget_elsewhere(known);
    for (const auto& waiting : oldest) known.elsewhere.push_back(waiting.run);
    listed_ += static_cast<int64_t>(oldest.size());
    known.elsewhere_count = std::max(count, static_cast<int64_t>(oldest.size()));
    known.overdue = std::min(overdue, static_cast<int64_t>(oldest.size()));
  }
  std::vector<model::TenantId> others;
  for (auto& [id, tenant] : tenants_) {
    if (tenant.elsewhere_count == 0 || named.contains(id)) continue;
    forget_elsewhere(tenant);
    others.push_back(id);
  }
  for (const auto& id : others) drop_if_idle(id);
  SLUICE_CHECK(adds_up());
}

void SlotPool::unlist(model::TenantId tenant, model::RunId run) {
  const auto known = tenants_.find(tenant);
  if (known == tenants_.end()) return;
  auto& mine = known->second;
  const auto found = std::ranges::find(mine.elsewhere, run);
  if (found == mine.elsewhere.end()) return;
  if (found - mine.elsewhere.begin() < mine.overdue) --mine.overdue;
  mine.elsewhere.erase(found);
  --listed_;
  --mine.elsewhere_count;
  SLUICE_CHECK(mine.elsewhere_count >= std::ssize(mine.elsewhere) && adds_up());
  drop_if_idle(tenant);
}

std::optional<model::RunId> SlotPool::next() {
  if (taken_ >= limits_.max_running) return std::nullopt;
  if (auto run = next_returning()) return run;
  Tenant* best = nullptr;
  // Among equal turns a run elsewhere is first: the list was made before the runs came that began to wait here since.
  const auto key = [](const Tenant& tenant) {
    return std::tuple(tenant.next_start, tenant.next_is_elsewhere() ? 0 : tenant.held.begin()->first);
  };
  for (auto& [id, tenant] : tenants_) {
    if ((tenant.held.empty() && tenant.elsewhere.empty()) || tenant.at_limit()) continue;
    if (best == nullptr || key(tenant) < key(*best)) best = &tenant;
  }
  if (best == nullptr) return std::nullopt;
  model::RunId run;
  if (best->next_is_elsewhere()) {
    run = best->elsewhere.front();
    best->overdue = std::max<int64_t>(0, best->overdue - 1);
    best->elsewhere.pop_front();
    --best->elsewhere_count;
    --listed_;
  } else {
    run = best->held.begin()->second;
    best->held.erase(best->held.begin());
    tickets_.erase(run);
    --held_;
  }
  virtual_now_ = std::max(virtual_now_, best->next_start);
  SLUICE_CHECK(best->stride > 0 && !best->at_limit());
  best->next_start += best->stride;
  ++best->taken;
  ++taken_;
  SLUICE_CHECK(adds_up());
  return run;
}

std::vector<SlotPool::Placed> SlotPool::first_in_line(int64_t position_max) const {
  // Each tenant's next one, by whether it is passed over, by its turn, by when it came.
  struct Candidate {
    std::tuple<bool, int64_t, uint64_t> key;
    int64_t before;  // of the same tenant
    const Tenant* tenant;
    std::map<uint64_t, model::RunId>::const_iterator at;  // the next that is held here; the end: there is none
    bool is_here() const { return before >= tenant->overdue && at != tenant->held.end(); }
    bool operator<(const Candidate& other) const { return key > other.key; }
  };
  std::priority_queue<Candidate> line;
  const auto add = [&](const Tenant& tenant, std::map<uint64_t, model::RunId>::const_iterator at, int64_t before) {
    if (before >= tenant.waiting()) return;
    Candidate next{{}, before, &tenant, at};
    next.key = {before >= tenant.room(), tenant.next_start + before * tenant.stride, next.is_here() ? at->first : 0};
    line.push(next);
  };
  for (const auto& [id, tenant] : tenants_) add(tenant, tenant.held.begin(), 0);
  std::vector<Placed> runs;
  for (int64_t position = 1; position <= position_max && std::ssize(runs) < held_; ++position) {
    const auto first = line.top();
    line.pop();
    const bool is_here = first.is_here();
    if (is_here) runs.push_back({first.at->second, position});
    add(*first.tenant, is_here ? std::next(first.at) : first.at, first.before + 1);
  }
  return runs;
}

// ── pins ────────────────────────────────────────────────────────────────────────────────────────

bool SlotPool::may_pin(model::TenantId tenant, const model::TenantLimits& limits) const {
  const auto known = tenants_.find(tenant);
  const auto mine = known == tenants_.end() ? 0 : known->second.pinned;
  return pinned_ < limits_.max_sticky && mine < limits.max_concurrent_sticky;
}

bool SlotPool::pin(model::TenantId tenant, const model::TenantLimits& limits) {
  auto& known = tenants_.at(tenant);
  if (!may_pin(tenant, limits)) return false;
  SLUICE_CHECK(known.pinned < known.taken);
  ++known.pinned;
  ++pinned_;
  return true;
}

void SlotPool::unpin(model::TenantId tenant) {
  auto& known = tenants_.at(tenant);
  SLUICE_CHECK(known.pinned > 0);
  --known.pinned;
  --pinned_;
}

// ── how long it takes ───────────────────────────────────────────────────────────────────────────

void SlotPool::begin_work(int64_t at_us) {
  began_us_.insert(at_us);
  began_sum_us_ += at_us;
}

void SlotPool::end_work(int64_t began_at_us, int64_t at_us, bool is_typical) {
  const auto began = began_us_.find(began_at_us);
  SLUICE_CHECK(began != began_us_.end());
  began_us_.erase(began);
  began_sum_us_ -= began_at_us;
  if (!is_typical) return;
  const auto us = at_us - began_at_us;
  const auto mean = mean_work_us_.value_or(us);
  mean_work_us_ = mean + (us - mean) / mean_weight;
  ended_ = std::min(ended_ + 1, mean_weight);
}

// The time of one run, from those that ended and those that have not: all time that was worked, by the number of ends.
int64_t SlotPool::hint_seconds(int64_t position, int64_t now_us) const {
  const auto ended = static_cast<double>(std::max<int64_t>(1, ended_));
  const auto worked_us = ended * static_cast<double>(mean_work_us_.value_or(first_guess_us)) +
                         static_cast<double>(std::ssize(began_us_) * now_us - began_sum_us_);
  const auto youngest_us = began_us_.empty() ? 0.0 : static_cast<double>(now_us - *began_us_.rbegin());
  const double wait = static_cast<double>(position) * std::max(worked_us / ended, youngest_us) / 1e6 /
                      static_cast<double>(limits_.max_running);
  const auto whole = static_cast<int64_t>(std::min(wait, static_cast<double>(hint_seconds_max)));
  return std::max<int64_t>(1, whole + (static_cast<double>(whole) < wait ? 1 : 0));
}

}  // namespace sluice::engine
