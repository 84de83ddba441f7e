// What the operator configures of tools that run outside of a sandbox, and what every call of one needs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "model/model.h"
#include "net/net.h"
#include "sessions/sessions.h"
#include "world/world.h"

namespace sluice::tools {

// Scripts of the tool run_script (H-7).
struct ScriptOptions {
  int64_t timeout_ms = 30'000;  // default
  int64_t timeout_ms_max = 600'000;
  int64_t memory_mib_max = 128;
  int64_t calls_max = 100;  // of tools
  int64_t console_lines_max = 1'000;
  std::size_t console_bytes_max = 512 * 1024;
};

// Headers that prove to the tenant's server who calls: of a body, at a time.
using SignWebhook =
    std::function<std::vector<net::Header>(model::TenantId tenant, std::string_view body, Timestamp at)>;

struct Options {
  // Where tools may be: the beginnings of URLs, or "*" for anywhere. It applies to tenants' webhooks and MCP servers.
  std::vector<std::string> tool_urls;
  int64_t tool_answer_bytes_max = 1 << 20;
  bool plaintext_secrets = false;  // secrets may go into http:// requests to MCP servers
  ScriptOptions scripts;
};

// With the clock and the client of the run that calls. All must outlive it.
struct Context {
  const Options& options;
  const sessions::SessionOptions& limits;
  const SignWebhook& sign_webhook;  // empty: no tool is called by webhook
  world::Loop& loop;
  world::Loop& wall_loop;  // goes on while the run is suspended, as do the lifetimes of tokens
  net::Client& client;
};

}  // namespace sluice::tools
