// Carries a dispatch to a runner elsewhere: mints its one-time tokens, posts /stream, and turns the
// lines that come back into run events. To the engine it is a dispatcher like the one at home.
//
// Behind what it tells it writes marks: where the runner's account stands. A connection that breaks is made again, and
// a server that was started again, or took the run over, reads on from the last mark: no line is lost or delivered
// twice.
//
// Not its business: the callbacks that the runner makes (api), the run's journal (engine).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "dispatch/dispatch.h"
#include "net/net.h"
#include "store/store.h"
#include "world/world.h"

namespace sluice::remote {

struct MintOptions {
  std::string base_url;       // this server, as runners reach it
  std::string bearer_secret;  // what bearers are derived from
  int64_t max_rounds = 50;    // of a dispatch that names none
};

struct RemoteOptions {
  // Without /stream; the one with most free slots is taken, one that fails is passed over. A dispatch that names a
  // runner itself (S-8) goes there and nowhere else.
  std::vector<std::string> runner_urls;
  std::vector<std::string> named_urls;  // rules for those; what only "*" allows is asked at public addresses only
  std::string runner_key;               // sent as bearer; empty: none
  MintOptions mint;
  int64_t connect_ms_max = 5'000;
  int64_t silence_ms_max = 120'000;  // a connection that says nothing for longer is broken
  int64_t reattach_ms = 60'000;      // how long a runner keeps a dispatch whose connection broke, and is tried
  int64_t wait_ms_max = 30'000;      // for a runner that has a free slot
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

std::unique_ptr<dispatch::Dispatcher> make_remote_dispatcher(RemoteNeeds needs, RemoteOptions options);
// For a server that carries runs itself: those that name a runner go elsewhere, all others stay. `home` must outlive
// it.
std::unique_ptr<dispatch::Dispatcher> make_router(dispatch::Dispatcher& home,
                                                  std::unique_ptr<dispatch::Dispatcher> elsewhere);

// What one dispatch to a runner needs. The tokens stand here in the clear, to be handed over and
// forgotten; the store gets `execution`, sha256(bearer) and `hashed`.
struct Minted {
  model::Execution execution;
  std::string bearer;                          // asbx_…
  std::string otp_setup, otp_run, otp_upload;  // otps_…, otpr_…, otpu_…
  std::string agent_url;                       // {base}/api/agents/{execution}
  std::vector<model::OneTimeToken> hashed;
};

// Makes the execution and its tokens for a dispatch (S-3): setup and run good for 10 minutes, upload
// for 60, the bearer for the agent's max_runtime_seconds and 60 s more (S-6). Of the history the last
// limits::replay_turns_max turns go along.
Minted mint(const dispatch::Dispatch& dispatch, model::TenantId tenant, const MintOptions& options,
            world::IdSource& ids, world::Entropy& entropy, Timestamp now);

// The execution's asbx_ bearer. Derived, so that it is stored nowhere and can be sent when the runner
// redeems its run token.
std::string bearer_of(std::string_view bearer_secret, model::ExecutionId execution);
// The answer to GET …/config: `execution.config_json` with the bearer as its callback.token.
std::string config_answer(const model::Execution& execution, std::string_view bearer_secret);

}  // namespace sluice::remote
