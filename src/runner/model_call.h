// One answer of a model, in progress: over HTTP from a provider, or from the offline model. Whoever
// listens cannot tell which.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "models/models.h"
#include "net/net.h"
#include "runner/providers.h"
#include "runner/replay.h"
#include "runner/runner.h"
#include "runner/tools.h"
#include "world/world.h"

namespace sluice::runner {

class BoxShelf;
class FileHerald;
class WorkspaceLedger;

// What all work of one runner has in common.
struct Context {
  Context(RunnerOptions options, Providers providers, net::Client& client, world::Loop& loop, world::Entropy& entropy,
          world::Log& log, sandbox::Sandbox* sandbox = nullptr, workspace::Watcher* watcher = nullptr,
          world::Workers* workers = nullptr, egress::Egress* egress = nullptr,
          std::shared_ptr<FileHerald> herald = nullptr, std::shared_ptr<BoxShelf> shelf = nullptr,
          ServeBridge serve_bridge = nullptr, SignWebhook sign_webhook = nullptr,
          world::SharedWorkers* shared_workers = nullptr, std::shared_ptr<WorkspaceLedger> ledger = nullptr);
  // The same for one run, with a clock and a way to others of its own; `common` must outlive it (run_context.h).
  Context(const Context& common, world::Loop& clock, net::Client& client);
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  // Those for the jobs of that run; null: there are no hands.
  world::Workers* workers_for(const harness::Dispatch& dispatch) const;

 private:
  struct Owned;
  const std::shared_ptr<const Owned> owned_;

 public:
  const Context& common;  // for what outlives a run
  const RunnerOptions& options;
  const Providers& providers;
  net::Client& client;
  world::Loop& loop;
  world::Entropy& entropy;
  world::Log& log;
  // Null: there are no hands.
  sandbox::Sandbox* const sandbox;
  workspace::Watcher* const watcher;
  world::Workers* const workers;
  egress::Egress* const egress;                   // null: nothing leaves a box
  FileHerald* const herald;                       // null: nobody is told
  BoxShelf* const shelf;                          // null: there are no hands
  const ServeBridge& serve_bridge;                // empty: what runs in a box reaches no tools of the host
  const SignWebhook& sign_webhook;                // empty: no tool is called by webhook
  world::SharedWorkers* const shared_workers;     // null: `workers` do all
  const std::shared_ptr<WorkspaceLedger> ledger;  // null: there are no hands. Shared with measurements under way.
  // Written once: every run of a native agent has them.
  const std::vector<models::ToolSpec>& hand_tools;
};

class ModelCallListener {
 public:
  virtual ~ModelCallListener() = default;
  // In order; `stop` or `failure` is the last.
  virtual void on_model_event(models::ModelEvent event) = 0;
  // Instead of a last event: there is no answer, or no more of it. Never `cut`, which is a failure
  // event like any other of the provider.
  virtual void on_unanswered(net::CallFailure failure, std::string what) = 0;
};

// Dropping it ends it, also inside a callback: the listener hears nothing more.
class ModelCall {
 public:
  virtual ~ModelCall() = default;
};

struct ModelQuestion {
  const Route& route;
  const models::Prompt& prompt;
  std::string_view traceparent;  // empty: none
  int64_t idle_ms_max;
  int64_t total_ms_max;
  const Replay* replay = nullptr;  // outlives the call. Until it is over, the offline model does not wait.
};

// `context` and `listener` must outlive the call. No callback comes from inside ask_model().
[[nodiscard]] std::unique_ptr<ModelCall> ask_model(const Context& context, const ModelQuestion& question,
                                                   ModelCallListener& listener);

// "rate_limited" …, as the figures spell it.
std::string_view name_of(models::FailureClass failure);
std::string_view name_of(net::CallFailure failure);

}  // namespace sluice::runner
