// I-12: nobody waits for longer than was promised, and nobody is passed over.
#include <algorithm>

#include "tests/sim/checks.h"

namespace sluice::sim {
namespace {

using model::EventKind;

constexpr int64_t slack_ms = 15'000;

struct Wait {
  model::TenantId tenant;
  int64_t from_ms = 0;
  int64_t to_ms = 0;
  bool started = false;
};

std::optional<Wait> wait_of(const model::Run& run, const journal::CommittedBatch& journal) {
  Wait wait{run.tenant_id};
  for (const auto& committed : journal) {
    const auto& event = committed.event();
    if (event.kind == EventKind::queued && wait.from_ms == 0) wait.from_ms = event.at.ms;
    if (event.kind == EventKind::started) wait.started = true;
    if (event.kind != EventKind::started && !model::is_terminal(event.kind)) continue;
    wait.to_ms = event.at.ms;
    return wait.from_ms == 0 ? std::nullopt : std::optional(wait);
  }
  return std::nullopt;
}

}  // namespace

void Checks::check_holds() {
  for (const auto& [id, told] : told_) {
    const auto wait = wait_of(told.run, told.journal);
    if (!wait || wait->to_ms - wait->from_ms <= needs_.options.max_hold_seconds * 1'000 + slack_ms) continue;
    wrong("I-12", told, "was held for " + std::to_string(wait->to_ms - wait->from_ms) + " ms");
  }
}

namespace {

struct Moment {  // all that happened to the two queues in one millisecond
  int64_t came_one = 0, came_other = 0, left_one = 0, left_other = 0, served_one = 0, served_other = 0;
};

std::map<int64_t, Moment> moments_of(const std::vector<Wait>& waits, model::TenantId one, model::TenantId other) {
  std::map<int64_t, Moment> moments;
  for (const auto& wait : waits) {
    if (wait.tenant != one && wait.tenant != other) continue;
    const bool first = wait.tenant == one;
    ++(first ? moments[wait.from_ms].came_one : moments[wait.from_ms].came_other);
    ++(first ? moments[wait.to_ms].left_one : moments[wait.to_ms].left_other);
    if (wait.started) ++(first ? moments[wait.to_ms].served_one : moments[wait.to_ms].served_other);
  }
  return moments;
}

// In every span in which both have somebody waiting, `one` gets no more than its share beside `other` and one turn.
bool is_favoured(const std::vector<Wait>& waits, const model::Tenant& one, const model::Tenant& other) {
  int64_t waiting_one = 0, waiting_other = 0, served_one = 0, served_other = 0;
  std::vector<std::pair<int64_t, int64_t>> marks;
  for (const auto& [ms, now] : moments_of(waits, one.id, other.id)) {
    const bool both_waited = waiting_one > 0 && waiting_other > 0;
    served_one += now.served_one;
    served_other += now.served_other;
    for (const auto& [mark_one, mark_other] : marks) {
      const auto mine = served_one - mark_one;
      const auto theirs = served_other - mark_other;
      if (both_waited && (mine - 1) * other.limits.weight > (theirs + 1) * one.limits.weight) return true;
    }
    waiting_one += now.came_one - now.left_one;
    waiting_other += now.came_other - now.left_other;
    if (waiting_one == 0 || waiting_other == 0)
      marks.clear();
    else
      marks.emplace_back(served_one, served_other);
  }
  return false;
}

}  // namespace

void Checks::check_fairness() {
  std::vector<Wait> waits;
  for (const auto& [id, told] : told_) {
    if (const auto wait = wait_of(told.run, told.journal)) waits.push_back(*wait);
  }
  const auto& tenants = needs_.clients.tenants();
  for (const auto& one : tenants) {
    for (const auto& other : tenants) {
      if (one.id != other.id && is_favoured(waits, one, other)) {
        needs_.verdict.wrong("I-12", one.name + " was served before " + other.name + " too often");
      }
    }
  }
}

}  // namespace sluice::sim
