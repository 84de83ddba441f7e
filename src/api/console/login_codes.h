// One-time codes that open the console, and how often a wrong one may be tried.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>

#include "world/world.h"

namespace sluice::api::console {

// In memory, as hashes: a restart forgets them.
class LoginCodes final {
 public:
  static constexpr int64_t good_us = int64_t{3600} * 1'000'000;
  static constexpr std::size_t count_max = 16;  // of more the oldest are forgotten

  LoginCodes(world::Loop& loop, world::Entropy& entropy) : loop_(loop), entropy_(entropy) {}

  std::string make();
  // Is it good? From now on it is not.
  bool spend(std::string_view code);

 private:
  struct Kept {
    std::string sha256;
    int64_t until_us;
  };

  world::Loop& loop_;
  world::Entropy& entropy_;
  std::deque<Kept> kept_;
};

// Wrong tries to log in, within the minute. Keys and codes cannot be guessed; this keeps those who try from
// keeping us busy.
class WrongTries final {
 public:
  static constexpr int of_peer_max = 5;
  static constexpr int in_all_max = 50;
  static constexpr int64_t span_us = 60'000'000;

  explicit WrongTries(world::Loop& loop) : loop_(loop) {}

  // Seconds until this peer may try again; 0: now.
  int64_t wait_seconds(const std::string& peer);
  void add(const std::string& peer);

 private:
  void forget_old();

  world::Loop& loop_;
  int64_t began_us_ = 0;
  int in_all_ = 0;
  std::unordered_map<std::string, int> of_peer_;
};

}  // namespace sluice::api::console
