// Who works, who waits, and who is next. Pure: it knows no clock, no run and no store, only names
// and numbers.
//
// A slot is room for one run. Some may be pinned by conversations that keep their box; they stay
// taken between two messages. Those who wait are called by start-time fair queuing: each tenant has a
// virtual time that advances by 1/weight with each of its turns, and the tenant that is furthest behind
// is next. Within a tenant: first come, first served. A tenant at its own limit is passed over, so it
// delays no tenant but itself. A tenant that holds no slot and waits for none has no past.
//
// Tenants whose runs wait on other nodes take part: each node shares its slots among all tenants that wait anywhere, so
// their weights hold across nodes. At its turn a tenant's run that waits here goes first, because it need not be moved,
// unless one that waits elsewhere came well before it.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

#include "journal/journal.h"

namespace sluice::engine {

class SlotPool final {
 public:
  struct Limits {
    int64_t max_running = 1;
    int64_t max_sticky = 0;
    int64_t max_held = 0;
  };

  explicit SlotPool(Limits limits) : limits_(limits) {}

  // ── slots ──
  // A slot at once; false when there is none for this tenant.
  bool take(model::TenantId tenant, const model::TenantLimits& limits);
  void give_back(model::TenantId tenant);

  // ── the queue ──
  bool has_room_to_wait(model::TenantId tenant, const model::TenantLimits& limits) const;
  // Its place: 1 is next.
  int64_t hold(model::RunId run, model::TenantId tenant, const model::TenantLimits& limits);
  // It worked before and goes on: ahead of everyone who is held.
  void await_return(model::RunId run, model::TenantId tenant, const model::TenantLimits& limits);
  // It waits no more. False when it did not.
  bool forget(model::RunId run);
  // What waits on other nodes, instead of what was said of that before.
  void set_elsewhere(const std::vector<journal::HeldElsewhere>& held);
  // It came here by itself.
  void unlist(model::TenantId tenant, model::RunId run);
  // Whether next() may be a run that waits on another node, now or when its tenant is below its limit.
  bool lists_elsewhere() const { return listed_ > 0; }
  // Whose turn it is now, with a slot taken for it. A run that was not held here waits on another node.
  std::optional<model::RunId> next();
  struct Placed {
    model::RunId run;
    int64_t position = 0;  // 1 is next; turns of runs that wait on other nodes are counted
    bool operator==(const Placed&) const = default;
  };
  // Those who are held here, up to this position, in the order in which they would be called if nothing changed.
  std::vector<Placed> first_in_line(int64_t position_max) const;

  // ── pins ──
  bool may_pin(model::TenantId tenant, const model::TenantLimits& limits) const;
  // One of the tenant's slots is pinned; false when there are too many.
  bool pin(model::TenantId tenant, const model::TenantLimits& limits);
  void unpin(model::TenantId tenant);

  // ── how long it takes ──
  // Times are a clock's that never jumps. `is_typical`: the run's time says something about those of others.
  void begin_work(int64_t at_us);
  void end_work(int64_t began_at_us, int64_t at_us, bool is_typical);
  // A guess at when this place gets a slot. Runs that are at work count with the time that they have taken so far, so
  // that a pool full of long ones does not promise what short ones before them took; and no slot is expected to be free
  // sooner than if each run took as long as the youngest one at work already has.
  int64_t hint_seconds(int64_t position, int64_t now_us) const;

  int64_t taken() const { return taken_; }
  int64_t pinned() const { return pinned_; }
  int64_t held() const { return held_; }
  int64_t returning() const { return static_cast<int64_t>(returning_.size()); }

 private:
  struct Tenant {
    int64_t taken = 0;
    int64_t pinned = 0;
    int64_t returning = 0;
    int64_t max_running = 0;
    int64_t stride = 1;                     // virtual time of one turn
    int64_t next_start = 0;                 // virtual time of its next turn
    std::map<uint64_t, model::RunId> held;  // by ticket: the order in which they came
    std::deque<model::RunId> elsewhere;     // the oldest that wait on other nodes
    int64_t elsewhere_count = 0;            // of all of them
    int64_t overdue = 0;                    // of those, how many go before all that are held here

    bool at_limit() const { return max_running > 0 && taken >= max_running; }
    // How many more could work if there were slots enough.
    int64_t room() const;
    bool next_is_elsewhere() const { return held.empty() || overdue > 0; }
    int64_t waiting() const { return static_cast<int64_t>(held.size()) + elsewhere_count; }
  };
  struct Returning {
    model::RunId run;
    model::TenantId tenant;
  };
  struct Ticket {
    model::TenantId tenant;
    uint64_t number;
  };

  Tenant& know(model::TenantId tenant, const model::TenantLimits& limits);
  void drop_if_idle(model::TenantId tenant);
  void begin_to_wait(Tenant& tenant) const;
  void forget_elsewhere(Tenant& tenant);
  std::optional<model::RunId> next_returning();
  // The sums agree with what they are of.
  bool adds_up() const;

  Limits limits_;
  std::map<model::TenantId, Tenant> tenants_;  // those with a slot or in the queue, here or elsewhere
  std::deque<Returning> returning_;
  std::unordered_map<model::RunId, Ticket> tickets_;  // of those who are held
  uint64_t next_ticket_ = 1;
  int64_t virtual_now_ = 0;
  int64_t taken_ = 0;
  int64_t pinned_ = 0;
  int64_t held_ = 0;
  int64_t listed_ = 0;  // of those that wait on other nodes
  std::optional<int64_t> mean_work_us_;
  int64_t ended_ = 0;                // of those that the mean is of, up to its weight
  std::multiset<int64_t> began_us_;  // of those at work
  int64_t began_sum_us_ = 0;         // of the same
};

}  // namespace sluice::engine
