// Which run may work now, which waits, and which conversation keeps its slot: the pool, the board and
// the leases as one, with a seat for every run that is not over.
//
// A run asks before anything of it is written, and whatever comes of that, leaves once. Nothing here
// touches a journal: the host learns whose turn it is.
#pragma once

#include <array>
#include <optional>
#include <unordered_map>

#include "engine/engine.h"
#include "engine/leases.h"
#include "engine/queue_board.h"
#include "engine/slot_pool.h"

namespace sluice::engine {

struct Asking {
  model::RunId run;
  model::TenantId tenant;
  model::ConversationId conversation;
  model::TenantLimits limits;
};

class Admission final {
 public:
  class Host {
   public:
    virtual ~Host() = default;
    // It has a slot. A run that is not confirmed yet looks for itself: is_seated().
    virtual void on_turn(model::RunId run) = 0;
    // A slot is kept for this run, which waits on another node and must be claimed: begin_kept() or forgo().
    virtual void on_turn_elsewhere(const journal::HeldRun& run) = 0;
    // True when the run could report it.
    virtual bool on_moved_up(model::RunId run, Place place) = 0;
    virtual void on_held_too_long(model::RunId run) = 0;
  };
  struct Needs {
    Host& host;
    world::Loop& loop;
    world::Metrics& metrics;
    dispatch::Dispatcher& dispatcher;
  };
  Admission(Needs needs, const EngineOptions& options);

  // ── a run comes ──
  enum class Answer : uint8_t { seated, held, refused };
  // `place` is set when it is held. A refused one has no seat and need not leave.
  Answer ask(const Asking& asking, bool hold, Place& place);
  // It was accepted. If it is held, its positions are reported, until it has waited long enough.
  void confirm(model::RunId run);
  // It was under way before a restart: a seat without a slot.
  void enter(const Asking& asking);
  // The run was sent this place before the restart (position 0: none), and may wait so long.
  void hold_again(model::RunId run, Place last_sent, Millis span);

  // ── runs that wait on other nodes ──
  // They have their turns here, too. Instead of what was said of them before.
  void set_elsewhere(std::vector<journal::HeldElsewhere> held);
  bool lists_elsewhere() const { return pool_.lists_elsewhere(); }
  // It was claimed and has entered: it begins, in the slot that was kept for it. False when there is none.
  bool begin_kept(model::RunId run);
  // It is not claimed, or does not begin: the slot that was kept for it is free. Nothing when there is none.
  void forgo(model::RunId run);
  void forgo_all();

  // ── a run goes on ──
  bool is_seated(model::RunId run) const;
  // Since enter(), it has neither got a slot nor begun to wait for one.
  bool has_only_entered(model::RunId run) const { return seats_.at(run).standing == Standing::entered; }
  // It goes on and needs a slot, before those who are held; in that of its conversation, if that has one. on_turn() may
  // come from inside.
  void come_back(model::RunId run);
  // It waits for a human; without a box and a lease its slot is free.
  void park(model::RunId run, bool keeps_box);
  // It waits no more. Nothing, unless it kept its slot.
  void unpark(model::RunId run);
  // Pins its slot to its conversation, if that is allowed.
  bool pin(model::RunId run, int64_t ttl_seconds);

  // ── a run goes ──
  // False for `worked`: it came to nothing.
  void leave(model::RunId run, bool worked);
  // It goes on elsewhere, or once more from its journal: a box in which it worked is not its conversation's any more.
  void forsake(model::RunId run);

  void conversation_changed(const model::Conversation& conversation);
  // No run gets a turn any more; leases end.
  void stop();

  // ── what there is ──
  bool knows(model::RunId run) const { return seats_.contains(run) || kept_.contains(run); }
  bool is_at_work(model::RunId run) const;
  bool has_lease(model::ConversationId conversation) const { return leases_.has(conversation); }
  // A run that is held nevertheless belongs to a tenant at its own limit. A slot that is kept for a run is not free.
  int64_t free_slots() const;
  bool anyone_at_work() const { return count(Standing::at_work) > 0; }
  bool may_pin(model::TenantId tenant, const model::TenantLimits& limits) const {
    return pool_.may_pin(tenant, limits);
  }
  int64_t retry_hint_seconds() const { return pool_.hint_seconds(pool_.held() + 1, now_us()); }
  Capacity capacity() const;
  model::SandboxNow sandbox_of(model::ConversationId conversation) const;
  std::optional<model::RunId> run_of(model::ConversationId conversation) const;

 private:
  enum class Standing : uint8_t { entered, held, returning, at_work, parked_in_slot, parked };
  static constexpr std::size_t standing_count = 6;
  struct Seat {
    model::TenantId tenant;
    model::ConversationId conversation;
    model::TenantLimits limits;
    Standing standing = Standing::entered;
    bool leased = false;   // its slot is its conversation's
    int64_t since_us = 0;  // when it got its slot, or began to wait
    world::Timer deadline;
  };
  struct Figures {
    explicit Figures(world::Metrics& metrics);
    world::Gauge& running;
    world::Gauge& held;
    world::Gauge& parked;
    world::Gauge& sticky;
    world::Histogram& hold;
  };

  Seat& sit(const Asking& asking);
  int64_t now_us() const { return needs_.loop.monotonic_us(); }
  void stand(Seat& seat, Standing standing);
  void wait_at_most(model::RunId run, Seat& seat, Millis span);
  void on_lease_ended(model::ConversationId conversation, model::TenantId tenant);
  void call_next();
  int64_t count(Standing standing) const { return counts_[static_cast<std::size_t>(standing)]; }
  void show();
  // Each seat is counted once.
  bool adds_up() const;

  Needs needs_;
  const EngineOptions& options_;
  Figures figures_;
  SlotPool pool_;
  QueueBoard board_;
  Leases leases_;
  std::unordered_map<model::RunId, Seat> seats_;
  std::unordered_map<model::ConversationId, model::RunId> flights_;  // of runs that are not only asking
  std::array<int64_t, standing_count> counts_{};
  struct Away {
    model::TenantId tenant;
    model::Epoch epoch;
  };
  std::unordered_map<model::RunId, Away> elsewhere_;        // may be claimed
  std::unordered_map<model::RunId, model::TenantId> kept_;  // slots of runs that are being claimed
  bool stopped_ = false;
};

}  // namespace sluice::engine
