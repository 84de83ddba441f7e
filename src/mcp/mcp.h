// The Model Context Protocol, as a server and as a client: JSON-RPC messages in, JSON-RPC messages out. Pure; whoever
// uses it moves the bytes, over HTTP (Streamable HTTP, one POST a message) or over a program's standard streams (one
// message a line).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "model/model.h"

namespace sluice::mcp {

struct ToolAnswer {
  std::string text;
  bool failed = false;
};

// ── as a server ──
// What a peer asked. Everything but a call is answered by the server itself.
struct Incoming {
  enum class Kind : uint8_t {
    answered,      // `reply` is the answer
    notification,  // nothing is answered
    call,          // of a tool: answer it with reply_to_call()
    cancelled,     // `call_key`: the caller does not wait any more
  };
  Kind kind = Kind::notification;
  std::string reply;     // JSON
  std::string call_key;  // the JSON-RPC id of the call, as JSON
  std::string tool;
  std::string arguments;       // JSON object
  std::string call_id;         // by which the program's own stream names it, if it says so; empty: not known
  std::string progress_token;  // JSON; empty: it wants no progress
};

struct ServerCard {
  std::string name = "sluice";
  std::string version;
  std::string instructions;
};

class Server {
 public:
  Server(ServerCard card, std::vector<model::HostTool> tools);
  // One message (a batch is refused as 2025-06-18 does). What is no JSON-RPC is answered with its error.
  Incoming take(std::string_view message) const;

 private:
  ServerCard card_;
  std::vector<model::HostTool> tools_;
};

std::string reply_to_call(std::string_view call_key, const ToolAnswer& answer);
std::string progress_notice(std::string_view progress_token, int64_t progress, std::string_view words);

// ── as a client ──
// A dialogue with one server: initialize, tools/list (all pages), then calls.
struct Outgoing {
  std::string message;  // JSON
  bool expects_answer = true;
};

struct FromServer {
  enum class Kind : uint8_t {
    ready,   // its tools are known: Client::tools()
    answer,  // of the call `number`
    notice,  // text: progress or a log line of the call `number` (0: of none); json: as it came
    failed,  // it cannot be used: text
    nothing,
  };
  Kind kind = Kind::nothing;
  uint64_t number = 0;
  ToolAnswer result;
  std::string text;
  std::string json;
};

class Client {
 public:
  explicit Client(std::string name);

  // The first message. Then, after each take(): what is to be sent next, until it is empty.
  Outgoing begin();
  std::vector<FromServer> take(std::string_view message);
  std::vector<Outgoing> take_output();
  // The servers' own names, without a prefix.
  const std::vector<model::HostTool>& tools() const { return tools_; }
  // `number` names it from here on.
  Outgoing call(uint64_t number, std::string_view tool, std::string_view arguments);
  Outgoing cancel(uint64_t number);

 private:
  std::string name_;
  std::vector<model::HostTool> tools_;
  std::vector<Outgoing> output_;
  uint64_t next_id_ = 1;
  uint64_t listing_id_ = 0;
  bool is_ready_ = false;
};

// "crm__lookup" for the tool `lookup` of the server `crm`: letters, digits, `_` and `-` only, 64 at most.
std::string joined_name(std::string_view server, std::string_view tool);

}  // namespace sluice::mcp
