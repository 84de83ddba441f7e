#include <utility>

#include "remote/remote_work.h"

namespace sluice::remote {
namespace {

class RemoteDispatcher final : public dispatch::Dispatcher {
 public:
  explicit RemoteDispatcher(std::shared_ptr<Context> context) : context_(std::move(context)) {}

  std::unique_ptr<dispatch::Work> dispatch(dispatch::Dispatch dispatch, dispatch::DispatchListener& listener) override {
    return std::make_unique<RemoteWork>(context_, std::move(dispatch), listener);
  }

  // Without a mark to go on from, as another runner would after one that was lost.
  bool can_resume(const model::Agent& agent, std::string_view told_text) const override {
    return told_text.empty() || !dispatch::is_program(agent);
  }

  bool can_reattach(std::string_view mark) const override { return read_mark(mark).has_value(); }

  bool reads_history(const model::Agent&) const override { return true; }

  // Boxes are the runners' own, and a run elsewhere does not park.
  void release(model::ConversationId) override {}
  void forget_parked(model::RunId, model::ConversationId) override {}
  bool keeps_boxes() const override { return false; }
  int warm_available() const override { return 0; }

 private:
  const std::shared_ptr<Context> context_;  // shared with the work, which may outlive the dispatcher
};

// Boxes that are kept, and what a restart can take up, are the home's.
class Router final : public dispatch::Dispatcher {
 public:
  Router(dispatch::Dispatcher& home, std::unique_ptr<dispatch::Dispatcher> elsewhere)
      : home_(home), elsewhere_(std::move(elsewhere)) {}

  std::unique_ptr<dispatch::Work> dispatch(dispatch::Dispatch dispatch, dispatch::DispatchListener& listener) override {
    const bool is_home = dispatch.extras.sandbox_url.empty() && dispatch.mark.empty();
    auto& carrier = is_home ? home_ : *elsewhere_;
    return carrier.dispatch(std::move(dispatch), listener);
  }
  bool can_resume(const model::Agent& agent, std::string_view told_text) const override {
    return home_.can_resume(agent, told_text);
  }
  bool can_reattach(std::string_view mark) const override { return elsewhere_->can_reattach(mark); }
  bool reads_history(const model::Agent& agent) const override { return home_.reads_history(agent); }
  void release(model::ConversationId conversation) override { home_.release(conversation); }
  void forget_parked(model::RunId run, model::ConversationId conversation) override {
    home_.forget_parked(run, conversation);
  }
  void list_parked(Callback<void(std::vector<dispatch::ParkedRun>)> done) override {
    home_.list_parked(std::move(done));
  }
  void list_workspaces(Callback<void(std::vector<dispatch::KeptWorkspace>)> done) override {
    home_.list_workspaces(std::move(done));
  }
  void count_workspace(const dispatch::KeptWorkspace& kept, model::TenantId tenant) override {
    home_.count_workspace(kept, tenant);
  }
  void remove_workspace(model::ConversationId conversation) override { home_.remove_workspace(conversation); }
  bool keeps_boxes() const override { return home_.keeps_boxes(); }
  int warm_available() const override { return home_.warm_available(); }

 private:
  dispatch::Dispatcher& home_;
  const std::unique_ptr<dispatch::Dispatcher> elsewhere_;
};

}  // namespace

std::unique_ptr<dispatch::Dispatcher> make_router(dispatch::Dispatcher& home,
                                                  std::unique_ptr<dispatch::Dispatcher> elsewhere) {
  return std::make_unique<Router>(home, std::move(elsewhere));
}

std::unique_ptr<dispatch::Dispatcher> make_remote_dispatcher(RemoteNeeds needs, RemoteOptions options) {
  for (auto& url : options.runner_urls) {
    while (url.ends_with('/')) url.pop_back();
  }
  return std::make_unique<RemoteDispatcher>(std::make_shared<Context>(needs, std::move(options)));
}

}  // namespace sluice::remote
