// The run's tools as a server of the Model Context Protocol, for programs in the sandbox: POST /mcp on the bridge.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "model/model.h"
#include "runs/runs.h"
#include "sessions/sessions.h"
#include "world/world.h"

namespace sluice::tools {

struct BridgeCall {
  uint64_t number = 0;
  std::string tool;
  std::string arguments;  // JSON object
  std::string call_id;    // as the program's own stream names it; empty: not known
};

class BridgeUser {
 public:
  virtual ~BridgeUser() = default;
  // Answered by McpEndpoint::answer(), as late as it takes.
  virtual void on_bridge_call(BridgeCall call) = 0;
  // The program waits for it no more.
  virtual void on_bridge_call_left(uint64_t number) = 0;
};

// A call is answered as a stream, which says now and then that it is still there: so a client that gives up on silence
// waits for a human, for days.
class McpEndpoint {
 public:
  // `loop` and `user` must outlive it; the bridge need not. Dropping it closes what waits. No callback comes from
  // inside.
  McpEndpoint(world::Loop& loop, sessions::Bridge& bridge, std::vector<model::HostTool> tools, BridgeUser& user);
  McpEndpoint(const McpEndpoint&) = delete;
  McpEndpoint& operator=(const McpEndpoint&) = delete;
  ~McpEndpoint();

  // Nothing when the program waits for it no more.
  void answer(uint64_t number, const runs::ToolAnswer& answer);
  // Tells the program that the call is under way; keeps its patience alive, where it has asked for it.
  void report_progress(uint64_t number, std::string_view words);

 private:
  struct State;
  const std::shared_ptr<State> state_;  // watched by what the bridge and the loop call back
  const std::unique_ptr<sessions::Bridge::Route> route_;
};

}  // namespace sluice::tools
