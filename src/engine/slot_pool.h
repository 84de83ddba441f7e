// Who works, who waits, and who is next. Pure: it knows no clock, no run and no store, only names
// and numbers.
//
// A slot is room for one run. Some may be pinned by conversations that keep their box; they stay
// taken between two messages. Those who wait are called by start-time fair queuing: each tenant has a
// virtual time that advances by 1/weight with each of its turns, and the tenant that is furthest behind
// is next. Within a tenant: first come, first served. A tenant at its own limit is passed over, so it
// delays nobody but itself. Whoever holds no slot and waits for none has no past.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "model/model.h"

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
  // Whose turn it is now, with a slot taken for it.
  std::optional<model::RunId> next();
  // Those who are held, in the order in which they would be called if nothing changed.
  std::vector<model::RunId> first_in_line(std::size_t count_max) const;

  // ── pins ──
  bool may_pin(model::TenantId tenant, const model::TenantLimits& limits) const;
  // One of the tenant's slots is pinned; false when there are too many.
  bool pin(model::TenantId tenant, const model::TenantLimits& limits);
  void unpin(model::TenantId tenant);

  // ── how long it takes ──
  void note_slot_time(int64_t us);
  // A guess at when this place gets a slot.
  int64_t hint_seconds(int64_t position) const;

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

    bool at_limit() const { return max_running > 0 && taken >= max_running; }
    // How many more could work if there were slots enough.
    int64_t room() const;
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
  std::optional<model::RunId> next_returning();

  Limits limits_;
  std::map<model::TenantId, Tenant> tenants_;  // those with a slot or in the queue
  std::deque<Returning> returning_;
  std::unordered_map<model::RunId, Ticket> tickets_;  // of those who are held
  uint64_t next_ticket_ = 1;
  int64_t virtual_now_ = 0;
  int64_t taken_ = 0;
  int64_t pinned_ = 0;
  int64_t held_ = 0;
  std::optional<int64_t> mean_slot_us_;
};

}  // namespace sluice::engine
