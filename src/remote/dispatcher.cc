#include <utility>

#include "remote/remote_work.h"

namespace sluice::remote {
namespace {

class RemoteDispatcher final : public harness::Dispatcher {
 public:
  explicit RemoteDispatcher(std::shared_ptr<const Context> context) : context_(std::move(context)) {}

  std::unique_ptr<harness::Work> dispatch(harness::Dispatch dispatch, harness::DispatchListener& listener) override {
    return std::make_unique<RemoteWork>(context_, std::move(dispatch), listener, turn_++);
  }

  // What a runner elsewhere did before this server restarted is gone with its box.
  bool can_resume(const model::Agent&, std::string_view told_text) const override { return told_text.empty(); }

  bool reads_history(const model::Agent&) const override { return true; }

  // Boxes are the runners' own, and a run elsewhere does not park.
  void release(model::ConversationId) override {}
  void forget_parked(model::RunId, model::ConversationId) override {}
  bool keeps_boxes() const override { return false; }
  int warm_available() const override { return 0; }

 private:
  const std::shared_ptr<const Context> context_;  // shared with the work, which may outlive the dispatcher
  std::size_t turn_ = 0;
};

}  // namespace

std::unique_ptr<harness::Dispatcher> make_remote_dispatcher(RemoteNeeds needs, RemoteOptions options) {
  SLUICE_CHECK(!options.runner_urls.empty());
  for (auto& url : options.runner_urls) {
    while (url.ends_with('/')) url.pop_back();
  }
  return std::make_unique<RemoteDispatcher>(std::make_shared<const Context>(Context{needs, std::move(options)}));
}

}  // namespace sluice::remote
