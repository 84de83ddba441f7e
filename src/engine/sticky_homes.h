// Finds the node on which a sticky conversation has its sandbox: it is where the conversation's last run was. If that
// is another node that lives, it is asked to take the run; and this node takes such runs when it is asked.
//
// Called from the loop's thread. It launches nothing: a run that stays here is given back to the caller.
#pragma once

#include "base/lifetime.h"
#include "engine/cluster.h"
#include "engine/mail_words.h"
#include "engine/retries.h"

namespace sluice::engine {

class StickyHomes final {
 public:
  using Here = Callback<void(LiveRun&)>;
  class Host {
   public:
    virtual ~Host() = default;
    virtual void lose_to_other(LiveRun& run, const Error& why) = 0;
  };
  struct Needs {
    Host& host;
    const Cluster& cluster;
    Recoveries& recoveries;
    const Admission& admission;
    Retries& retries;
    Postbox& postbox;
    dispatch::Dispatcher& dispatcher;
    store::Store& store;
  };
  explicit StickyHomes(Needs needs);

  // `here` is called if the run stays on this node, and not at all if another node takes it or it is cancelled.
  void find(LiveRun& live, Here here);

 private:
  void on_last_runs(LiveRun& live, const Result<store::Page<model::Run>>& page, Here here);
  void ask(LiveRun& live, model::NodeId home, Here here);
  // No node took the run, and none may any more.
  void stay(LiveRun& live, Here here);
  void answer(const journal::Mail& mail, Postbox::Reply reply);
  void take(const model::Run& run, model::Epoch epoch, Postbox::Reply reply);

  Needs needs_;
  Lifetime lifetime_;
};

}  // namespace sluice::engine
