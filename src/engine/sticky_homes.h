// Finds the node on which a sticky conversation has its sandbox: it is where the conversation's last run was. If that
// is another node that lives, it is asked to take the run; and this node takes such runs when it is asked.
//
// Called from the loop's thread. It launches nothing.
#pragma once

#include "base/lifetime.h"
#include "base/task.h"
#include "engine/cluster.h"
#include "engine/mail_words.h"

namespace sluice::engine {

class StickyHomes final {
 public:
  struct Needs {
    const Cluster& cluster;
    Recoveries& recoveries;
    const Admission& admission;
    Postbox& postbox;
    dispatch::Dispatcher& dispatcher;
    store::Store& store;
    world::Loop& loop;
  };
  explicit StickyHomes(Needs needs);

  enum class Home : uint8_t {
    here,       // and no other node may take the run any more
    elsewhere,  // another node has taken it
  };
  Task<Home> find(LiveRun& live);

 private:
  void on_request(const journal::Mail& mail, Postbox::Reply reply);
  void take(const model::Run& run, model::Epoch epoch, Postbox::Reply reply);

  Needs needs_;
  Lifetime lifetime_;
};

}  // namespace sluice::engine
