// What a server of MCP sends by GET (Streamable HTTP): messages that belong to no answer, or the rest of an answer that
// broke off. The stream is opened again where it ended, after the time that the server names, within bounds.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/callback.h"
#include "base/lifetime.h"
#include "base/sse.h"
#include "net/net.h"
#include "runs/runs.h"
#include "tools/options.h"
#include "world/world.h"

namespace sluice::tools {

inline constexpr int64_t mcp_retry_ms = 1'000;       // before a stream is opened again, where the server names none
inline constexpr int64_t mcp_retry_ms_min = 100;     // a server that names less is not asked without end
inline constexpr int64_t mcp_retry_ms_max = 60'000;  // one that names more is asked all the same
inline constexpr int mcp_idle_openings_max = 8;      // in a row, of which nothing came
inline constexpr int mcp_openings_max = 1'000;       // of one stream

// Where a stream of events ended.
struct McpCursor {
  std::string last_id;  // empty: it cannot be resumed
  int64_t retry_ms = mcp_retry_ms;

  void take(const SseReader& reader);
};

enum class McpEventsEnd : uint8_t {
  not_offered,   // the server has no such stream
  unauthorized,  // it answered 401
  interrupted,   // its time is up, or no answer comes; keep_until() opens it again
  broken,        // it is longer than it may be, or is no stream of events
};

class McpEventsListener {
 public:
  virtual ~McpEventsListener() = default;
  virtual void on_mcp_event(std::string_view json) = 0;
  // `why` in words: "it answered GET with status 405".
  virtual void on_mcp_events_end(McpEventsEnd end, std::string why) = 0;
};

class McpEvents final : private net::CallListener {
 public:
  struct Bounds {
    int64_t until_us = 0;  // of Loop::monotonic_us(): no stream is open after it
    std::size_t bytes_max = 0;
    int64_t retry_ms_min = mcp_retry_ms_min;
  };
  // `request`: a GET without Last-Event-ID. It is sent at once, or with `waits` after the cursor's time. `context` and
  // `listener` must outlive this; the listener may drop it whenever it is called. No callback comes from inside.
  McpEvents(const Context& context, net::ClientRequest request, McpCursor cursor, Bounds bounds, bool waits,
            McpEventsListener& listener);

  void keep_until(int64_t until_us);
  const McpCursor& cursor() const { return cursor_; }

 private:
  void on_head(int status, const net::Headers& headers) override;
  void on_body(std::string_view bytes) override;
  void on_end(net::CallEnd end) override;

  void open_later();
  void open();
  void end(McpEventsEnd end, std::string why);

  const Context& context_;
  const net::ClientRequest request_;
  McpCursor cursor_;
  Bounds bounds_;
  McpEventsListener& listener_;
  int opening_count_ = 0;
  int idle_count_ = 0;  // openings in a row of which nothing came
  std::optional<McpEventsEnd> ended_;
  bool is_stream_ = false;
  int status_ = 0;
  std::size_t byte_count_ = 0;
  SseReader reader_;
  world::Timer retry_;
  Lifetime lifetime_;
  std::unique_ptr<net::Call> call_;
};

}  // namespace sluice::tools
