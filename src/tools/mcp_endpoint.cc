#include "tools/mcp_endpoint.h"

#include <map>
#include <utility>

#include "mcp/mcp.h"

namespace sluice::tools {
namespace {

constexpr std::string_view mcp_path = "/mcp";
constexpr Millis quiet_max = {15'000};    // clients take a minute of silence for a broken connection
constexpr std::size_t waiting_max = 128;  // calls at once: a program that never waits for one
constexpr std::string_view keep_alive = ": keep-alive\n\n";

void say(net::Exchange& exchange, std::string text) {
  exchange.write(std::make_shared<const std::string>(std::move(text)));
}

std::string event_of(std::string_view message) { return "event: message\ndata: " + std::string(message) + "\n\n"; }

void answer_json(net::Exchange& exchange, std::string body) {
  exchange.respond({.headers = {{"Content-Type", "application/json"}}, .body = std::move(body)});
}

bool takes_events(const net::Request& request) {
  return request.headers.find("Accept").value_or("").find("text/event-stream") != std::string_view::npos;
}

}  // namespace

struct McpEndpoint::State : std::enable_shared_from_this<State> {
  struct Waiting {
    std::shared_ptr<net::Exchange> exchange;  // shared with its connection
    std::string key;
    std::string progress_token;
    bool is_stream = false;
    bool is_reported = false;  // to the user
    int64_t progress = 0;
    world::Timer quiet;
  };

  State(world::Loop& its_loop, std::vector<model::HostTool> tools, BridgeUser& its_user)
      : loop(its_loop), user(its_user), server({}, std::move(tools)) {}

  void take(const std::shared_ptr<net::Exchange>& exchange) {
    const auto& request = exchange->request();
    if (request.method == "DELETE") return exchange->respond({});  // of a session, of which there are none
    if (request.method != "POST") {
      return exchange->respond({.status = 405, .headers = {{"Allow", "POST, DELETE"}}});
    }
    auto incoming = server.take(request.body);
    switch (incoming.kind) {
      case mcp::Incoming::Kind::answered: return answer_json(*exchange, std::move(incoming.reply));
      case mcp::Incoming::Kind::call: return begin(exchange, std::move(incoming));
      case mcp::Incoming::Kind::cancelled: cancel(incoming.call_key); break;
      case mcp::Incoming::Kind::notification: break;
    }
    exchange->respond({.status = 202});
  }

  void begin(const std::shared_ptr<net::Exchange>& exchange, mcp::Incoming incoming) {
    if (waiting.size() >= waiting_max) {
      return answer_json(*exchange, mcp::reply_to_call(incoming.call_key, {.text = "Too many calls are under way: wait "
                                                                                   "for one of them, then call again.",
                                                                           .failed = true}));
    }
    const auto number = ++last_number;
    auto& its = waiting[number];
    its = {.exchange = exchange,
           .key = std::move(incoming.call_key),
           .progress_token = std::move(incoming.progress_token),
           .is_stream = takes_events(exchange->request())};
    exchange->on_gone([weak = weak_from_this(), number] {
      if (const auto state = weak.lock()) state->leave(number);
    });
    if (its.is_stream) {
      exchange->start(200, {{"Content-Type", "text/event-stream"}, {"Cache-Control", "no-store"}});
      say(*exchange, std::string(keep_alive));
      watch_quiet(number);
    }
    exchange->leave_at_half_close();  // it may be gone already
    emit(number, {.number = number,
                  .tool = std::move(incoming.tool),
                  .arguments = std::move(incoming.arguments),
                  .call_id = std::move(incoming.call_id)});
  }

  // Not from inside the connection, which the user may end. Nothing when the caller has left by then.
  void emit(uint64_t number, BridgeCall call) {
    loop.defer([weak = weak_from_this(), number, call = std::move(call)]() mutable {
      const auto state = weak.lock();
      const auto found = state ? state->waiting.find(number) : Calls::iterator();
      if (!state || found == state->waiting.end()) return;
      found->second.is_reported = true;
      state->user.on_bridge_call(std::move(call));
    });
  }

  void leave(uint64_t number) {
    const auto found = waiting.find(number);
    if (found == waiting.end()) return;
    const bool is_reported = found->second.is_reported;
    waiting.erase(found);
    if (!is_reported) return;
    loop.defer([weak = weak_from_this(), number] {
      if (const auto state = weak.lock()) state->user.on_bridge_call_left(number);
    });
  }

  // Ids are each client's own: where two wait under the same one, it is not known whose is meant.
  void cancel(std::string_view key) {
    uint64_t number = 0;
    for (const auto& [its_number, its] : waiting) {
      if (its.key != key) continue;
      if (number != 0) return;
      number = its_number;
    }
    if (number == 0) return;
    close(waiting[number]);
    leave(number);
  }

  void watch_quiet(uint64_t number) {
    waiting[number].quiet = loop.after(quiet_max, [this, number] {
      // Clients that ask for progress take it as a reason to wait on, and a comment as none.
      if (waiting[number].progress_token.empty()) {
        say(*waiting[number].exchange, std::string(keep_alive));
      } else {
        report_progress(waiting[number], "");
      }
      watch_quiet(number);
    });
  }

  static void report_progress(Waiting& its, std::string_view words) {
    say(*its.exchange, event_of(mcp::progress_notice(its.progress_token, ++its.progress, words)));
  }

  static void close(Waiting& its) {
    its.exchange->on_gone(nullptr);
    if (its.is_stream) return its.exchange->finish();
    its.exchange->respond({.status = 503});
  }

  using Calls = std::map<uint64_t, Waiting>;

  world::Loop& loop;
  BridgeUser& user;
  const mcp::Server server;
  Calls waiting;
  uint64_t last_number = 0;
};

McpEndpoint::McpEndpoint(world::Loop& loop, sessions::Bridge& bridge, std::vector<model::HostTool> tools,
                         BridgeUser& user)
    : state_(std::make_shared<State>(loop, std::move(tools), user)),
      route_(bridge.serve(std::string(mcp_path),
                          [weak = std::weak_ptr(state_)](const std::shared_ptr<net::Exchange>& exchange) {
                            if (const auto state = weak.lock()) return state->take(exchange);
                            exchange->respond({.status = 503});
                          })) {}

McpEndpoint::~McpEndpoint() {
  for (auto& [number, its] : std::exchange(state_->waiting, {})) State::close(its);
}

void McpEndpoint::answer(uint64_t number, const runs::ToolAnswer& answer) {
  auto found = state_->waiting.extract(number);
  if (!found) return;
  auto& its = found.mapped();
  its.exchange->on_gone(nullptr);
  auto reply = mcp::reply_to_call(its.key, {.text = answer.text, .failed = answer.failed});
  if (!its.is_stream) return answer_json(*its.exchange, std::move(reply));
  say(*its.exchange, event_of(reply));
  its.exchange->finish();
}

void McpEndpoint::report_progress(uint64_t number, std::string_view words) {
  const auto found = state_->waiting.find(number);
  if (found == state_->waiting.end() || !found->second.is_stream || found->second.progress_token.empty()) return;
  State::report_progress(found->second, words);
}

}  // namespace sluice::tools
