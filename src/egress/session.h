// What the connections of one sandbox share: the run they belong to, what it may reach, the questions to humans that
// are open, and the listener that receives records. Used on the loop's thread only. It moves no bytes: connection.h,
// exchange.h and tunnel.h do.
#pragma once

#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/lifetime.h"
#include "egress/destination.h"
#include "egress/egress.h"
#include "egress/request_report.h"
#include "egress/shared_state.h"
#include "egress/stream.h"
#include "egress/substitution.h"
#include "egress/workspace_api.h"
#include "world/world.h"

namespace sluice::egress {

// Idle upstream connections that the next request may use. Each session has its own pool, so that what an upstream
// server associates with a connection never applies to another run.
class Pool final {
 public:
  explicit Pool(world::Reactor& reactor) : reactor_(reactor) {}

  // Null if none is idle.
  std::unique_ptr<Stream> take(const Destination& to);
  void put(const Destination& to, std::unique_ptr<Stream> stream);
  void clear() { idle_.clear(); }

 private:
  static constexpr std::size_t count_max = 16;
  static constexpr int64_t idle_ms_max = 30'000;  // most servers wait longer

  struct Idle {
    uint64_t number = 0;
    Destination to;
    std::unique_ptr<Stream> stream;
    world::Timer timer;
  };
  void drop(uint64_t number);

  world::Reactor& reactor_;
  std::list<Idle> idle_;  // least recently used first
  uint64_t last_number_ = 0;
};

// Waits for the answer to a question.
class Waiter {
 public:
  virtual ~Waiter() = default;
  virtual void on_settled(bool go_on, std::string_view words) = 0;
};

class Session final {
 public:
  explicit Session(std::shared_ptr<SharedState> shared);
  ~Session() { static_cast<void>(take_sums()); }  // sums that were not reported go to the log
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  SharedState& shared() { return *shared_; }
  Pool& pool() { return pool_; }
  Requester requester() const { return {access_ ? access_->tenant : std::string(), this}; }

  void hold(bool held);
  bool is_held() const { return held_; }
  // A clock that stands still while the session is held.
  int64_t now_us() const { return (held_ ? held_from_us_ : shared_->reactor.monotonic_us()) - held_us_; }

  void begin(RunAccess access, SandboxProxyListener& listener);
  void end();

  // ── what the run may do ──
  struct Ruling {
    model::Effect effect = model::Effect::deny;
    std::string reason;  // of the rule that asks; or the words that the sandbox gets when the request is denied
  };
  Ruling rule_on(const Destination& to) const;
  // The reason why a plain request, or a tunnel that is not decrypted, may not lead to this port although the host is
  // allowed; empty: it may.
  std::string refusal_of_port(const Destination& to, bool by_tunnel) const;
  // Where the workspace's API is. From this call on its bearer is scrubbed like a secret. Requires that the run has
  // one.
  const Forwarding& workspace_api();
  // True if a secret could be sent there, so that the connection must be decrypted.
  bool takes_secrets(const Destination& to) const;
  Verdict judge(std::string_view alias, model::SecretPlace place, const Destination& to) const;
  // Null if no secret has to be scrubbed.
  std::shared_ptr<const vault::Scrubber> scrubber() const;

  // ── questions ──
  static constexpr std::size_t questions_max = 64;  // open at once
  // All waiters for the same host and alias share one question. It stays open after they have left, until it is
  // settled, because the listener has it; a request that is repeated waits for the same answer. Returns the reason why
  // the question cannot be asked; empty if it was.
  [[nodiscard]] std::string ask(Question question, Waiter& waiter);
  void forget(const Waiter& waiter);
  void settle(uint64_t number, bool go_on, std::string_view words);

  // ── records ──
  void report(RequestRecord record);
  // The records, sums included, that the listener has not received yet. It does not receive them after this.
  std::vector<RequestRecord> take_unreported();
  // Adds the record to the metrics. False: it is part of a sum and not reported by itself.
  bool count(const RequestRecord& record);
  void note_refusal();
  // How long the next request must wait before this is called again, because the session is held or because too many
  // requests were refused or failed; 0: not at all.
  int64_t pause_ms() const;
  void count_sent_for_good() { ++sent_for_good_; }
  int64_t sent_for_good() const { return sent_for_good_; }

 private:
  Ruling rule_on_workspace(const Destination& to) const;
  void deliver(RequestRecord record);
  void deliver_sums();
  std::vector<RequestRecord> take_sums();

  struct OpenQuestion {
    std::string host;
    std::string alias;
    std::vector<Waiter*> waiters;
  };

  bool held_ = false;
  int64_t held_from_us_ = 0;
  int64_t held_us_ = 0;  // in total, before held_from_us_
  std::shared_ptr<SharedState>
      shared_;  // shared with the Egress and its other proxies, because any of them may be destroyed last
  Pool pool_;
  std::optional<RunAccess> access_;
  std::optional<Forwarding> workspace_api_;
  bool scrubs_bearer_ = false;
  SandboxProxyListener* listener_ = nullptr;  // null: no run is served
  std::deque<RequestRecord> unreported_;      // not delivered yet
  std::set<std::string> let_through_;         // hosts that a human allowed for this run
  std::map<uint64_t, OpenQuestion> questions_;
  uint64_t last_number_ = 0;
  int64_t sent_for_good_ = 0;
  RequestReport report_;
  world::Timer sum_timer_;
  bool sums_are_due_ = false;
  int64_t refusals_until_us_ = 0;  // when the refusals so far would be paid off at refusals_per_second
  Lifetime run_lifetime_;  // begins anew with each run, so that what was deferred for one does not reach the next
};

}  // namespace sluice::egress
