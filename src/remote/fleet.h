// The configured runners and how they are: each is asked every two seconds how much more it can take.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "remote/runner_choice.h"
#include "remote/runner_requests.h"
#include "world/world.h"

namespace sluice::remote {

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
