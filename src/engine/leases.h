// Conversations that keep their box between two messages (I-21). A lease begins with a run, sleeps
// while the conversation does, and ends so many seconds after its last run: by the clock that never
// jumps, and never while a run is at work or waits for a human in its box.
#pragma once

#include <optional>
#include <unordered_map>

#include "model/model.h"
#include "world/world.h"

namespace sluice::engine {

class Leases final {
 public:
  // `ended` gets whose lease is over; it is not called for a lease that a run is using.
  using Ended = Callback<void(model::ConversationId, model::TenantId)>;
  Leases(world::Loop& loop, Ended ended) : loop_(loop), ended_(std::move(ended)) {}

  void begin(model::ConversationId conversation, model::TenantId tenant, int64_t ttl_seconds);
  // A run comes and uses it; false when there is none of this tenant, or a run is using it.
  bool enter(model::ConversationId conversation, model::TenantId tenant);
  // The run is over. False for `worked`: it came to nothing, so the lease is no longer for it.
  void leave(model::ConversationId conversation, bool worked);
  void set_ttl(model::ConversationId conversation, int64_t ttl_seconds);
  // Now, or when its run is over.
  void end(model::ConversationId conversation);
  void end_all();

  bool has(model::ConversationId conversation) const { return leases_.contains(conversation); }
  // When it ends if no message comes; empty while a run is using it.
  std::optional<Timestamp> expires_at(model::ConversationId conversation) const;

 private:
  struct Lease {
    model::TenantId tenant;
    int64_t ttl_us = 0;
    int64_t idle_since_us = 0;
    bool in_use = true;
    bool ends_with_run = false;
    world::Timer timer;
  };

  void sleep(model::ConversationId conversation, Lease& lease);
  void finish(model::ConversationId conversation);
  int64_t left_us(const Lease& lease) const;

  world::Loop& loop_;
  Ended ended_;
  std::unordered_map<model::ConversationId, Lease> leases_;
};

}  // namespace sluice::engine
