// The Model Context Protocol, as a server and as a client: JSON-RPC messages in, JSON-RPC messages out. Pure; the
// caller uses it moves the bytes, over HTTP (Streamable HTTP, one POST a message) or over a program's standard streams
// (one message a line), and bounds how long a message may be.
//
// Not its business: sessions of HTTP, who may call what, how long an answer may take.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "model/model.h"

namespace sluice::mcp {

// The newest version of the protocol that is spoken here; older ones are answered in kind.
inline constexpr std::string_view newest_version = "2025-11-25";

inline constexpr std::size_t tools_max = 512;                     // of one server: more than any model can read
inline constexpr std::size_t pages_max = 64;                      // a list whose cursor never ends
inline constexpr std::size_t schema_bytes_max = 64 * 1024;        // of one tool; a larger one is left out
inline constexpr std::size_t description_bytes_max = 16 * 1024;   // what is longer is cut
inline constexpr std::size_t answer_bytes_max = 4 * 1024 * 1024;  // of text; what is longer is cut
inline constexpr std::size_t notice_bytes_max = 16 * 1024;        // a longer one is cut, and passed on without its JSON
inline constexpr std::size_t refusals_max = 64;  // answers to a server's own requests, waiting to be sent
inline constexpr int list_changes_max = 100;     // of a server's tools in one dialogue: later ones are not heard

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
    call,          // of a tool that is offered: answer it with reply_to_call()
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
  std::string version = "1";
  std::string instructions;  // empty: none
};

class Server {
 public:
  Server(ServerCard card, std::vector<model::HostTool> tools);
  // One message (a batch is refused as 2025-06-18 does). What is no JSON-RPC is answered with its error.
  Incoming take(std::string_view message) const;

 private:
  Incoming answer(std::string_view method, std::string id, json::Value params) const;
  Incoming begin_call(std::string id, json::Value params) const;
  std::string greeting(json::Value params) const;

  ServerCard card_;
  std::vector<model::HostTool> tools_;
  std::string listing_;  // the answer to tools/list
};

// Both texts must be UTF-8.
std::string reply_to_call(std::string_view call_key, const ToolAnswer& answer);
std::string progress_notice(std::string_view progress_token, int64_t progress, std::string_view words);

// ── as a client ──
// A dialogue with one server: initialize, tools/list (all pages), then calls.
struct Outgoing {
  std::string message;  // JSON
  bool expects_answer = true;
};

// Confirms a greeting, for a caller that begins a session of HTTP again.
std::string initialized_notice();

struct FromServer {
  enum class Kind : uint8_t {
    ready,   // its tools are known: Client::tools()
    listed,  // they were listed anew, or could not be
    answer,  // of the call `number`
    notice,  // text: progress of the call `number`, or a log line (number 0); json: its parameters as they came
    failed,  // it cannot be used: text. The last that is heard.
  };
  Kind kind = Kind::notice;
  uint64_t number = 0;
  ToolAnswer result;
  std::string text;
  std::string json;
  std::string level;  // of a log line, as the server named it
};

// Tools that are being listed, page by page.
struct ToolListing {
  uint64_t id = 0;  // of the page that is waited for
  std::size_t page_count = 0;
  std::vector<model::HostTool> tools;
};

class Client {
 public:
  // `version`: of this program.
  explicit Client(std::string name, std::string version = "1");

  // The first message. Then, after each take(): what is to be sent next, until it is empty. Tools that change later are
  // listed anew.
  Outgoing begin();
  // One message of the server's, or a batch of them. What is no message is a notice: programs print banners.
  std::vector<FromServer> take(std::string_view message);
  std::vector<Outgoing> take_output();
  // The server's own names, without a prefix.
  const std::vector<model::HostTool>& tools() const { return tools_; }
  bool has_resources() const { return has_resources_; }
  // The tools are being listed anew.
  bool is_listing() const { return stage_ == Stage::ready && listing_.has_value(); }
  // They stay as they were: the server does not answer.
  std::vector<FromServer> give_up_listing(std::string_view why);
  // As agreed; empty before. For the header MCP-Protocol-Version.
  const std::string& protocol_version() const { return protocol_version_; }
  // Once it is ready. `number` names it from here on, and must not be that of a call under way; `arguments`: a JSON
  // object.
  Outgoing call(uint64_t number, std::string_view tool, std::string_view arguments);
  // Of a resource: answered as a call is.
  Outgoing read(uint64_t number, std::string_view uri);
  // Nothing is heard of it any more.
  Outgoing cancel(uint64_t number);

 private:
  enum class Stage : uint8_t { greeting, listing, ready, failed };

  void take_one(json::Value message, std::vector<FromServer>& events);
  void take_response(uint64_t id, json::Value message, std::vector<FromServer>& events);
  void take_greeting(json::Value message, std::vector<FromServer>& events);
  void take_page(json::Value message, std::vector<FromServer>& events);
  void take_notification(std::string_view method, json::Value params, std::vector<FromServer>& events);
  void take_request(std::string_view method, json::Value id, json::Value params);
  void take_tool(json::Value tool);
  void list_tools();
  void ask_page(std::string_view cursor);
  void give_up_listing(std::string_view why, std::vector<FromServer>& events);
  void end_listing(std::vector<FromServer>& events);
  void hear_list_changed();
  void fail(std::string words, std::vector<FromServer>& events);

  const std::string name_;
  const std::string version_;
  std::string protocol_version_;
  std::vector<model::HostTool> tools_;
  std::vector<Outgoing> output_;
  Stage stage_ = Stage::greeting;
  uint64_t last_id_ = 0;
  uint64_t greeting_id_ = 0;
  std::optional<ToolListing> listing_;  // under way
  bool is_list_stale_ = false;          // it changed while it was being listed
  int change_count_ = 0;
  bool has_resources_ = false;
  std::map<uint64_t, uint64_t> calls_;  // id to number
};

// "crm__lookup" for the tool `lookup` of the server `crm`: letters, digits, `_` and `-` only, a letter first, 64 at
// most. What is longer is cut and gets a digest, so that names stay distinct.
std::string joined_name(std::string_view server, std::string_view tool);

}  // namespace sluice::mcp
