#include "runner/runner.h"

#include <utility>

#include "agents/agents.h"

namespace sluice::runner {
namespace {

using dispatch::is_program;

constexpr int64_t hook_ms_max = 30'000;

std::unique_ptr<sessions::FileNotifier> make_file_notifier(const sessions::FileHooks& hooks, const RunnerNeeds& needs) {
  if (needs.workers == nullptr || (hooks.webhook_url.empty() && hooks.command.empty())) return nullptr;
  return std::make_unique<sessions::FileNotifier>(
      hooks, sessions::FileNotifier::Needs{needs.client, needs.loop, *needs.workers, needs.log},
      [](const std::vector<std::string>& argv, const std::string& input) {
        return sessions::run_host_command(argv, input, hook_ms_max);
      });
}

// What the work of one runner shares, and owns together: work may outlive the dispatcher.
struct Assembly {
  Assembly(RunnerOptions its_options, RunnerNeeds needs)
      : options(std::move(its_options)),
        providers(options, needs.metrics),
        file_notifier(make_file_notifier(options.sessions.file_hooks, needs)),
        kept_sandboxes(needs.sandbox != nullptr ? std::make_unique<sessions::KeptSandboxes>() : nullptr),
        sign_webhook(std::move(needs.sign_webhook)),
        sandbox_tools(tools::sandbox_tool_specs()),
        shared{.inference = {options, providers, needs.loop, needs.client},
               .sessions = host(needs),
               .tools = {options, options.sessions, sign_webhook, needs.loop, needs.loop, needs.client},
               .entropy = needs.entropy,
               .log = needs.log} {}
  Assembly(const Assembly&) = delete;
  Assembly& operator=(const Assembly&) = delete;

  sessions::Host host(RunnerNeeds& needs) const {
    return {.options = options.sessions,
            .loop = needs.loop,
            .log = needs.log,
            .sandbox = needs.sandbox,
            .watcher = needs.watcher,
            .workers = needs.workers,
            .shared_workers = needs.shared_workers,
            .egress = needs.egress,
            .file_notifier = file_notifier.get(),
            .kept_sandboxes = kept_sandboxes.get(),
            .serve_bridge = std::move(needs.serve_bridge),
            .disk_usage = needs.sandbox == nullptr ? nullptr
                                                   : std::make_shared<sessions::DiskUsage>(
                                                         options.sessions.tenant_workspaces_bytes_max, needs.metrics)};
  }

  const RunnerOptions options;
  const inference::Providers providers;
  const std::unique_ptr<sessions::FileNotifier> file_notifier;    // null: there are no hooks
  const std::unique_ptr<sessions::KeptSandboxes> kept_sandboxes;  // null: there are no sandboxes
  const tools::SignWebhook sign_webhook;
  const std::vector<models::ToolSpec> sandbox_tools;  // written once: every run of a native agent has them
  const agents::Shared shared;
};

class NativeRunner final : public dispatch::Dispatcher {
 public:
  explicit NativeRunner(std::shared_ptr<const Assembly> assembly) : assembly_(std::move(assembly)) {}

  std::unique_ptr<dispatch::Work> dispatch(dispatch::Dispatch dispatch, dispatch::DispatchListener& listener) override {
    const std::shared_ptr<const agents::Shared> shared(assembly_, &assembly_->shared);
    if (is_program(dispatch.agent)) {
      return std::make_unique<programs::ProgramWork>(shared, assembly_->options.programs, std::move(dispatch),
                                                     listener);
    }
    return std::make_unique<native::NativeLoop>(shared, native::Setting{assembly_->options, assembly_->sandbox_tools},
                                                std::move(dispatch), listener);
  }

  bool can_resume(const model::Agent& agent, std::string_view told_text) const override {
    return told_text.empty() || !is_program(agent);
  }

  bool reads_history(const model::Agent& agent) const override {
    return is_program(agent) || !assembly_->providers.is_offline(agent.model);
  }

  void release(model::ConversationId conversation) override {
    if (assembly_->kept_sandboxes) assembly_->kept_sandboxes->release(conversation);
  }

  void forget_parked(model::RunId run, model::ConversationId conversation) override {
    if (host().workers == nullptr) return;
    host().workers->run([state_dir = assembly_->options.sessions.state_dir, run,
                         conversation] { sessions::remove_held(state_dir, conversation, run); },
                        [] {});
  }

  void list_parked(Callback<void(std::vector<dispatch::ParkedRun>)> done) override {
    if (host().workers == nullptr) return done({});
    // Shared by the two sides, because either may go last.
    auto found = std::make_shared<std::vector<dispatch::ParkedRun>>();
    host().workers->run(
        [found, state_dir = assembly_->options.sessions.state_dir] { *found = sessions::list_held(state_dir); },
        [found, done = std::move(done)]() mutable { done(std::move(*found)); });
  }

  void list_workspaces(Callback<void(std::vector<dispatch::KeptWorkspace>)> done) override {
    if (host().workers == nullptr) return done({});
    auto found = std::make_shared<std::vector<dispatch::KeptWorkspace>>();
    host().workers->run(
        [found, state_dir = assembly_->options.sessions.state_dir] { *found = sessions::list_workspaces(state_dir); },
        [found, done = std::move(done)]() mutable { done(std::move(*found)); });
  }

  // What a run here has measured since is newer.
  void count_workspace(const dispatch::KeptWorkspace& kept, model::TenantId tenant) override {
    if (host().disk_usage && !host().disk_usage->knows(kept.conversation)) {
      host().disk_usage->note(tenant, kept.conversation, kept.bytes);
    }
  }

  void remove_workspace(model::ConversationId conversation) override {
    if (!host().disk_usage || host().disk_usage->is_in_use(conversation)) return;
    host().disk_usage->forget(conversation);
    const auto aside = sessions::set_workspace_aside(assembly_->options.sessions.state_dir, conversation);
    if (aside) host().workers->run([path = *aside] { (void)workspace::remove_tree(path); }, [] {});
  }

  bool keeps_boxes() const override { return host().sandbox != nullptr; }

  int warm_available() const override { return host().sandbox == nullptr ? 0 : host().sandbox->warm_available(); }

 private:
  const sessions::Host& host() const { return assembly_->shared.sessions; }

  const std::shared_ptr<const Assembly> assembly_;  // shared with the work, which may outlive the dispatcher
};

void clear_unkept(const std::string& state_dir, world::Workers& workers) {
  auto paths = sessions::set_aside_unkept(state_dir);
  if (paths.empty()) return;
  workers.run(
      [paths = std::move(paths)] {
        for (const auto& path : paths) (void)workspace::remove_tree(path);
      },
      [] {});
}

}  // namespace

std::unique_ptr<dispatch::Dispatcher> make_native_runner(RunnerOptions options, RunnerNeeds needs) {
  const bool has_sandbox = needs.sandbox != nullptr;
  SLUICE_CHECK(has_sandbox == (needs.watcher != nullptr) && has_sandbox == (needs.workers != nullptr));
  if (has_sandbox) clear_unkept(options.sessions.state_dir, *needs.workers);
  return std::make_unique<NativeRunner>(std::make_shared<const Assembly>(std::move(options), std::move(needs)));
}

}  // namespace sluice::runner
