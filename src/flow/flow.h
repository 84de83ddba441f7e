// Runs workflows: small graphs of blocks, each an agent's run, one call of a model, an HTTP request or a condition.
//
// A workflow run is a journal like any other run, of its own few events: write, then act, then send. What an agent does
// inside of a block stays in the journal of that block's run and is folded into the workflow's stream when it is read,
// so nothing is kept twice. Blocks are done one at a time, so where a run stands is what its journal says (progress.h),
// and a server that takes it up goes on at the block it was in.
//
// One thread: everything here is called from the loop's.
// Not its business: HTTP of requests and who may ask (api); how a run goes (engine).
#pragma once

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "base/callback.h"
#include "base/json.h"
#include "base/limits.h"
#include "engine/engine.h"
#include "model/model.h"
#include "net/net.h"
#include "store/store.h"
#include "world/world.h"

namespace sluice::flow {

// What is wrong with a definition, with JSON pointers that begin with `at`.
model::FieldErrors faults_of_definition(json::Value definition, const std::string& at);

struct Start {
  model::TenantId tenant;
  model::Workflow workflow;
  std::string inputs = "{}";  // JSON
};
using RunOutcome = std::variant<model::WorkflowRun, model::Problem>;

// What a reader of a run's lines wants to see.
struct LineView {
  int64_t after = -1;     // lines up to and including it are left out
  bool extended = false;  // of the blocks' runs: everything, not only log, step, result and error
};

struct FlowOptions {
  std::vector<std::string> http_urls;     // where http blocks may lead: the beginnings of URLs, or "*"
  std::vector<std::string> sandbox_urls;  // which runners may be named: the same
  bool has_sandbox = true;                // here, or at the runners elsewhere that carry runs
  int64_t runs_at_once_max = limits::workflow_runs_at_once_max;  // of one tenant
};

class Flows {
 public:
  virtual ~Flows() = default;

  // Takes up every unfinished run. Call once, when the engine has recovered.
  virtual void recover(Callback<void(Result<Unit>)> done) = 0;

  // Answers when it is written that it began.
  virtual void start(Start start, Callback<void(RunOutcome)> done) = 0;

  // Answers when the run is over and nothing of it is left at work. A run that is over already is a problem
  // `run-finished`, unless it was cancelled before.
  virtual void cancel(model::TenantId tenant, model::WorkflowRunId run, Callback<void(RunOutcome)> done) = 0;

  // What there is of its lines, then live to its end. `reader` must outlive the Reading. No callback comes from inside.
  [[nodiscard]] virtual std::unique_ptr<engine::Reading> read(const model::WorkflowRun& run, LineView view,
                                                              engine::Reader& reader) = 0;

  // Begins no more blocks and takes no more runs. `done` when no block of its own is at work, or at the deadline; the
  // next server goes on from there.
  virtual void drain(Millis deadline, Callback<void()> done) = 0;
};

// All of them must outlive it.
struct FlowNeeds {
  store::Store& store;
  engine::Engine& engine;
  net::Client& client;
  world::Loop& loop;
  world::IdSource& ids;
  world::Log& log;
};
std::unique_ptr<Flows> make_flows(FlowNeeds needs, FlowOptions options);

}  // namespace sluice::flow
