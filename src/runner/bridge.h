// The door in a box's own loopback through which what runs in it reaches the host's tools: HTTP on
// 127.0.0.1:3129. There is no token: who knocks is known by the listener.
//
//   POST /mcp   an agent program, as a client of the Model Context Protocol
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "model/model.h"
#include "net/net.h"
#include "runner/bridge_serving.h"
#include "runner/tools.h"
#include "world/world.h"

namespace sluice::runner {

// Of one box, for as long as that lives.
class Bridge {
 public:
  // Why not, when the listener cannot be served.
  static Result<std::unique_ptr<Bridge>> open(const ServeBridge& serve, OwnedFd listener);
  ~Bridge();

  // Requests for `prefix`, and for what lies below it, go to `handler`, until it is taken away; others are answered
  // 404. Not those of a browser in the box, which a page from outside could have sent there (DNS rebinding).
  void use(std::string prefix, net::Handler handler);
  void take_away(std::string_view prefix);

 private:
  friend class McpDoor;
  struct State;
  Bridge();

  const std::shared_ptr<State> state_;  // shared with the server's handler, and watched by doors that may go last
  std::unique_ptr<net::Server> server_;
};

// ── MCP on it ──
struct BridgeCall {
  uint64_t number = 0;
  std::string tool;
  std::string arguments;  // JSON object
  std::string call_id;    // as the program's own stream names it; empty: not known
};

class BridgeUser {
 public:
  virtual ~BridgeUser() = default;
  // Answered by McpDoor::answer(), as late as it takes.
  virtual void on_bridge_call(BridgeCall call) = 0;
  // Nobody waits for it any more.
  virtual void on_bridge_call_left(uint64_t number) = 0;
};

// A call is answered as a stream, which says now and then that it is still there: so a client that gives up on silence
// waits for a human, for days.
class McpDoor {
 public:
  // `loop` and `user` must outlive it; the bridge need not. Dropping it closes what waits. No callback comes from
  // inside.
  McpDoor(world::Loop& loop, Bridge& bridge, std::vector<model::HostTool> tools, BridgeUser& user);
  McpDoor(const McpDoor&) = delete;
  McpDoor& operator=(const McpDoor&) = delete;
  ~McpDoor();

  // Nothing when nobody waits for it any more.
  void answer(uint64_t number, const ToolAnswer& answer);
  // The program is told that it goes on; keeps its patience alive, where it has asked to be told.
  void tell_progress(uint64_t number, std::string_view words);

 private:
  struct State;
  const std::shared_ptr<State> state_;  // watched by what the bridge and the loop call back
  const std::weak_ptr<Bridge::State> bridge_;
};

inline constexpr std::string_view bridge_mcp_url = "http://127.0.0.1:3129/mcp";

}  // namespace sluice::runner
