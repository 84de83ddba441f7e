// Questions to runners that outlive whoever asked: each is asked once, its whole answer told if anybody still cares.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "net/net.h"
#include "world/world.h"

namespace sluice::remote {

struct ErrandAnswer {
  int status = 0;    // 0: none came
  std::string body;  // its beginning
  std::string why;   // for people, when none came
};

class Errands final {
 public:
  Errands(net::Client& client, world::Loop& loop);
  ~Errands();

  // `done` comes once, never from inside; not at all when the Errands go before.
  void send(net::ClientRequest request, Callback<void(ErrandAnswer)> done = nullptr);
  std::size_t under_way() const { return errands_.size(); }

 private:
  class Errand;

  void end(uint64_t number);

  net::Client& client_;
  world::Loop& loop_;
  uint64_t next_ = 0;
  std::map<uint64_t, std::unique_ptr<Errand>> errands_;
};

}  // namespace sluice::remote
