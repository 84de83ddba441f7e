// Short requests to runners that outlive the objects that sent them. Each is sent once. Used on the loop's thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "net/net.h"
#include "world/world.h"

namespace sluice::remote {

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

}  // namespace sluice::remote
