#include "programs/program_model.h"

#include <utility>

#include "gates/gates.h"
#include "runs/runs.h"

namespace sluice::programs {
namespace {

constexpr std::string_view no_key = "none";  // programs want to see one

// Agent programs do not ask the proxy for these, whatever their address is to the server.
bool is_loopback(std::string_view host) {
  return host == "localhost" || host.ends_with(".localhost") || host.starts_with("127.") || host == "::1" ||
         host == "[::1]";
}

Error wrong(std::string what) { return {ErrorKind::invalid, std::move(what)}; }

// Why an agent program cannot ask its model there; empty: it can.
std::string fault_of_base_url(const std::string& url) {
  if (!is_loopback(gates::normal_host(runs::host_of(url)).value_or(""))) return {};
  return "The model's base URL " + url +
         " is on the loopback interface. An agent program asks "
         "its model from inside the sandbox, which has a loopback of its own: give the provider a host name and "
         "map that with egress.host_addresses (docs/models.md, \"A model on the same machine\").";
}

}  // namespace

std::string fault_of_program_model(const inference::Options& options, const model::Agent& agent) {
  const auto& type = agent.kit.agent_type;
  // A command of one's own may bring its own model.
  const bool asks_it = type != "native" && type != "acp";
  return asks_it ? fault_of_base_url(inference::model_base_url(options, agent.model)) : std::string();
}

Result<ProgramModel> plan_program_model(const inference::Route& route, const model::Agent& agent) {
  const auto& type = agent.kit.agent_type;
  ProgramModel planned{.access = {.name = agent.model.name}};
  if (route.dialect == nullptr) {
    if (type == "acp") return planned;
    return wrong("The agent program " + type + " asks its model over HTTP, and \"" + route.provider +
                 "\" is a model of this server's own: give the agent a model of another provider.");
  }
  planned.access.dialect = route.dialect->name();
  planned.access.base_url = route.endpoint.base_url;
  planned.access.key = no_key;
  planned.host = gates::normal_host(runs::host_of(route.endpoint.base_url)).value_or("");
  planned.port = runs::port_of(route.endpoint.base_url);
  if (planned.host.empty()) return wrong("The model's base URL " + route.endpoint.base_url + " names no host.");
  if (auto fault = fault_of_base_url(route.endpoint.base_url); !fault.empty()) return wrong(std::move(fault));
  if (gates::rule_on_host(policy_with(planned, agent.policy), planned.host).effect == model::Effect::deny) {
    return wrong("The agent's policy denies requests to " + planned.host +
                 ", where its model is asked. An agent program asks its model from inside the sandbox: take the rule "
                 "away, or choose another model.");
  }
  if (route.endpoint.api_key.empty()) return planned;
  planned.alias = route.key_alias.empty() ? std::string(model_key_alias) : route.key_alias;
  planned.access.key = vault::placeholder(planned.alias);
  if (!route.key_alias.empty()) return planned;
  if (const auto checked = vault::check_value(route.endpoint.api_key, vault::value_bytes_min); !checked) {
    return wrong("The key of the model provider \"" + route.provider + "\" cannot be used: " + checked.error().what +
                 ".");
  }
  planned.key = vault::Secret{planned.alias, route.endpoint.api_key, {planned.host}, model::place_header};
  return planned;
}

model::Policy policy_with(const ProgramModel& model, model::Policy policy) {
  if (model.host.empty()) return policy;
  model::PolicyRule rule{.effect = model::Effect::allow, .subject = model::Subject::host, .pattern = model.host};
  if (!model.alias.empty()) rule.secrets.push_back(model.alias);
  if (model.port != 0) rule.ports.push_back(static_cast<uint16_t>(model.port));
  policy.push_back(std::move(rule));
  return policy;
}

}  // namespace sluice::programs
