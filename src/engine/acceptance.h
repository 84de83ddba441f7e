// Makes runs of messages: a slot, or a position in the queue, is asked for first; then everything that the message
// brings is written at once.
//
// Called from the loop's thread. It refuses nothing that the API has to judge (fields, keys, permissions), and it does
// not begin the work: the first duty of the run does.
#pragma once

#include <memory>
#include <optional>

#include "base/lifetime.h"
#include "engine/admission.h"
#include "engine/recoveries.h"

namespace sluice::engine {

class Acceptance final {
 public:
  class Host {
   public:
    virtual ~Host() = default;
    // Why no message is accepted right now; empty: messages are.
    virtual std::optional<model::Problem> refusal_now() const = 0;
    virtual LiveRun& enter(const model::Run& run, model::Message message, std::string request_id) = 0;
    virtual void store_fell_silent(const Error& why) = 0;
  };
  struct Needs {
    Host& host;
    const LiveRuns& live;
    Admission& admission;
    Recoveries& recoveries;
    RunDuties& duties;
    store::Store& store;
    const StoreClock& clock;
    world::Loop& loop;
    world::IdSource& ids;
    world::Log& log;
    world::Metrics& metrics;
    world::DiskRoom* disk;  // while it is short nothing is begun; null: the disk is not watched
  };
  explicit Acceptance(Needs needs);

  void send(Send send, Callback<void(SendOutcome)> done);

 private:
  void accept(std::shared_ptr<Send> send, Callback<void(SendOutcome)> done);
  journal::NewRun fresh_run(const Send& send, model::RunId run, const Row& first, std::optional<Place> held);
  SendOutcome on_accepted(const Send& send, model::Message message, Duty duty, journal::AcceptOutcome outcome);
  SendOutcome enter(const Send& send, model::Message message, Duty duty, journal::Accepted accepted);
  SendOutcome accepted_too_late(const model::Run& run);
  model::Problem no_room(bool would_wait) const;

  Needs needs_;
  world::Counter& accepted_;
  Lifetime lifetime_;
};

}  // namespace sluice::engine
