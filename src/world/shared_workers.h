// Threads that several parties share: tenants, as a rule. Parties take turns, and none has more than a part of the
// threads, because a job cannot be interrupted: copying 150,000 files of one tenant's sandbox takes seconds, and the
// copy of another tenant's three files must not wait for it. Called from the loop's thread.
//
// What one party has waiting has no bound here: a run waits for each of its jobs before it asks for the next one, and
// the API looks at waiting() before it asks.
#pragma once

#include <map>
#include <memory>

#include "base/ids.h"
#include "base/turns.h"
#include "world/world.h"

namespace sluice::world {

class SharedWorkers final {
 public:
  struct Options {
    int at_once_max = 8;   // jobs on the pool: as many as it has threads
    int of_party_max = 2;  // of them, of one party
  };

  // `pool` must outlive this, and no other code should use it.
  SharedWorkers(Workers& pool, Options options);
  ~SharedWorkers();
  SharedWorkers(const SharedWorkers&) = delete;
  SharedWorkers& operator=(const SharedWorkers&) = delete;

  // For the jobs of that party; all zero: the server's own. Good as long as this lives, so parties are few: tenants.
  Workers& of(const Ulid& party);
  // Jobs of the party that are not begun.
  std::size_t waiting(const Ulid& party) const { return waiting_.waiting_in(party); }

 private:
  class Line;
  struct Job {
    Callback<void()> work;
    Callback<void()> then;
  };

  void run(const Ulid& party, Job job);
  void begin_some();
  void begin(const Ulid& party, Job job);
  void on_done(const Ulid& party);

  Workers& pool_;
  const Options options_;
  std::map<Ulid, std::unique_ptr<Line>> lines_;
  Turns<Ulid, Job> waiting_;
  std::map<Ulid, int> at_work_of_;  // none is 0
  int at_work_ = 0;
  std::shared_ptr<const bool> here_ = std::make_shared<bool>(true);  // a job may come back after this is gone
};

}  // namespace sluice::world
