#include "programs/program_launch.h"

#include <utility>
#include <vector>

#include "model/session_id.h"
#include "programs/program_policy.h"
#include "programs/program_prompt.h"

namespace sluice::programs {
namespace {

constexpr std::string_view acp = "acp";

std::vector<model::HostTool> tools_of(const tools::Toolbox& toolbox, bool may_ask) {
  auto tools = toolbox.tools();
  if (!may_ask) return tools;
  for (auto& tool : tools::ask_tool_specs()) {
    if (!toolbox.has(tool.name)) {
      tools.push_back({std::move(tool.name), std::move(tool.description), std::move(tool.parameters)});
    }
  }
  return tools;
}

}  // namespace

Result<Unit> ProgramLaunch::prepare() {
  const auto wrong = [](std::string what) { return Error{ErrorKind::invalid, std::move(what)}; };
  if (const auto& find = options_.find) place_ = find(agent_type()).value_or(place_);
  if (program_path().empty()) {
    return wrong(agent_type() == acp ? "The agent has the agent_type \"acp\" and no command: name the program to start."
                                     : "The agent program " + agent_type() +
                                           " is not installed on this server: `sluice harness install " + agent_type() +
                                           "` installs it.");
  }
  if (const auto& id = dispatch_.extras.session_id; id && !model::is_session_id(*id)) {
    return wrong("The session_id cannot be one of an agent program: letters, digits, '-', '_', '.' and ':' only.");
  }
  auto route = context_.inference().providers.route(dispatch_.agent.model, dispatch_.secrets.get());
  if (!route) return std::move(route.error());
  figures_ = route.value().figures;
  auto planned = plan_program_model(route.value(), dispatch_.agent);
  if (!planned) return std::move(planned.error());
  model_ = std::move(planned).take();
  if (!model_.host.empty() && context_.sessions().egress == nullptr) {
    return Error{ErrorKind::unavailable, "The agent program " + agent_type() +
                                             " asks its model from inside its sandbox, and nothing leaves a sandbox of "
                                             "this server: switch egress on."};
  }
  if (model_.key) dispatch_.secrets->pin(*model_.key);
  dispatch_.agent.policy = policy_with(model_, std::move(dispatch_.agent.policy));
  const auto session_id = dispatch_.extras.session_id.value_or("");
  auto launch = plan(assignment({}, session_id, program_prompt(dispatch_, !session_id.empty())));
  if (!launch) return std::move(launch.error());
  return Unit{};
}

void ProgramLaunch::equip(sessions::SandboxSession& session) const {
  if (!model_.host.empty()) session.set_model_host({model_.host, model_.alias});
  if (!place_.folder.empty()) {
    session.bind({.from = place_.folder, .to = std::string(harness::program_dir) + "/" + agent_type()});
  }
}

std::string ProgramLaunch::program_path() const {
  if (agent_type() == acp) return dispatch_.agent.kit.command.empty() ? "" : dispatch_.agent.kit.command[0];
  return place_.path;
}

harness::Assignment ProgramLaunch::assignment(const ProgramParts& parts, const std::string& session_id,
                                              std::string prompt) const {
  harness::Assignment assignment{.agent_type = agent_type(),
                                 .command = dispatch_.agent.kit.command,
                                 .program = program_path(),
                                 .model = model_.access,
                                 .system_prompt = {},
                                 .prompt = std::move(prompt),
                                 .session_id = std::nullopt,
                                 .asks = may_object(dispatch_.agent.policy),
                                 .may_defer = dispatch_.may_ask && !dispatch_.keeps_box,
                                 .tools = {},
                                 .bridge_url = {},
                                 .variables = dispatch_.materials.variables};
  if (!session_id.empty()) assignment.session_id = session_id;
  if (parts.session) assignment.system_prompt = program_system_prompt(dispatch_, parts.session->place_words());
  if (parts.toolbox) assignment.tools = tools_of(*parts.toolbox, dispatch_.may_ask);
  if (!assignment.tools.empty() && parts.session->bridge() != nullptr) assignment.bridge_url = sessions::bridge_mcp_url;
  return assignment;
}

Result<harness::Launch> ProgramLaunch::plan(const harness::Assignment& assignment) const {
  auto launch = makers_.plan(assignment);
  if (launch) return launch;
  auto why = launch.error().what;
  if (!why.ends_with('.')) why += '.';
  return Error{ErrorKind::invalid, std::move(why)};
}

std::string exit_words(const sandbox::Exit& exit) {
  using sandbox::ExitCause;
  switch (exit.cause) {
    case ExitCause::exited: return "it exited with code " + std::to_string(exit.code);
    case ExitCause::killed: return "it was killed by signal " + std::to_string(exit.code);
    case ExitCause::out_of_memory: return "the sandbox's memory was used up";
    case ExitCause::cpu_limit: return "it used more processor time than the sandbox allows";
    case ExitCause::file_limit: return "it wrote a larger file than the sandbox allows";
    case ExitCause::timed_out:
    case ExitCause::stopped:
    case ExitCause::not_started:
    case ExitCause::box_lost: break;
  }
  return "it ended: " + std::string(name_of(exit.cause)) + (exit.what.empty() ? "" : ", " + exit.what);
}

}  // namespace sluice::programs
