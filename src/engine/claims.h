// Takes runs that wait for a slot on other nodes when it is their turn here: it tells the queue what waits elsewhere,
// and claims those runs for which the queue keeps a slot. So a node never claims more than it has room for, a tenant at
// its own limit is passed over as it is among the runs that wait here, and tenants share by weight.
#pragma once

#include <memory>
#include <vector>

#include "base/lifetime.h"
#include "engine/admission.h"

namespace sluice::engine {

class Claims final {
 public:
  class Host {
   public:
    virtual ~Host() = default;
    // False while the node has other runs to see to first, or must not carry any more.
    virtual bool may_claim() const = 0;
    // The run is this node's now. `is_late`: everything was dropped since it was asked for, and no slot is kept.
    virtual void on_claimed(const model::Run& run, bool is_late) = 0;
    virtual void on_claim_failed(const Error& why) = 0;
  };
  struct Needs {
    Host& host;
    Admission& admission;
    journal::Nodes& nodes;
    world::Loop& loop;
    world::Log& log;
    world::Metrics& metrics;
  };
  explicit Claims(Needs needs);
  Claims(const Claims&) = delete;
  Claims& operator=(const Claims&) = delete;

  // A heartbeat showed whether any run waits elsewhere.
  void on_beat(bool any_held_elsewhere);
  // Something may have changed: looks what waits elsewhere if there is a slot for it.
  void look_if_free();
  // A slot is kept for this run.
  void want(const journal::HeldRun& run);
  // Everything was dropped: slots that were kept are free, and answers under way come too late.
  void drop();

 private:
  void look();
  void claim_wanted();
  void on_answer(const std::vector<journal::HeldRun>& asked, const Result<std::vector<model::Run>>& claimed);

  Needs needs_;
  world::Counter& claimed_;
  std::vector<journal::HeldRun> wanted_;
  bool claiming_ = false;
  bool looking_ = false;
  bool looks_again_ = false;
  int looks_since_beat_ = 0;  // after others were quicker
  Lifetime since_drop_;       // begins anew when everything is dropped
  Lifetime lifetime_;
};

}  // namespace sluice::engine
