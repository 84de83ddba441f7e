// What the visits through one outlet share: whose they are, what that guest may do, and who is told.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "egress/egress.h"
#include "egress/house.h"
#include "egress/passage_report.h"
#include "egress/pool.h"
#include "egress/substitution.h"
#include "egress/workspace_door.h"

namespace sluice::egress {

// Waits for the answer to a question.
class Waiter {
 public:
  virtual ~Waiter() = default;
  virtual void on_settled(bool go_on, std::string_view words) = 0;
};

class Premises final {
 public:
  explicit Premises(std::shared_ptr<House> house);
  ~Premises() { static_cast<void>(take_sums()); }  // the log hears of what was not reported
  Premises(const Premises&) = delete;
  Premises& operator=(const Premises&) = delete;

  House& house() { return *house_; }
  Pool& pool() { return pool_; }
  Asker asker() const { return {guest_ ? guest_->tenant : std::string(), this}; }

  void hold(bool held);
  bool is_held() const { return held_; }
  // A clock that stands still while they are held.
  int64_t now_us() const { return (held_ ? held_from_us_ : house_->reactor.monotonic_us()) - held_us_; }

  void welcome(Guest guest, OutletListener& listener);
  void see_off();

  // ── what the guest may do ──
  struct Ruling {
    model::Effect effect = model::Effect::deny;
    std::string reason;  // ask: of the rule. deny: the words for the box
  };
  Ruling rule_on(const Destination& to) const;
  // Why no plain request, or no tunnel that is not looked into, may lead to this port, although the host is not denied;
  // empty: it may.
  std::string refusal_of_port(const Destination& to, bool by_tunnel) const;
  // Where the workspace's API is, once it may be reached. From then on its bearer is scrubbed like a secret.
  const Forwarding& workspace_door();
  // Could a secret be sent there, so that the connection must be looked into?
  bool takes_secrets(const Destination& to) const;
  Verdict judge(std::string_view alias, model::SecretPlace place, const Destination& to) const;
  // Null: there is nothing to look for.
  std::shared_ptr<const vault::Scrubber> scrubber() const;

  // ── questions ──
  static constexpr std::size_t questions_max = 64;  // open at once
  // Those who wait for the same thing wait for one answer. A question stays open when they have left, until it is
  // settled, for the listener has it: who comes again waits for the same answer. Returns why it cannot be asked; empty:
  // it is.
  [[nodiscard]] std::string ask(Question question, Waiter& waiter);
  void forget(const Waiter& waiter);
  void settle(uint64_t number, bool go_on, std::string_view words);

  // ── what is told ──
  void tell(Passage passage);
  // What was told and has not been heard yet, sums included; nobody will hear it after this.
  std::vector<Passage> take_untold();
  // Into the figures. False: the passage is part of a sum, and not reported by itself.
  bool count(const Passage& passage);
  void note_refusal();
  // How long the guest's next request waits, because too many before it were refused or failed, or until it is asked
  // again whether they are still held; 0: not at all.
  int64_t pause_ms() const;
  void count_sent_for_good() { ++sent_for_good_; }
  int64_t sent_for_good() const { return sent_for_good_; }

 private:
  Ruling rule_on_workspace(const Destination& to) const;
  void report(Passage passage);
  void report_sums();
  std::vector<Passage> take_sums();

  struct Asked {
    std::string host;
    std::string alias;
    std::vector<Waiter*> waiters;
  };

  bool held_ = false;
  int64_t held_from_us_ = 0;
  int64_t held_us_ = 0;           // altogether, before that
  std::shared_ptr<House> house_;  // shared with the Egress and its other outlets, whoever goes last
  Pool pool_;
  std::optional<Guest> guest_;
  std::optional<Forwarding> workspace_door_;
  bool scrubs_bearer_ = false;
  struct Ear {
    OutletListener* listener = nullptr;
    std::deque<Passage> passages;  // on their way
  };
  std::shared_ptr<Ear> ear_;           // news on its way to a listener that was seen off finds it gone
  std::set<std::string> let_through_;  // hosts that a human allowed this guest
  std::map<uint64_t, Asked> questions_;
  uint64_t last_number_ = 0;
  int64_t sent_for_good_ = 0;
  PassageReport passages_;
  world::Timer sum_timer_;
  bool sums_are_due_ = false;
  int64_t refusals_until_us_ = 0;  // when as many refusals as there were would have been due
};

}  // namespace sluice::egress
