// Servers that share one store: which are alive, which capacity each has, and the requests between them.
//
// A run is carried by one node (Run::node), which is why most requests concern one node only. The others read its
// journal, ask its node by mail, or, when its node is dead, take it over (Journal::take_over): the epoch decides, never
// the list of live nodes. Each node measures how long others are silent, by a clock that never jumps, so no two
// clocks need agree.
//
// A store that only one server can use has one node: its list is that node, and it writes nothing.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/callback.h"
#include "base/result.h"
#include "model/model.h"

namespace sluice::journal {

// Takes the result of an operation, on the loop's thread.
template <typename T>
using Done = Callback<void(Result<T>)>;

// What a node reports of itself with each heartbeat.
struct NodeFigures {
  std::string name;  // for people; its host, as a rule
  std::string version;
  bool draining = false;  // it stops: other nodes take over the runs that it releases
  int64_t slots = 0;
  int64_t free_slots = 0;
  int64_t warm = 0;
  int64_t sticky = 0;
  int64_t running = 0;
  int64_t held = 0;
  int64_t parked = 0;
  bool operator==(const NodeFigures&) const = default;
};

struct SeenNode {
  model::NodeId id;
  Timestamp started_at;
  int64_t silent_ms = 0;  // since the asking node last saw a heartbeat of it
  NodeFigures figures;
};

// A request to the node that carries the run, now or after the next takeover; or to one node.
struct Mail {
  model::MailId id;
  model::NodeId from;               // the store's to set
  std::optional<model::RunId> run;  // one of these two
  std::optional<model::NodeId> to;
  std::string kind;  // the engine's words
  std::string body;
};

struct MailAnswer {
  model::MailId id;
  std::string body;
};

// A run that waits for a slot.
struct HeldRun {
  model::RunId run;
  model::Epoch epoch;
  bool operator==(const HeldRun&) const = default;
};

// The runs of one tenant that wait on other nodes and may be claimed.
struct HeldElsewhere {
  model::TenantId tenant;
  model::TenantLimits limits;  // its weight and max_running, none of the others
  int64_t count = 0;
  int64_t overdue = 0;          // the first so many of `oldest` came `overdue_ms` before any of it that waits here
  std::vector<HeldRun> oldest;  // oldest first; not all of them when there are many
};
// How many runs one answer names: of one tenant, and of all of them.
inline constexpr std::size_t held_of_tenant_max = 32;
inline constexpr std::size_t held_listed_max = 256;
// The servers' wall clocks say when a run came, so less is no difference.
inline constexpr int64_t overdue_ms = 5'000;

// How long a wish to hear of a run's journal holds.
inline constexpr int64_t follow_ms = 5'000;

// What other nodes did, as soon as it is known; any of it may be lost, so whoever cares also looks now and then.
class NodeNews {
 public:
  virtual ~NodeNews() = default;
  // Another node wrote to its journal, which this one follows, or took it over.
  virtual void on_moved(model::RunId run) = 0;
  // There may be mail for this node, or an answer.
  virtual void on_mail() = 0;
  // A run began to wait for a slot.
  virtual void on_held() = 0;
  // News may have been missed.
  virtual void on_unsure() = 0;
};

class Nodes {
 public:
  virtual ~Nodes() = default;

  // The one whose store this is.
  virtual model::NodeId self() const = 0;
  // It lives. The first beat enters it into the list; the answer is the list, itself included, without those who were
  // silent for longer than `forget_ms` and carry nothing.
  virtual void beat(NodeFigures figures, int64_t forget_ms, Done<std::vector<SeenNode>> done) = 0;
  // It stops for good: it is out of the list at once, so nobody waits for its silence.
  virtual void leave(Done<Unit> done) = 0;
  // Something that all nodes must have in common (the digest of a key, as a rule): the first one's word is kept and is
  // the answer to all. Only a node that has beaten, and is the only one in ten seconds, changes it by another word.
  virtual void agree(std::string name, std::string value, Done<std::string> done) = 0;
  // Nothing when it is empty. Called from the loop's thread.
  virtual void tell(NodeNews* news) = 0;
  // Somebody reads these here while others write them: for `follow_ms` their journals' growth is news to this node. A
  // hint, like the news; who writes what nobody follows tells nobody.
  virtual void follow(std::vector<model::RunId> runs) = 0;

  virtual void post(Mail mail, Done<Unit> done) = 0;
  // What is to be answered by this node, oldest first; each is given until it is answered.
  virtual void inbox(Done<std::vector<Mail>> done) = 0;
  // `not_found` when whoever asked does not wait any more.
  virtual void answer(model::MailId id, std::string body, Done<Unit> done) = 0;
  // To what this node asked. Each is given once.
  virtual void answers(Done<std::vector<MailAnswer>> done) = 0;
  // It does not wait any more.
  virtual void withdraw(model::MailId id, Done<Unit> done) = 0;

  // The runs that wait for a slot on other nodes and may move, by tenant. A run that the node has which accepted it may
  // always move. One that has moved before may move again only while its node cannot begin it, as far as that node has
  // said: it has no free slot, or as many runs of the tenant at work as the tenant may have. So two nodes with room do
  // not take a run from each other. When there are more runs than one answer names, each tenant has its share of them.
  virtual void held_elsewhere(Done<std::vector<HeldElsewhere>> done) = 0;
  // Takes over those of these runs that still wait on another node at that epoch; the answer has no others, and the
  // oldest is its first.
  virtual void claim(std::vector<HeldRun> wanted, Done<std::vector<model::Run>> done) = 0;

  // It is dead: what it locks in the store, if it froze rather than died, is let go.
  virtual void end_sessions(model::NodeId /*dead*/) {}
};

}  // namespace sluice::journal
