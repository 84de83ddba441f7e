// An agent that speaks the Agent Client Protocol, as far as a session "s" and what it says in it.
#pragma once

#include <string>
#include <utility>

#include "harness/dialogue_fixture.h"

namespace sluice::harness::acp_fixture {

using namespace dialogue_fixture;

inline Assignment assignment(std::string agent_type) {
  Assignment assignment;
  assignment.agent_type = std::move(agent_type);
  assignment.prompt = "go";
  assignment.tools = {
      {"host_number", "Gives the host number", R"({"type":"object","properties":{"n":{"type":"integer"}}})"}};
  return assignment;
}

inline Assignment opencode() { return assignment("opencode"); }
inline Assignment grok() { return assignment("grok-build"); }

inline Assignment resuming(Assignment assignment, std::string session_id) {
  assignment.session_id = std::move(session_id);
  return assignment;
}

inline Assignment bridged(Assignment assignment) {
  assignment.bridge_url = "http://127.0.0.1:8080/mcp";
  return assignment;
}

// What an agent prints up to its session "s", with what it says it can.
inline std::string greeting(const std::string& capabilities) {
  return R"({"jsonrpc":"2.0","id":1,"result":{"agentCapabilities":)" + capabilities + "}}\n" +
         R"({"jsonrpc":"2.0","id":2,"result":{"sessionId":"s"}})" + "\n";
}
inline std::string update(const std::string& body) {
  return R"({"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":)" + body + "}}\n";
}
inline std::string tools_known(const std::string& session) {
  return R"({"jsonrpc":"2.0","method":"_x.ai/mcp_initialized","params":{"sessionId":")" + session + "\"}}\n";
}
inline Listener begun(const Assignment& assignment) {
  Listener listener(assignment);
  listener.feed(greeting(R"({"mcpCapabilities":{"http":true}})"));
  listener.feed(tools_known("s"));
  listener.lines.clear();
  listener.sent.clear();
  return listener;
}

inline std::string asked(const std::string& session, const std::string& tool_call) {
  return R"({"jsonrpc":"2.0","id":"q","method":"session/request_permission","params":{"sessionId":")" + session +
         R"(","toolCall":)" + tool_call + R"(,"options":[{"optionId":"yes","kind":"allow_once"}]}})" + "\n";
}

}  // namespace sluice::harness::acp_fixture
