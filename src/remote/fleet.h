// The configured runners and how they are: each is asked every two seconds how much more it can take.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "net/net.h"
#include "world/world.h"

namespace sluice::remote {

// ── short requests to runners, which outlive the objects that sent them; each is sent once ──

struct RunnerAnswer {
  int status = 0;    // 0: there was no answer
  std::string body;  // the beginning of the body
  std::string why;   // why there was no answer, for people
};

class RunnerRequests final {
 public:
  RunnerRequests(net::Client& client, world::Loop& loop);
  ~RunnerRequests();

  // Calls `done` once and never from inside; not at all if this object is destroyed before.
  void send(net::ClientRequest request, Callback<void(RunnerAnswer)> done = nullptr);
  std::size_t under_way() const { return requests_.size(); }

 private:
  class Request;

  void end(uint64_t number);

  net::Client& client_;
  world::Loop& loop_;
  uint64_t next_ = 0;
  std::map<uint64_t, std::unique_ptr<Request>> requests_;
};

// ── which runner gets the next run: the one with most free slots, of equals the next in turn; no I/O ──

enum class Health : uint8_t {
  unknown,   // not asked yet, or it does not say how much it can take
  well,      // `free` counts
  draining,  // takes no more
  dead,      // did not answer
};

struct RunnerState {
  Health health = Health::unknown;
  int64_t free = 0;         // slots, as far as is known
  bool unsuitable = false;  // refused this very run before
};

// Those with free slots come first, then those of which nothing is known. `turn` is where equals begin to be looked at.
// Empty if no runner can take it now.
std::optional<std::size_t> choose_runner(std::span<const RunnerState> runners, std::size_t turn);

class Fleet final {
 public:
  Fleet(std::vector<std::string> urls, RunnerRequests& requests, world::Loop& loop, world::Log& log,
        world::Metrics& metrics);

  // The runner for a run that `unsuitable` ones have refused for good; it is counted as given. Empty: none now.
  std::optional<std::string> take(const std::set<std::string>& unsuitable);
  // The run that it was taken for is over there.
  void give_back(const std::string& url);
  // It did not answer: it gets no dispatch until it does.
  void note_dead(const std::string& url, std::string_view why);
  // It has no slot, whatever it said before.
  void note_full(const std::string& url);

  std::size_t size() const { return members_.size(); }
  // Whether all have refused it.
  bool is_unsuitable(const std::set<std::string>& unsuitable) const;

 private:
  struct Member {
    std::string url;
    RunnerState state;
    bool asked = false;  // and has not answered yet
    world::Gauge& free;
  };

  Member* find(const std::string& url);
  void check_all();
  void check(Member& member);
  void take_line(Member& member, const RunnerAnswer& answer);
  void change(Member& member, RunnerState state, std::string_view why);

  RunnerRequests& requests_;
  world::Loop& loop_;
  world::Log& log_;
  world::Gauge& alive_;
  std::vector<Member> members_;
  std::size_t turn_ = 0;
  world::Timer next_;
};

}  // namespace sluice::remote
