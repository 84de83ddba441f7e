// What the operator configures of models, and what every question to one needs.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "net/net.h"
#include "world/world.h"

namespace sluice::inference {

class Providers;

// A model provider by its name in the configuration.
struct Provider {
  std::string dialect;     // of models::find_dialect, or "offline"
  std::string base_url;    // empty: the dialect's own
  std::string api_key;     // empty: none
  std::string key_source;  // the variable or setting that has the key or shall have it; empty: the dialect's variable
};

struct FillerOptions {
  std::vector<std::string> phrases;  // emitted in turn
  int64_t first_ms = 400;            // silence before the first
  int64_t every_ms = 4'000;          // and between two
  int64_t count_max = 5;
  std::string model_provider;  // not empty: a small model makes them
  std::string model_name;
};

// Whether `url` can stand in Options::agent_base_urls.
inline bool is_agent_base_url_rule(std::string_view url) { return net::is_url_rule(url); }

struct Options {
  std::map<std::string, Provider> providers;  // "offline" is always there
  // Where an agent's own base_url may lead: the beginnings of URLs, or "*" for anywhere. A tenant names
  // it and this server calls it, so without a rule tenants could reach whatever this machine can.
  std::vector<std::string> agent_base_urls;
  FillerOptions filler;
  int64_t model_connect_ms_max = 10'000;
  int64_t model_idle_ms_max = 120'000;
  int64_t model_total_ms_max = 1'800'000;
};

// With the clock and the client of the run that asks. All must outlive it.
struct Context {
  const Options& options;
  const Providers& providers;
  world::Loop& loop;
  net::Client& client;
};

}  // namespace sluice::inference
