// How an agent program is started: where it is, which model it asks and with which key, and the launch that its dialect
// plans from that. On the loop's thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "agents/agents.h"
#include "base/result.h"
#include "dispatch/dispatch.h"
#include "harness/harness.h"
#include "programs/options.h"
#include "programs/program_calls.h"
#include "programs/program_model.h"

namespace sluice::programs {

// Where launches and dialects come from; tests have their own.
struct ProgramMakers {
  std::function<Result<harness::Launch>(const harness::Assignment&)> plan = harness::plan_launch;
  std::function<std::unique_ptr<harness::Dialect>(const harness::Assignment&)> dialect = harness::make_dialect;
  std::function<bool(std::string_view agent_type)> can_defer = harness::can_defer;
};

class ProgramLaunch {
 public:
  // All must outlive this.
  ProgramLaunch(const agents::RunContext& context, const ProgramOptions& options, dispatch::Dispatch& dispatch,
                ProgramMakers makers)
      : context_(context), options_(options), dispatch_(dispatch), makers_(std::move(makers)) {}

  // `invalid` and `unavailable`: why it cannot be. Puts the model's key among the secrets of the dispatch, and its host
  // into the policy.
  Result<Unit> prepare();
  // The model's host, and the folder of the program.
  void equip(sessions::SandboxSession& session) const;

  // For a program that is served by `parts`, as far as they exist, and resumes that session (empty: begins one).
  harness::Assignment assignment(const ProgramParts& parts, const std::string& session_id, std::string prompt) const;
  // `invalid`, in a sentence.
  Result<harness::Launch> plan(const harness::Assignment& assignment) const;
  std::unique_ptr<harness::Dialect> make_dialect(const harness::Assignment& assignment) const {
    return makers_.dialect(assignment);
  }
  bool can_defer() const { return makers_.can_defer(agent_type()); }

  bool is_model_host(std::string_view host) const { return host == model_.host; }
  void count_tokens(const model::Usage& usage) const {
    if (figures_ != nullptr) figures_->count_tokens(usage);
  }

 private:
  const std::string& agent_type() const { return dispatch_.agent.kit.agent_type; }
  std::string program_path() const;

  const agents::RunContext& context_;
  const ProgramOptions& options_;
  dispatch::Dispatch& dispatch_;
  const ProgramMakers makers_;
  ProgramOptions::Place place_;
  ProgramModel model_;
  const inference::ProviderFigures* figures_ = nullptr;
};

// How its process ended: "it exited with code 1".
std::string exit_words(const sandbox::Exit& exit);

}  // namespace sluice::programs
