// Carries one dispatch: for a native agent, the loop that speaks to the model itself and tells what
// comes back as run events.
//
// Not its business: the journal, clients, who may run (engine).
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "harness/harness.h"
#include "models/models.h"
#include "net/net.h"
#include "world/world.h"

namespace sluice::runner {

// A model provider by its name in the configuration.
struct Provider {
  std::string dialect;   // of models::find_dialect, or "offline"
  std::string base_url;  // empty: the dialect's own
  std::string api_key;   // empty: none
};

struct FillerOptions {
  std::vector<std::string> phrases;  // told in turn
  int64_t first_ms = 400;            // silence before the first
  int64_t every_ms = 4'000;          // and between two
  int64_t count_max = 5;
  std::string model_provider;  // not empty: a small model makes them
  std::string model_name;
};

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
};

// Whether `url` can stand in RunnerOptions::agent_base_urls.
bool is_agent_base_url_rule(std::string_view url);

struct RunnerNeeds {
  net::Client& client;
  world::Loop& loop;
  world::Entropy& entropy;
  world::Log& log;
  world::Metrics& metrics;
};

// The needs must outlive the dispatcher and all its work.
std::unique_ptr<harness::Dispatcher> make_native_runner(RunnerOptions options, RunnerNeeds needs);

}  // namespace sluice::runner
