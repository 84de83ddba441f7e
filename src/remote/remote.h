// Carries a dispatch to a runner elsewhere: mints its one-time tokens, posts /stream, and turns the
// lines that come back into run events. To the engine it is a dispatcher like the one at home.
//
// Not its business: the callbacks that the runner makes (api), the run's journal (engine).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "harness/harness.h"
#include "net/net.h"
#include "store/store.h"
#include "world/world.h"

namespace sluice::remote {

struct RemoteOptions {
  std::vector<std::string> runner_urls;  // without /stream; taken in turn, one that fails is passed over
  std::string runner_key;                // sent as bearer; empty: none
  std::string callback_base_url;         // this server, as runners reach it
  int64_t connect_ms_max = 5'000;
  int64_t silence_ms_max = 120'000;  // a runner that says nothing for longer is lost
};

struct RemoteNeeds {
  store::Store& store;
  net::Client& client;
  world::Loop& loop;
  world::IdSource& ids;
  world::Entropy& entropy;
  world::Log& log;
  world::Metrics& metrics;
};

std::unique_ptr<harness::Dispatcher> make_remote_dispatcher(RemoteNeeds needs, RemoteOptions options);

// Tokens in the clear, to be handed to a runner and forgotten.
struct Minted {
  model::Execution execution;
  std::string bearer;  // asbx_…
  std::string otp_setup, otp_run, otp_upload;
  std::string agent_url;  // {base}/api/agents/{execution}
};
// Makes the execution and its tokens for a dispatch (S-3): setup and run good for 10 minutes, upload
// for 60, the bearer for the agent's max_runtime_seconds and 60 s more.
Minted mint(const harness::Dispatch& dispatch, model::TenantId tenant, const std::string& base_url,
            world::IdSource& ids, world::Entropy& entropy, Timestamp now);

}  // namespace sluice::remote
