// This node among the others that share the store: its heartbeats, what follows from those of others, and the runs that
// come from them or go to them. Where only one server can use the store, it is alone, and little of this ever happens.
//
// Called from the loop's thread. The epochs in the store alone decide who may write a run; here is only decided when to
// look.
#pragma once

#include <optional>
#include <vector>

#include "base/lifetime.h"
#include "engine/claims.h"
#include "engine/draining.h"
#include "engine/live_runs.h"
#include "engine/peers.h"
#include "engine/postbox.h"
#include "engine/recoveries.h"
#include "engine/remote_runs.h"
#include "engine/suspension.h"

namespace sluice::engine {

class Cluster final : public RemoteRuns, private Claims::Host, private Peers::Host {
 public:
  class Host {
   public:
    virtual ~Host() = default;
    // Another node writes the run.
    virtual void lose_to_other(LiveRun& run, const Error& why) = 0;
    virtual void drop_all(const Error& why) = 0;
  };
  struct Needs {
    Host& host;
    Recoveries& recoveries;
    const LiveRuns& live;
    Admission& admission;
    Suspension& suspension;
    StoreOutage& outage;
    Draining& draining;
    Postbox& postbox;
    store::Store& store;
    world::Loop& loop;
    world::Log& log;
    world::Metrics& metrics;
  };
  Cluster(Needs needs, const EngineOptions& options);

  Peers& peers() { return peers_; }
  const Peers& peers() const { return peers_; }
  Claims& claims() { return claims_; }
  bool alone() const { return peers_.alone(); }

  std::vector<journal::SeenNode> nodes() const;
  Capacity capacity() const;
  bool reaches_store();
  // No other node may have taken a run of this one, unless it was taken before the last heartbeat that got through.
  bool takes_part_now() { return peers_.takes_part_now(); }
  // The conversation's run that is not over, whichever node carries it.
  void run_of(model::TenantId tenant, model::ConversationId conversation,
              Callback<void(Result<std::optional<model::RunId>>)> done);
  // A request of every other node that lives; nothing waits for the answers.
  void tell_others(std::string_view kind, const std::string& body);
  // A run became live here: those who followed it from afar read it here.
  void wake_followers(model::RunId run);

  std::unique_ptr<Tail> follow(model::RunId run, Callback<void()> look) override;
  void suspect(model::RunId run) override;

  static Error taken_by_other() { return {ErrorKind::conflict, "another server carries the run"}; }

 private:
  journal::NodeFigures own_figures() const override;
  void on_beat() override;
  void on_beat_failed(const Error& why) override;
  void on_cut_off() override;
  void on_back() override;
  void on_orphans() override { needs_.recoveries.look_for_orphans(); }
  void on_run_moved(model::RunId run) override;
  void on_post() override { needs_.postbox.look(); }
  void on_held_elsewhere() override { claims_.look_if_free(); }
  void on_unsure_of_runs() override;

  bool may_claim() const override;
  void on_claimed(const model::Run& run, bool is_late) override { needs_.recoveries.carry(run, is_late); }
  void on_claim_failed(const Error& why) override { on_beat_failed(why); }
  // Another node may have claimed runs that wait here, and the news of that may be lost.
  void check_held();

  Needs needs_;
  const EngineOptions& options_;
  const Timestamp started_at_;
  Peers peers_;
  Claims claims_;
  Tails tails_;
  world::Timer cut_off_timer_;
  bool probing_ = false;
  int64_t checked_us_ = 0, probed_us_ = 0;  // when held runs, and the store, were last looked at
  Lifetime lifetime_;
};

}  // namespace sluice::engine
