#include "runner/runner.h"

#include <utility>

#include "runner/model_call.h"
#include "runner/native_loop.h"

namespace sluice::runner {
namespace {

class NativeRunner final : public harness::Dispatcher {
 public:
  explicit NativeRunner(std::shared_ptr<const Context> context) : context_(std::move(context)) {}

  std::unique_ptr<harness::Work> dispatch(harness::Dispatch dispatch, harness::DispatchListener& listener) override {
    return std::make_unique<NativeLoop>(context_, std::move(dispatch), listener);
  }

  bool can_resume(const model::Agent& agent, std::string_view told_text) const override {
    return told_text.empty() || context_->providers.is_offline(agent.model);
  }

  bool reads_history(const model::Agent& agent) const override { return !context_->providers.is_offline(agent.model); }

 private:
  const std::shared_ptr<const Context> context_;  // shared with the work, which may outlive the dispatcher
};

}  // namespace

std::unique_ptr<harness::Dispatcher> make_native_runner(RunnerOptions options, RunnerNeeds needs) {
  Providers providers(options, needs.metrics);
  return std::make_unique<NativeRunner>(std::make_shared<const Context>(
      Context{std::move(options), std::move(providers), needs.client, needs.loop, needs.entropy, needs.log}));
}

}  // namespace sluice::runner
