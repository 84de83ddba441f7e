// What the operator configures of sandbox sessions, and what all sessions of one server share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "dispatch/dispatch.h"
#include "egress/egress.h"
#include "sandbox/sandbox.h"
#include "sessions/bridge.h"
#include "workspace/workspace.h"
#include "world/shared_workers.h"
#include "world/world.h"

namespace sluice::sessions {

class DiskUsage;
class FileNotifier;
class KeptSandboxes;

struct GitCredential {
  std::string host;  // the only one it is sent to
  std::string username;
  std::string password;
};

// What the server does besides when files change (H-4, H-8): a signed POST, a command of the operator's.
struct FileHooks {
  std::string webhook_url;           // empty: none
  std::string webhook_secret;        // HMAC-SHA256 of the body, in Sluice-Signature
  std::vector<std::string> command;  // argv; the changes as NDJSON on standard input; empty: none
};

// What commands in a sandbox may do, and how much of it is reported.
struct SessionOptions {
  std::string state_dir;                       // conversations' layers, unpacked skills: below the sandbox's state_dir
  uint32_t owner_uid = 0;                      // owner of the layers
  std::size_t tool_result_chars_max = 30'000;  // what the model is shown of a result
  std::size_t tool_output_bytes_max = 4 * 1024 * 1024;  // what the trace keeps of one call
  int64_t tool_timeout_ms = 120'000;                    // default of a call
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

// What all sessions of one server share. It outlives them.
struct Host {
  const SessionOptions& options;
  world::Loop& loop;  // goes on while a run is suspended
  world::Log& log;
  // Null: there are no sandboxes.
  sandbox::Sandbox* sandbox = nullptr;
  workspace::Watcher* watcher = nullptr;
  world::Workers* workers = nullptr;
  world::SharedWorkers* shared_workers = nullptr;  // null: `workers` do all
  egress::Egress* egress = nullptr;                // null: nothing leaves a sandbox
  FileNotifier* file_notifier = nullptr;           // null: there are no hooks
  KeptSandboxes* kept_sandboxes = nullptr;         // null: there are no sandboxes
  ServeBridge serve_bridge = nullptr;              // empty: what runs in a sandbox reaches no tools of the host
  // Null: there are no sandboxes. Shared with measurements under way.
  std::shared_ptr<DiskUsage> disk_usage = nullptr;

  // Those for the jobs of that run; null: there are no sandboxes.
  world::Workers* workers_for(const dispatch::Dispatch& dispatch) const;
};

}  // namespace sluice::sessions
