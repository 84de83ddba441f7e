#include "engine/admission.h"

#include <algorithm>

#include "base/check.h"

namespace sluice::engine {

Admission::Figures::Figures(world::Metrics& metrics)
    : running(metrics.gauge("sluice_runs_running", "Runs that are being worked on.")),
      held(metrics.gauge("sluice_runs_held", "Runs that wait for a slot.")),
      parked(metrics.gauge("sluice_runs_parked", "Runs that wait for a human.")),
      sticky(metrics.gauge("sluice_sticky_leases", "Slots that are pinned to a conversation.")),
      hold(metrics.histogram("sluice_hold_seconds", "How long a held run waited for its slot.")) {}

Admission::Admission(Needs needs, const EngineOptions& options)
    : needs_(needs),
      options_(options),
      figures_(needs.metrics),
      pool_({.max_running = options.max_running, .max_sticky = options.max_sticky, .max_held = options.max_held}),
      board_(pool_, needs.loop, [this](model::RunId run, Place place) { return needs_.host.on_moved_up(run, place); }),
      leases_(needs.loop, [this](model::ConversationId conversation, model::TenantId tenant) {
        on_lease_ended(conversation, tenant);
      }) {}

Admission::Seat& Admission::sit(const Asking& asking) {
  const auto [seat, fresh] = seats_.try_emplace(asking.run);
  SLUICE_CHECK(fresh);
  if (elsewhere_.erase(asking.run) > 0) pool_.unlist(asking.tenant, asking.run);
  seat->second.tenant = asking.tenant;
  seat->second.conversation = asking.conversation;
  seat->second.limits = asking.limits;
  ++counts_[static_cast<std::size_t>(Standing::entered)];
  SLUICE_CHECK(adds_up());
  return seat->second;
}

bool Admission::adds_up() const {
  int64_t seats = 0;
  for (const auto of_standing : counts_) seats += of_standing;
  return seats == std::ssize(seats_);
}

void Admission::stand(Seat& seat, Standing standing) {
  SLUICE_CHECK(count(seat.standing) > 0);
  --counts_[static_cast<std::size_t>(seat.standing)];
  ++counts_[static_cast<std::size_t>(standing)];
  // Read once: the pool finds what it began by its time.
  const auto now = now_us();
  if (seat.standing == Standing::at_work) pool_.end_work(seat.since_us, now, true);
  if (standing == Standing::at_work) pool_.begin_work(now);
  seat.standing = standing;
  seat.since_us = now;
  seat.deadline.cancel();
  SLUICE_CHECK(adds_up());
  show();
}

void Admission::show() {
  figures_.running.set(count(Standing::at_work));
  figures_.held.set(pool_.held());
  figures_.parked.set(count(Standing::parked) + count(Standing::parked_in_slot));
  figures_.sticky.set(pool_.pinned());
}

// ── a run comes ─────────────────────────────────────────────────────────────────────────────────

Admission::Answer Admission::ask(const Asking& asking, bool hold, Place& place) {
  const bool leased = leases_.enter(asking.conversation, asking.tenant);
  if (leased || pool_.take(asking.tenant, asking.limits)) {
    auto& seat = sit(asking);
    seat.leased = leased;
    stand(seat, Standing::at_work);
    return Answer::seated;
  }
  if (!hold || !pool_.has_room_to_wait(asking.tenant, asking.limits)) return Answer::refused;
  place.position = pool_.hold(asking.run, asking.tenant, asking.limits);
  place.hint_seconds = pool_.hint_seconds(place.position, now_us());
  board_.add(asking.run, place);
  stand(sit(asking), Standing::held);
  return Answer::held;
}

void Admission::confirm(model::RunId run) {
  auto& seat = seats_.at(run);
  SLUICE_CHECK(seat.standing != Standing::entered);
  flights_[seat.conversation] = run;
  if (seat.standing == Standing::held) wait_at_most(run, seat, {options_.max_hold_seconds * 1'000});
}

void Admission::enter(const Asking& asking) {
  sit(asking);
  flights_[asking.conversation] = asking.run;
}

void Admission::hold_again(model::RunId run, Place last_sent, Millis span) {
  const auto found = seats_.find(run);
  if (found == seats_.end()) return;  // cancelled meanwhile
  auto& seat = found->second;
  SLUICE_CHECK(seat.standing == Standing::entered);
  const auto position = pool_.hold(run, seat.tenant, seat.limits);
  board_.add(run, last_sent.position > 0 ? last_sent : Place{position, pool_.hint_seconds(position, now_us())});
  stand(seat, Standing::held);
  wait_at_most(run, seat, span);
  call_next();
}

void Admission::wait_at_most(model::RunId run, Seat& seat, Millis span) {
  seat.deadline = needs_.loop.after(span, [this, run] { needs_.host.on_held_too_long(run); });
  board_.note_change();
}

// ── runs that wait on other nodes ───────────────────────────────────────────────────────────────

void Admission::set_elsewhere(std::vector<journal::HeldElsewhere> held) {
  if (stopped_) return;
  elsewhere_.clear();
  for (auto& [tenant, limits, count, overdue, oldest] : held) {
    // The list may be older than what has come here meanwhile.
    const auto gone = std::erase_if(oldest, [this](const journal::HeldRun& waiting) { return knows(waiting.run); });
    overdue = std::max<int64_t>(0, overdue - static_cast<int64_t>(gone));
    for (const auto& [run, epoch] : oldest) elsewhere_[run] = {tenant, epoch};
  }
  pool_.set_elsewhere(held);
  call_next();
}

bool Admission::begin_kept(model::RunId run) {
  if (stopped_ || kept_.erase(run) == 0) return false;
  auto& seat = seats_.at(run);
  SLUICE_CHECK(seat.standing == Standing::entered && !seat.leased);
  stand(seat, Standing::at_work);
  needs_.host.on_turn(run);
  return true;
}

void Admission::forgo(model::RunId run) {
  const auto kept = kept_.extract(run);
  if (kept.empty()) return;
  pool_.give_back(kept.mapped());
  call_next();
}

void Admission::forgo_all() {
  set_elsewhere({});
  for (const auto& [run, tenant] : std::exchange(kept_, {})) pool_.give_back(tenant);
  call_next();
}

// ── a run goes on ───────────────────────────────────────────────────────────────────────────────

bool Admission::is_seated(model::RunId run) const {
  const auto seat = seats_.find(run);
  if (seat == seats_.end()) return false;
  return seat->second.standing == Standing::at_work || seat->second.standing == Standing::parked_in_slot;
}

bool Admission::is_at_work(model::RunId run) const {
  const auto seat = seats_.find(run);
  return seat != seats_.end() && seat->second.standing == Standing::at_work;
}

void Admission::come_back(model::RunId run) {
  SLUICE_CHECK(!is_seated(run));
  auto& seat = seats_.at(run);
  if (leases_.enter(seat.conversation, seat.tenant)) {
    seat.leased = true;
    stand(seat, Standing::at_work);
    return needs_.host.on_turn(run);
  }
  stand(seat, Standing::returning);
  pool_.await_return(run, seat.tenant, seat.limits);
  call_next();
}

void Admission::park(model::RunId run, bool keeps_box) {
  auto& seat = seats_.at(run);
  if (seat.standing != Standing::at_work) return stand(seat, Standing::parked);
  if (keeps_box || seat.leased) return stand(seat, Standing::parked_in_slot);
  stand(seat, Standing::parked);
  pool_.give_back(seat.tenant);
  call_next();
}

void Admission::unpark(model::RunId run) {
  auto& seat = seats_.at(run);
  if (seat.standing == Standing::parked_in_slot) stand(seat, Standing::at_work);
}

bool Admission::pin(model::RunId run, int64_t ttl_seconds) {
  auto& seat = seats_.at(run);
  SLUICE_CHECK(seat.standing == Standing::at_work);
  if (seat.leased) {
    leases_.set_ttl(seat.conversation, ttl_seconds);
  } else if (leases_.enter(seat.conversation, seat.tenant)) {
    // The lease was in use when this run asked, and is not any more: one slot is enough.
    seat.leased = true;
    pool_.give_back(seat.tenant);
    call_next();
  } else if (!stopped_ && !leases_.has(seat.conversation) && pool_.pin(seat.tenant, seat.limits)) {
    // A lease that is in use here is a message's that the store is about to refuse: this run does without.
    seat.leased = true;
    leases_.begin(seat.conversation, seat.tenant, ttl_seconds);
    show();
  }
  return seats_.at(run).leased;
}

// ── a run goes ──────────────────────────────────────────────────────────────────────────────────

void Admission::leave(model::RunId run, bool worked) {
  const auto found = seats_.find(run);
  if (found == seats_.end()) return;
  auto seat = std::move(found->second);
  seats_.erase(found);
  if (const auto flight = flights_.find(seat.conversation); flight != flights_.end() && flight->second == run) {
    flights_.erase(flight);
  }
  board_.remove(run);
  pool_.forget(run);
  SLUICE_CHECK(count(seat.standing) > 0);
  const bool worked_now = seat.standing == Standing::at_work;
  const bool has_slot = worked_now || seat.standing == Standing::parked_in_slot;
  --counts_[static_cast<std::size_t>(seat.standing)];
  SLUICE_CHECK(adds_up());
  if (worked_now) pool_.end_work(seat.since_us, now_us(), worked);
  if (seat.leased) {
    leases_.leave(seat.conversation, worked);
  } else if (has_slot) {
    pool_.give_back(seat.tenant);
  }
  show();
  call_next();
}

void Admission::forsake(model::RunId run) {
  const auto seat = seats_.find(run);
  if (seat != seats_.end() && seat->second.leased) leases_.end(seat->second.conversation);
  leave(run, true);
}

void Admission::on_lease_ended(model::ConversationId conversation, model::TenantId tenant) {
  SLUICE_CHECK(!leases_.has(conversation));
  pool_.unpin(tenant);
  pool_.give_back(tenant);
  show();
  needs_.dispatcher.release(conversation);
  call_next();
}

void Admission::call_next() {
  board_.note_change();
  while (!stopped_) {
    const auto run = pool_.next();
    if (!run) return;
    if (const auto away = elsewhere_.extract(*run); !away.empty()) {
      kept_[*run] = away.mapped().tenant;
      needs_.host.on_turn_elsewhere({*run, away.mapped().epoch});
      continue;
    }
    auto& seat = seats_.at(*run);
    SLUICE_CHECK(seat.standing == Standing::held || seat.standing == Standing::returning);
    if (seat.standing == Standing::held) {
      figures_.hold.observe_us(needs_.loop.monotonic_us() - seat.since_us);
      board_.remove(*run);
    }
    stand(seat, Standing::at_work);
    needs_.host.on_turn(*run);
  }
}

void Admission::conversation_changed(const model::Conversation& conversation) {
  const bool sticky = conversation.runtime.mode == model::PlacementMode::sticky &&
                      conversation.status == model::ConversationStatus::active;
  if (!sticky) return leases_.end(conversation.id);
  leases_.set_ttl(conversation.id, conversation.runtime.sticky_ttl_seconds);
}

void Admission::stop() {
  stopped_ = true;
  leases_.end_all();
}

// ── what there is ───────────────────────────────────────────────────────────────────────────────

int64_t Admission::free_slots() const { return stopped_ ? 0 : options_.max_running - pool_.taken(); }

Capacity Admission::capacity() const {
  Capacity now;
  now.pool_size = options_.max_running;
  now.warm_available = needs_.dispatcher.warm_available();
  now.sticky_active = pool_.pinned();
  now.max_sticky = options_.max_sticky;
  now.running = count(Standing::at_work);
  now.held = pool_.held();
  now.parked = count(Standing::parked) + count(Standing::parked_in_slot);
  now.max_hold_seconds = options_.max_hold_seconds;
  now.retry_hint_seconds = retry_hint_seconds();
  now.at_capacity = pool_.taken() >= options_.max_running;
  return now;
}

model::SandboxNow Admission::sandbox_of(model::ConversationId conversation) const {
  if (const auto run = run_of(conversation)) {
    const auto standing = seats_.at(*run).standing;
    if (standing == Standing::at_work) return {model::SandboxState::running, std::nullopt};
    if (standing == Standing::parked_in_slot) return {model::SandboxState::parked, std::nullopt};
  }
  const auto expires_at = leases_.expires_at(conversation);
  return {expires_at ? model::SandboxState::warm : model::SandboxState::none, expires_at};
}

std::optional<model::RunId> Admission::run_of(model::ConversationId conversation) const {
  const auto flight = flights_.find(conversation);
  return flight == flights_.end() ? std::nullopt : std::optional(flight->second);
}

}  // namespace sluice::engine
