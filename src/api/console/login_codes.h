// One-time codes that open the console.
#pragma once

#include <deque>
#include <string>
#include <string_view>

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

}  // namespace sluice::api::console
