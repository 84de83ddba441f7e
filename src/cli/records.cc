// Conversations, messages, runs and agents.
#include <algorithm>
#include <fstream>
#include <sstream>

#include "base/json.h"
#include "cli/cli.h"
#include "cli/render.h"
#include "cli/requests.h"

namespace sluice::cli {
namespace {

constexpr std::pair<std::string_view, std::string_view> limit_flags[] = {
    {"--max-output-tokens", "max_output_tokens"},
    {"--max-runtime-seconds", "max_runtime_seconds"},
    {"--max-history-messages", "max_history_messages"},
};

constexpr std::string_view kit_members[] = {"command", "mcp_servers", "tools", "code_mode"};

Result<Unit> write_model(json::Writer& writer, const Arguments& arguments) {
  if (arguments.has("--provider") != arguments.has("--model")) {
    return Error{ErrorKind::invalid, "--provider and --model belong together"};
  }
  if (!arguments.has("--provider")) {
    for (const std::string_view flag : {"--base-url", "--key-alias"}) {
      if (arguments.has(flag)) return Error{ErrorKind::invalid, std::string(flag) + " needs --provider and --model"};
    }
    return Unit{};
  }
  writer.key("model").begin_object().key("provider").string(arguments.flag("--provider"));
  writer.key("name").string(arguments.flag("--model"));
  if (arguments.has("--base-url")) writer.key("base_url").string(arguments.flag("--base-url"));
  if (arguments.has("--key-alias")) writer.key("key_alias").string(arguments.flag("--key-alias"));
  writer.end_object();
  return Unit{};
}

// What is in a file, as the API takes it; what it means is for the server to judge.
Result<json::Document> read_json(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) return Error{ErrorKind::invalid, path + " cannot be read"};
  auto document = json::Document::parse(text.str());
  if (!document) return Error{ErrorKind::invalid, path + ": " + document.error().what};
  return document;
}

Result<std::string> read_policy(const std::string& path) {
  const auto document = read_json(path);
  if (!document) return document.error();
  if (document.value().root().kind() == json::Kind::array) return document.value().root().to_text();
  return Error{ErrorKind::invalid, path + R"( must be a list of rules: [{"effect":"allow","host":"api.example.com"}])"};
}

Result<Unit> write_kit(json::Writer& writer, const Arguments& arguments) {
  if (!arguments.has("--kit")) return Unit{};
  const auto path = arguments.flag("--kit");
  const auto document = read_json(path);
  if (!document) return document.error();
  if (document.value().root().kind() != json::Kind::object) {
    return Error{ErrorKind::invalid, path + R"( must be an object: {"code_mode":true,"tools":[…]})"};
  }
  std::string stranger;
  document.value().root().each_member([&](std::string_view name, json::Value value) {
    if (std::ranges::find(kit_members, name) == std::end(kit_members)) stranger = name;
    writer.key(name).raw(value.to_text());
  });
  if (stranger.empty()) return Unit{};
  return Error{ErrorKind::invalid, path + ": " + stranger + " is none of command, mcp_servers, tools, code_mode"};
}

// What the flags say about an agent, as the API wants it. `invalid` in words.
Result<std::string> agent_body(const Arguments& arguments, const std::string& name) {
  std::string body;
  json::Writer writer(body);
  writer.begin_object();
  if (!name.empty()) writer.key("name").string(name);
  if (arguments.has("--system")) writer.key("system_prompt").string(arguments.flag("--system"));
  if (const auto written = write_model(writer, arguments); !written) return written.error();
  std::string given;
  json::Writer inner(given);
  inner.begin_object();
  for (const auto& [flag, member] : limit_flags) {
    if (!arguments.has(flag)) continue;
    const auto count = count_of(arguments, flag);
    if (!count) return count.error();
    inner.key(member).integer(count.value());
  }
  inner.end_object();
  if (given != "{}") writer.key("limits").raw(given);
  write_skills(writer, arguments);
  if (arguments.has("--environment")) {
    const auto id = arguments.flag("--environment");
    writer.key("environment_id");
    id.empty() ? writer.null() : writer.string(id);
  }
  if (arguments.has("--policy")) {
    const auto policy = read_policy(arguments.flag("--policy"));
    if (!policy) return policy.error();
    writer.key("policy").raw(policy.value());
  }
  if (arguments.has("--type")) writer.key("agent_type").string(arguments.flag("--type"));
  if (arguments.has("--workspace")) writer.key("workspace").string(arguments.flag("--workspace"));
  if (const auto written = write_kit(writer, arguments); !written) return written.error();
  if (arguments.has("--default")) writer.key("is_default").boolean(true);
  writer.end_object();
  return body;
}

// Whether a rule speaks of what the agent does inside its sandbox, where only its program can ask.
bool objects_inside(json::Value agent) {
  bool objects = false;
  if (const auto policy = agent.find("policy")) {
    policy->each_element(
        [&](json::Value rule) { objects |= text_of(rule, "effect") != "allow" && !rule.find("host").has_value(); });
  }
  return objects;
}

int save_agent(Context& context, const std::string& method, const std::string& path, const std::string& name) {
  const auto body = agent_body(context.arguments, name);
  if (body) {
    return request(context, As::service, method, path, body.value(), [&](json::Value agent) {
      if (text_of(agent, "agent_type") == "acp" && objects_inside(agent)) {
        context.console.err(
            "sluice: agent " + harmless(text_of(agent, "id")) +
            " has a policy, and a program of the type acp decides itself what it asks about: what it does "
            "without asking is bounded by its sandbox and its rules about hosts only. Try it before you "
            "rely on the policy (docs/harnesses/acp.md).\n");
      }
      return fields_of(agent);
    });
  }
  report_error(context.console, context.form(), body.error().what);
  return exit_usage;
}

constexpr std::pair<std::string_view, std::string_view> conversation_texts[] = {
    {"--agent", "agent_id"}, {"--title", "title"}, {"--user", "user_id"}, {"--repository", "repository_id"}};

int save_conversation(Context& context, const std::string& method, const std::string& path) {
  std::string body;
  json::Writer writer(body);
  writer.begin_object();
  for (const auto& [flag, member] : conversation_texts) {
    if (context.arguments.has(flag)) writer.key(member).string(context.arguments.flag(flag));
  }
  if (const auto written = write_runtime(writer, context.arguments); !written) {
    report_error(context.console, context.form(), written.error().what);
    return exit_usage;
  }
  writer.end_object();
  return show(context, As::service, method, path, body);
}

constexpr Column conversation_columns[] = {
    {"ID", "id"}, {"STATUS", "status"}, {"LAST MESSAGE", "last_message_at"}, {"USER", "user_id"}, {"TITLE", "title"}};
constexpr Column run_columns[] = {
    {"ID", "id"}, {"STATE", "state"}, {"CREATED", "created_at"}, {"ENDED", "ended_at"}, {"MESSAGE", "message_id"}};
constexpr Column agent_columns[] = {{"ID", "id"},
                                    {"NAME", "name"},
                                    {"TYPE", "agent_type"},
                                    {"PROVIDER", "model.provider"},
                                    {"MODEL", "model.name"},
                                    {"DEFAULT", "is_default"}};

}  // namespace

Result<int64_t> count_of(const Arguments& arguments, std::string_view flag) {
  const auto value = arguments.flag(flag);
  if (!value.empty() && value.size() <= 18 && value.find_first_not_of("0123456789") == std::string::npos) {
    return std::stoll(value);
  }
  return Error{ErrorKind::invalid, std::string(flag) + " must be a number, not \"" + value + "\""};
}

Result<Unit> write_runtime(json::Writer& writer, const Arguments& arguments) {
  if (!arguments.has("--mode") && !arguments.has("--sticky-ttl-seconds") && !arguments.has("--type")) return Unit{};
  writer.key("runtime").begin_object();
  if (arguments.has("--type")) writer.key("agent_type").string(arguments.flag("--type"));
  if (arguments.has("--mode")) writer.key("mode").string(arguments.flag("--mode"));
  if (arguments.has("--sticky-ttl-seconds")) {
    const auto seconds = count_of(arguments, "--sticky-ttl-seconds");
    if (!seconds) return seconds.error();
    writer.key("sticky_ttl_seconds").integer(seconds.value());
  }
  writer.end_object();
  return Unit{};
}

int list_messages(Context& c) {
  return list(c, As::service, "/v1/conversations/" + path_part(c.operand(0)) + "/messages", {{"order", "--order"}},
              dialogue_of);
}

int list_conversations(Context& c) {
  return list_table(c, As::service, "/v1/conversations", conversation_columns, {{"user_id", "--user"}});
}
int show_conversation(Context& c) {
  return show(c, As::service, "GET", "/v1/conversations/" + path_part(c.operand(0)));
}
int create_conversation(Context& c) { return save_conversation(c, "POST", "/v1/conversations"); }
int update_conversation(Context& c) {
  return save_conversation(c, "PATCH", "/v1/conversations/" + path_part(c.operand(0)));
}
int archive_conversation(Context& c) {
  return show(c, As::service, "PATCH", "/v1/conversations/" + path_part(c.operand(0)),
              object_with("status", "archived"));
}
int unarchive_conversation(Context& c) {
  return show(c, As::service, "PATCH", "/v1/conversations/" + path_part(c.operand(0)), object_with("status", "active"));
}

int list_runs(Context& c) {
  return list_table(c, As::service, "/v1/runs", run_columns, {{"conversation_id", "--conversation"}});
}
int show_run(Context& c) { return show(c, As::service, "GET", "/v1/runs/" + path_part(c.operand(0))); }
int cancel_run(Context& c) { return show(c, As::service, "POST", "/v1/runs/" + path_part(c.operand(0)) + "/cancel"); }

int list_agents(Context& c) { return list_table(c, As::service, "/v1/agents", agent_columns); }
int create_agent(Context& c) { return save_agent(c, "POST", "/v1/agents", c.operand(0)); }
int show_agent(Context& c) { return show(c, As::service, "GET", "/v1/agents/" + path_part(c.operand(0))); }
int update_agent(Context& c) {
  return save_agent(c, "PATCH", "/v1/agents/" + path_part(c.operand(0)), c.arguments.flag("--name"));
}
int delete_agent(Context& c) { return show(c, As::service, "DELETE", "/v1/agents/" + path_part(c.operand(0))); }

}  // namespace sluice::cli
