// Mints executions for whoever asks the API for one, as for the server's own dispatches.
#pragma once

#include "api/api.h"
#include "remote/remote.h"

namespace sluice::app {

class HouseMint final : public api::ExecutionMint {
 public:
  HouseMint(remote::MintOptions options, world::Loop& loop, world::IdSource& ids, world::Entropy& entropy)
      : options_(std::move(options)), loop_(loop), ids_(ids), entropy_(entropy) {}

  api::MintedExecution make(const harness::Dispatch& dispatch, model::TenantId tenant) override {
    auto minted = remote::mint(dispatch, tenant, options_, ids_, entropy_, loop_.now());
    return {std::move(minted.execution), std::move(minted.bearer),     std::move(minted.otp_setup),
            std::move(minted.otp_run),   std::move(minted.otp_upload), std::move(minted.agent_url),
            std::move(minted.hashed)};
  }
  std::string config_answer(const model::Execution& execution) override {
    return remote::config_answer(execution, options_.bearer_secret);
  }

 private:
  remote::MintOptions options_;
  world::Loop& loop_;
  world::IdSource& ids_;
  world::Entropy& entropy_;
};

}  // namespace sluice::app
