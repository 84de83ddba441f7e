#include "runner/runner.h"

#include <utility>

#include "runner/box_shelf.h"
#include "runner/file_herald.h"
#include "runner/host_command.h"
#include "runner/layer_bytes.h"
#include "runner/layer_shelf.h"
#include "runner/model_call.h"
#include "runner/native_loop.h"
#include "runner/program_work.h"
#include "runner/workspace_ledger.h"

namespace sluice::runner {
namespace {

using harness::is_program;

class NativeRunner final : public harness::Dispatcher {
 public:
  explicit NativeRunner(std::shared_ptr<const Context> context) : context_(std::move(context)) {}

  std::unique_ptr<harness::Work> dispatch(harness::Dispatch dispatch, harness::DispatchListener& listener) override {
    if (!is_program(dispatch.agent)) return std::make_unique<NativeLoop>(context_, std::move(dispatch), listener);
    return std::make_unique<ProgramWork>(context_, std::move(dispatch), listener);
  }

  bool can_resume(const model::Agent& agent, std::string_view told_text) const override {
    return told_text.empty() || !is_program(agent);
  }

  bool reads_history(const model::Agent& agent) const override {
    return is_program(agent) || !context_->providers.is_offline(agent.model);
  }

  void release(model::ConversationId conversation) override {
    if (context_->shelf) context_->shelf->release(conversation);
  }

  void forget_parked(model::RunId run, model::ConversationId conversation) override {
    if (context_->workers == nullptr) return;
    context_->workers->run([state_dir = context_->options.hands.state_dir, run,
                            conversation] { remove_held(state_dir, conversation, run); },
                           [] {});
  }

  void list_parked(Callback<void(std::vector<harness::ParkedRun>)> done) override {
    if (context_->workers == nullptr) return done({});
    // Shared by the two sides, because either may go last.
    auto found = std::make_shared<std::vector<harness::ParkedRun>>();
    context_->workers->run([found, state_dir = context_->options.hands.state_dir] { *found = list_held(state_dir); },
                           [found, done = std::move(done)]() mutable { done(std::move(*found)); });
  }

  void list_workspaces(Callback<void(std::vector<harness::KeptWorkspace>)> done) override {
    if (context_->workers == nullptr) return done({});
    auto found = std::make_shared<std::vector<harness::KeptWorkspace>>();
    context_->workers->run(
        [found, state_dir = context_->options.hands.state_dir] { *found = runner::list_workspaces(state_dir); },
        [found, done = std::move(done)]() mutable { done(std::move(*found)); });
  }

  // What a run here has measured since is newer.
  void count_workspace(const harness::KeptWorkspace& kept, model::TenantId tenant) override {
    if (context_->ledger && !context_->ledger->knows(kept.conversation)) {
      context_->ledger->note(tenant, kept.conversation, kept.bytes);
    }
  }

  void remove_workspace(model::ConversationId conversation) override {
    if (!context_->ledger || context_->ledger->is_in_use(conversation)) return;
    context_->ledger->forget(conversation);
    const auto aside = set_workspace_aside(context_->options.hands.state_dir, conversation);
    if (aside) context_->workers->run([path = *aside] { (void)workspace::remove_tree(path); }, [] {});
  }

  bool keeps_boxes() const override { return context_->sandbox != nullptr; }

  int warm_available() const override { return context_->sandbox == nullptr ? 0 : context_->sandbox->warm_available(); }

 private:
  const std::shared_ptr<const Context> context_;  // shared with the work, which may outlive the dispatcher
};

constexpr int64_t hook_ms_max = 30'000;

std::unique_ptr<FileHerald> make_herald(const FileHooks& hooks, const RunnerNeeds& needs) {
  if (needs.workers == nullptr || (hooks.webhook_url.empty() && hooks.command.empty())) return nullptr;
  return std::make_unique<FileHerald>(hooks, FileHerald::Needs{needs.client, needs.loop, *needs.workers, needs.log},
                                      [](const std::vector<std::string>& argv, const std::string& input) {
                                        return run_host_command(argv, input, hook_ms_max);
                                      });
}

void clear_unkept(const std::string& state_dir, world::Workers& workers) {
  auto paths = set_aside_unkept(state_dir);
  if (paths.empty()) return;
  workers.run(
      [paths = std::move(paths)] {
        for (const auto& path : paths) (void)workspace::remove_tree(path);
      },
      [] {});
}

}  // namespace

struct Context::Owned {
  RunnerOptions options;
  Providers providers;
  std::shared_ptr<FileHerald> herald;
  std::shared_ptr<BoxShelf> shelf;
  ServeBridge serve_bridge;
  SignWebhook sign_webhook;
  std::vector<models::ToolSpec> hand_tools = tool_specs();
};

Context::Context(RunnerOptions its_options, Providers its_providers, net::Client& its_client, world::Loop& its_loop,
                 world::Entropy& its_entropy, world::Log& its_log, sandbox::Sandbox* its_sandbox,
                 workspace::Watcher* its_watcher, world::Workers* its_workers, egress::Egress* its_egress,
                 std::shared_ptr<FileHerald> its_herald, std::shared_ptr<BoxShelf> its_shelf,
                 ServeBridge its_serve_bridge, SignWebhook its_sign_webhook, world::SharedWorkers* its_shared_workers,
                 std::shared_ptr<WorkspaceLedger> its_ledger)
    : owned_(std::make_shared<const Owned>(Owned{std::move(its_options), std::move(its_providers),
                                                 std::move(its_herald), std::move(its_shelf),
                                                 std::move(its_serve_bridge), std::move(its_sign_webhook)})),
      common(*this),
      options(owned_->options),
      providers(owned_->providers),
      client(its_client),
      loop(its_loop),
      entropy(its_entropy),
      log(its_log),
      sandbox(its_sandbox),
      watcher(its_watcher),
      workers(its_workers),
      egress(its_egress),
      herald(owned_->herald.get()),
      shelf(owned_->shelf.get()),
      serve_bridge(owned_->serve_bridge),
      sign_webhook(owned_->sign_webhook),
      shared_workers(its_shared_workers),
      ledger(std::move(its_ledger)),
      hand_tools(owned_->hand_tools) {}

Context::Context(const Context& its_common, world::Loop& clock, net::Client& its_client)
    : owned_(its_common.owned_),
      common(its_common),
      options(owned_->options),
      providers(owned_->providers),
      client(its_client),
      loop(clock),
      entropy(its_common.entropy),
      log(its_common.log),
      sandbox(its_common.sandbox),
      watcher(its_common.watcher),
      workers(its_common.workers),
      egress(its_common.egress),
      herald(its_common.herald),
      shelf(its_common.shelf),
      serve_bridge(owned_->serve_bridge),
      sign_webhook(owned_->sign_webhook),
      shared_workers(its_common.shared_workers),
      ledger(its_common.ledger),
      hand_tools(owned_->hand_tools) {}

// A runner may not know the tenants of the server that it works for; the runs of those share some lines.
world::Workers* Context::workers_for(const harness::Dispatch& dispatch) const {
  constexpr uint8_t lines_of_strangers = 64;
  if (shared_workers == nullptr) return workers;
  const auto& tenant = dispatch.agent.tenant_id.ulid;
  if (tenant != Ulid{}) return &shared_workers->of(tenant);
  Ulid line;
  line.bytes.back() = static_cast<uint8_t>(1 + dispatch.run.ulid.bytes.back() % lines_of_strangers);
  return &shared_workers->of(line);
}

std::unique_ptr<harness::Dispatcher> make_native_runner(RunnerOptions options, RunnerNeeds needs) {
  const bool has_hands = needs.sandbox != nullptr;
  SLUICE_CHECK(has_hands == (needs.watcher != nullptr) && has_hands == (needs.workers != nullptr));
  if (has_hands) clear_unkept(options.hands.state_dir, *needs.workers);
  Providers providers(options, needs.metrics);
  auto herald = make_herald(options.hands.file_hooks, needs);
  auto ledger =
      has_hands ? std::make_shared<WorkspaceLedger>(options.hands.tenant_workspaces_bytes_max, needs.metrics) : nullptr;
  return std::make_unique<NativeRunner>(std::make_shared<const Context>(
      std::move(options), std::move(providers), needs.client, needs.loop, needs.entropy, needs.log, needs.sandbox,
      needs.watcher, needs.workers, needs.egress, std::move(herald), has_hands ? std::make_shared<BoxShelf>() : nullptr,
      std::move(needs.serve_bridge), std::move(needs.sign_webhook), needs.shared_workers, std::move(ledger)));
}

}  // namespace sluice::runner
