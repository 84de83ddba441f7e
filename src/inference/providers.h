// The providers a runner can ask, and how an agent's choice of model leads to one.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "inference/options.h"
#include "model/model.h"
#include "models/models.h"
#include "vault/vault.h"
#include "world/world.h"

namespace sluice::inference {

// What is counted of one provider.
class ProviderFigures {
 public:
  ProviderFigures(std::string_view provider, world::Metrics& metrics);

  void count_call() const { calls_.add(); }
  void count_failure(std::string_view failure_class) const;
  void count_tokens(const model::Usage& usage) const;

 private:
  std::string label_;
  world::Metrics& metrics_;
  world::Counter& calls_;
  world::Counter& input_tokens_;
  world::Counter& output_tokens_;
};

// Where a model is asked.
struct Route {
  std::string provider;                      // its name in the configuration
  const models::Dialect* dialect = nullptr;  // null: offline
  models::Endpoint endpoint;
  bool public_addresses_only = false;  // net::ClientRequest
  bool key_withheld = false;           // there is a key, but it is not for this URL
  std::string key_alias;               // of the secret that is the key; empty: it is the server's own
  std::string key_source;              // of the server's own: the variable or setting that has it or shall have it
  const ProviderFigures* figures = nullptr;
};

// Where a model is asked: as Providers::route() has it, but for a dialect's own URL, which is left empty.
std::string model_base_url(const Options& options, const model::ModelChoice& choice);

class Providers {
 public:
  Providers(const Options& options, world::Metrics& metrics);

  // `invalid`, in words for the person who configured the agent, when there is no way. Routes live no
  // longer than this.
  // `secrets` (null: none) are looked into for the choice's key_alias.
  Result<Route> route(const model::ModelChoice& choice, const vault::Secrets* secrets) const;

  bool is_offline(const model::ModelChoice& choice) const;

 private:
  struct Known {
    Provider provider;
    ProviderFigures figures;
  };
  std::map<std::string, Known, std::less<>> known_;
  std::vector<std::string> agent_base_urls_;
};

}  // namespace sluice::inference
