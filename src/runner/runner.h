// Carries one dispatch: for a native agent, the loop that speaks to the model itself, runs its tool
// calls in a box, and tells what comes of it as run events.
//
// Not its business: the journal, clients, who may run (engine).
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "egress/egress.h"
#include "harness/harness.h"
#include "models/models.h"
#include "net/net.h"
#include "runner/bridge_serving.h"
#include "sandbox/sandbox.h"
#include "workspace/workspace.h"
#include "world/shared_workers.h"
#include "world/world.h"

namespace sluice::runner {

// A model provider by its name in the configuration.
struct Provider {
  std::string dialect;     // of models::find_dialect, or "offline"
  std::string base_url;    // empty: the dialect's own
  std::string api_key;     // empty: none
  std::string key_source;  // the variable or setting that has the key or shall have it; empty: the dialect's variable
};

struct FillerOptions {
  std::vector<std::string> phrases;  // told in turn
  int64_t first_ms = 400;            // silence before the first
  int64_t every_ms = 4'000;          // and between two
  int64_t count_max = 5;
  std::string model_provider;  // not empty: a small model makes them
  std::string model_name;
};

struct GitCredential {
  std::string host;  // the only one it is sent to
  std::string username;
  std::string password;
};

// What the server does besides when files change (H-4, H-8): a signed POST, a command of the operator's.
struct FileHooks {
  std::string webhook_url;           // empty: none
  std::string webhook_secret;        // HMAC-SHA256 of the body, in Sluice-Signature
  std::vector<std::string> command;  // argv; the news as NDJSON on standard input; empty: none
};

// What tools may do, and what is told of it.
struct HandsOptions {
  std::string state_dir;                       // conversations' layers, unpacked skills: below the sandbox's state_dir
  uint32_t owner_uid = 0;                      // whom layers belong to
  std::size_t tool_result_chars_max = 30'000;  // what the model is shown of a result
  std::size_t tool_output_bytes_max = 4 * 1024 * 1024;  // what the trace keeps of one call
  int64_t tool_timeout_ms = 120'000;                    // of a call that names none
  int64_t tool_timeout_ms_max = 600'000;
  int64_t setup_timeout_ms = 600'000;
  int64_t clone_timeout_ms = 600'000;
  int64_t keep_ms_max = 300'000;  // to read, compare or copy a workspace, once
  bool watch_files = true;
  int64_t file_events_max = 20'000;  // of a run, one by one; later ones are counted
  int64_t file_sum_ms = 60'000;      // between two reports of such counts
  std::vector<std::string> ignored_directories = {".git", "node_modules"};
  std::vector<std::string> repository_urls;              // the beginnings of URLs that may be cloned, or "*"
  std::map<std::string, GitCredential> git_credentials;  // by alias
  std::vector<std::string> asset_extensions;             // empty: the built-in list
  FileHooks file_hooks;
  int64_t tenant_workspaces_bytes_max = 0;  // of all that is kept of a tenant's conversations; 0: no bound
};

// Agent programs (harness/dialect.h).
struct ProgramOptions {
  struct Place {
    std::string path;    // of the program, as the sandbox sees it
    std::string folder;  // of the host, bound at /opt/harness/TYPE; empty: none
  };
  // Asked at each run, because a program may be installed while the server runs. Empty: the program is not installed.
  std::function<std::optional<Place>(const std::string& agent_type)> find;
  int64_t start_ms_max = 60'000;            // to the first thing it says
  int64_t silence_ms_max = 600'000;         // between two, while nobody is asked and no tool runs
  int64_t tool_silence_ms_max = 1'800'000;  // while a tool of its own runs
  int64_t end_ms_max = 10'000;              // from the end of its turn, or SIGTERM, to the end of its process
};

// Scripts of the tool run_script (H-7).
struct ScriptOptions {
  int64_t timeout_ms = 30'000;  // of one that names none
  int64_t timeout_ms_max = 600'000;
  int64_t memory_mib_max = 128;
  int64_t calls_max = 100;  // of tools
  int64_t console_lines_max = 1'000;
  std::size_t console_bytes_max = 512 * 1024;
};

// Headers that prove to the tenant's server who calls: of a body, at a time.
using SignWebhook =
    std::function<std::vector<net::Header>(model::TenantId tenant, std::string_view body, Timestamp at)>;

struct RunnerOptions {
  std::map<std::string, Provider> providers;  // "offline" is always there
  // Where an agent's own base_url may lead: the beginnings of URLs, or "*" for anywhere. A tenant names
  // it and this server calls it, so without a rule tenants could reach whatever this machine can.
  std::vector<std::string> agent_base_urls;
  FillerOptions filler;
  int retry_count_max = 4;
  int64_t retry_first_ms = 500;  // doubled each time, with up to a quarter of jitter
  int64_t retry_wait_ms_max = 60'000;
  int64_t model_connect_ms_max = 10'000;
  int64_t model_idle_ms_max = 120'000;
  int64_t model_total_ms_max = 1'800'000;
  int tool_rounds_max = 50;
  // Where tools may be, as agent_base_urls: tenants' webhooks, and servers of MCP.
  std::vector<std::string> tool_urls;
  int64_t tool_answer_bytes_max = 1 << 20;
  bool plaintext_secrets = false;  // secrets may go into http:// requests to servers of MCP
  ProgramOptions programs;
  ScriptOptions scripts;
  HandsOptions hands;
};

// Whether `url` can stand in RunnerOptions::agent_base_urls.
bool is_agent_base_url_rule(std::string_view url);

// Why no run of this agent can ask its model, as the run would say it; empty: no reason is known before a run. It is
// about agent programs, whose model must not be on the loopback interface.
std::string fault_of_program_model(const RunnerOptions& options, const model::Agent& agent);

struct RunnerNeeds {
  net::Client& client;
  world::Loop& loop;
  world::Entropy& entropy;
  world::Log& log;
  world::Metrics& metrics;
  // All three or none: without hands, an agent has no tools.
  sandbox::Sandbox* sandbox = nullptr;
  workspace::Watcher* watcher = nullptr;
  world::Workers* workers = nullptr;
  egress::Egress* egress = nullptr;  // null: nothing leaves a box
  ServeBridge serve_bridge;          // empty: what runs in a box reaches no tools of the host
  SignWebhook sign_webhook;          // empty: no tool is called by webhook
  // Threads for the jobs of a run, so that tenants take turns; null: `workers` do all.
  world::SharedWorkers* shared_workers = nullptr;
};

// The needs must outlive the dispatcher and all its work. One at a time for one state_dir: it clears away what a
// killed server left there.
std::unique_ptr<harness::Dispatcher> make_native_runner(RunnerOptions options, RunnerNeeds needs);

}  // namespace sluice::runner
