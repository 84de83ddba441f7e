#include "station/answers.h"

#include <algorithm>

#include "base/json.h"
#include "base/limits.h"
#include "station/stream_request.h"

namespace sluice::station {
namespace {

constexpr int64_t rounds_max = 1'000;
constexpr int64_t runtime_seconds_max = 86'400;
constexpr int64_t output_tokens_max = 1'000'000;
constexpr int64_t depth_max = 1'000'000;
constexpr int64_t file_bytes_max = 512LL * 1024 * 1024;
constexpr std::size_t files_max = 100;
constexpr int64_t ts_max = 253'402'300'799'999;  // the year 9999

bool is_alnum(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); }

bool is_variable_name(std::string_view name) {
  return !name.empty() && name.size() <= limits::name_chars_max && !(name[0] >= '0' && name[0] <= '9') &&
         std::ranges::all_of(name, [](char c) { return is_alnum(c) || c == '_'; });
}

// One segment of a path, ours or a URL's, that leads nowhere else.
bool is_segment(std::string_view name) {
  return !name.empty() && name.size() <= 128 && name[0] != '.' &&
         std::ranges::all_of(name, [](char c) { return is_alnum(c) || c == '_' || c == '-' || c == '.'; });
}

bool is_file_name(std::string_view name) {
  return !name.empty() && name.size() <= 255 && name[0] != '.' && name.find('/') == std::string_view::npos &&
         std::ranges::none_of(name, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
}

bool is_sha256(std::string_view text) {
  return text.size() == 64 &&
         std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

// One object of an answer. The first member that is not what it must be stays in `fault`.
class Fields final {
 public:
  Fields(json::Value object, std::string at, std::string& fault) : object_(object), at_(std::move(at)), fault_(fault) {
    if (object.kind() != json::Kind::object) refuse("", "is not an object");
  }

  // Absent and null are the same.
  std::optional<json::Value> find(std::string_view name) const {
    const auto value = object_.find(name);
    return value && !value->is_null() ? value : std::nullopt;
  }
  std::string text(std::string_view name, std::string fallback = "") const {
    const auto value = find(name);
    if (!value) return fallback;
    if (!value->string()) return refuse(name, "is not a string"), fallback;
    return std::string(*value->string());
  }
  std::string needed_text(std::string_view name) const {
    if (!find(name)) refuse(name, "is missing");
    return text(name);
  }
  int64_t integer(std::string_view name, int64_t least, int64_t most, int64_t fallback) const {
    const auto value = find(name);
    if (!value) return fallback;
    const auto number = value->integer();
    if (number && *number >= least && *number <= most) return *number;
    refuse(name, "is not a whole number from " + std::to_string(least) + " to " + std::to_string(most));
    return fallback;
  }
  bool boolean(std::string_view name) const {
    const auto value = find(name);
    if (value && !value->boolean()) refuse(name, "is not true or false");
    return value && value->boolean().value_or(false);
  }
  template <typename Visit>
  void object(std::string_view name, Visit visit) const {
    if (const auto value = find(name)) visit(Fields(*value, at_ + "/" + std::string(name), fault_));
  }
  template <typename Visit>
  void each(std::string_view name, Visit visit) const {
    const auto value = find(name);
    if (!value) return;
    if (value->kind() != json::Kind::array) return refuse(name, "is not an array");
    int index = 0;
    value->each_element([&](json::Value element) {
      visit(Fields(element, at_ + "/" + std::string(name) + "/" + std::to_string(index++), fault_));
    });
  }
  template <typename Visit>
  void each_member(Visit visit) const {
    object_.each_member(visit);
  }
  void refuse(std::string_view name, std::string_view why) const {
    if (!fault_.empty()) return;
    fault_ = at_ + (name.empty() ? "" : "/" + std::string(name));
    fault_ = (fault_.empty() ? "it" : fault_) + " " + std::string(why);
  }

 private:
  json::Value object_;
  std::string at_;
  std::string& fault_;
};

void read_agent(const Fields& fields, ConfigAnswer& out) {
  out.agent.name = fields.text("name", "agent");
  out.agent.system_prompt = fields.text("system_prompt");
  out.agent.kit.agent_type = fields.text("agent_type", "native");
  out.max_rounds = fields.integer("max_rounds", 1, rounds_max, out.max_rounds);
  fields.object("model", [&](const Fields& model) {
    out.agent.model.provider = model.text("provider", out.agent.model.provider);
    out.agent.model.name = model.text("name", out.agent.model.name);
    if (model.find("base_url")) out.agent.model.base_url = model.text("base_url");
  });
}

void read_skill(const Fields& fields, ConfigAnswer& out) {
  dispatch::SkillUse skill{.id = fields.needed_text("id"),
                           .name = fields.needed_text("name"),
                           .description = fields.text("description"),
                           .sha256 = fields.needed_text("sha256")};
  if (!is_segment(skill.id)) fields.refuse("id", "has other characters than letters, digits, '.', '_' and '-'");
  if (!is_segment(skill.name)) fields.refuse("name", "has other characters than letters, digits, '.', '_' and '-'");
  if (!is_sha256(skill.sha256)) fields.refuse("sha256", "is not 64 hexadecimal digits");
  if (out.skills.size() == limits::skill_ids_max) fields.refuse("", "is one skill too many");
  out.skills.push_back(std::move(skill));
}

void read_repository(const Fields& fields, ConfigAnswer& out) {
  dispatch::RepositoryUse repository{.id = fields.text("id"),
                                     .url = fields.needed_text("url"),
                                     .ref = fields.text("ref"),
                                     .depth = fields.integer("depth", 0, depth_max, 1)};
  if (fields.find("credential_alias")) repository.credential_alias = fields.text("credential_alias");
  out.repository = std::move(repository);
}

void read_files(const Fields& fields, ConfigAnswer& out) {
  out.files_url = fields.needed_text("url");
  // A listing needs the names.
  if (!fields.find("items")) out.unused.emplace_back("files without items");
  fields.each("items", [&](const Fields& item) {
    dispatch::FileUse file{item.needed_text("name"), item.needed_text("sha256"),
                           item.integer("size", 0, file_bytes_max, 0)};
    if (!is_file_name(file.name)) item.refuse("name", "is not the name of a file");
    if (!is_sha256(file.sha256)) item.refuse("sha256", "is not 64 hexadecimal digits");
    const auto is_same = [&](const dispatch::FileUse& other) { return other.name == file.name; };
    if (std::ranges::any_of(out.files, is_same)) item.refuse("name", "comes twice");
    if (out.files.size() == files_max) item.refuse("", "is one file too many");
    out.files.push_back(std::move(file));
  });
}

void read_turn(const Fields& fields, ConfigAnswer& out) {
  const auto role = model::role_named(fields.needed_text("role"));
  if (!role) fields.refuse("role", "is not user, assistant or system");
  out.history.push_back(
      {role.value_or(model::Role::user), fields.needed_text("content"), Timestamp{fields.integer("ts", 0, ts_max, 0)}});
}

// Nothing in a rule is passed over: what is not understood might be what forbids.
void read_rule(const Fields& fields, ConfigAnswer& out) {
  model::PolicyRule rule{.reason = fields.text("reason")};
  const auto effect = model::effect_named(fields.needed_text("effect"));
  if (!effect) fields.refuse("effect", "is not allow, ask or deny");
  rule.effect = effect.value_or(model::Effect::deny);
  int subject_count = 0;
  fields.each_member([&](std::string_view name, json::Value value) {
    if (const auto subject = model::subject_named(name)) {
      rule.subject = *subject;
      rule.pattern = value.string().value_or("");
      if (rule.pattern.empty()) fields.refuse(name, "is not a pattern");
      ++subject_count;
    } else if (name == "secrets") {
      if (value.kind() != json::Kind::array) fields.refuse(name, "is not an array");
      value.each_element([&](json::Value alias) {
        if (!alias.string()) fields.refuse(name, "are not all aliases");
        rule.secrets.emplace_back(alias.string().value_or(""));
      });
    } else if (name != "effect" && name != "reason") {
      fields.refuse(name, "is nothing that this runner knows of rules");
    }
  });
  if (subject_count != 1) fields.refuse("", "is not a rule on one of tool, command, file and host");
  out.agent.policy.push_back(std::move(rule));
}

void read_server(const Fields& fields, ConfigAnswer& out) {
  model::McpServer server{.name = fields.needed_text("name"), .url = fields.needed_text("url")};
  if (!is_segment(server.name)) fields.refuse("name", "has other characters than letters, digits, '.', '_' and '-'");
  fields.object("headers", [&](const Fields& headers) {
    headers.each_member(
        [&](std::string_view name, json::Value) { server.headers.emplace(name, headers.needed_text(name)); });
  });
  out.agent.kit.mcp_servers.push_back(std::move(server));
}

// A workspace of ours says it all in `kit`, but for the type, which stands with the agent.
void read_kit(const Fields& fields, ConfigAnswer& out) {
  fields.each("mcp_servers", [&](const Fields& server) { read_server(server, out); });
  fields.object("kit", [&](const Fields&) {
    auto agent_type = std::move(out.agent.kit.agent_type);
    out.agent.kit = model::kit_from_json(*fields.find("kit"));
    out.agent.kit.agent_type = std::move(agent_type);
  });
}

void read_around(const Fields& fields, ConfigAnswer& out) {
  fields.object("callback", [&](const Fields& callback) {
    out.bearer = callback.text("token");
    if (!out.bearer.empty() && !is_token(out.bearer)) callback.refuse("token", "has characters that no token has");
    out.workspace_url = callback.text("base_url");
    // A workspace that says nothing of it judges by itself what the bearer is good for.
    const auto use = callback.text("workspace");
    if (use.empty()) return;
    const auto known = model::workspace_use_named(use);
    if (!known) callback.refuse("workspace", "must be none, read or write");
    out.workspace_use = known.value_or(model::WorkspaceUse::none);
  });
  fields.object("limits", [&](const Fields& its) {
    auto& limits = out.agent.limits;
    limits.max_runtime_seconds = its.integer("max_runtime_seconds", 1, runtime_seconds_max, limits.max_runtime_seconds);
    limits.max_output_tokens = its.integer("max_output_tokens", 1, output_tokens_max, limits.max_output_tokens);
  });
  fields.object("told", [&](const Fields& sent) {
    out.resumed = true;
    out.told_text = sent.text("text");
    out.told_reasoning = sent.text("reasoning");
  });
  out.filler = fields.boolean("filler");
  out.inference = fields.boolean("inference");
  fields.object("files", [&](const Fields& files) { read_files(files, out); });
}

}  // namespace

Result<EnvAnswer> read_env(std::string_view text) {
  const auto document = json::Document::parse(text);
  if (!document) return Error{ErrorKind::invalid, "the answer is not JSON: " + document.error().what};
  std::string fault;
  const Fields fields(document.value().root(), "", fault);
  EnvAnswer out{.script = fields.text("script")};
  fields.object("variables", [&](const Fields& variables) {
    fields.find("variables")->each_member([&](std::string_view name, json::Value value) {
      if (!is_variable_name(name)) variables.refuse(name, "is not the name of a variable");
      const auto its = value.string();
      if (!its || its->size() > limits::env_value_bytes_max || its->find('\0') != std::string_view::npos) {
        return variables.refuse(name, "is not a string that a variable can hold");
      }
      out.variables.emplace(name, *its);
    });
    if (out.variables.size() > limits::env_entries_max) variables.refuse("", "has too many variables");
  });
  if (!fault.empty()) return Error{ErrorKind::invalid, fault};
  return out;
}

Result<ConfigAnswer> read_config(std::string_view text, const model::ModelChoice& default_model) {
  const auto document = json::Document::parse(text);
  if (!document) return Error{ErrorKind::invalid, "the answer is not JSON: " + document.error().what};
  std::string fault;
  const Fields fields(document.value().root(), "", fault);
  ConfigAnswer out;
  out.agent.model = default_model;
  if (!fields.find("agent")) fields.refuse("agent", "is missing");
  fields.object("agent", [&](const Fields& agent) { read_agent(agent, out); });
  fields.each("skills", [&](const Fields& skill) { read_skill(skill, out); });
  fields.object("repository", [&](const Fields& repository) { read_repository(repository, out); });
  fields.each("conversation", [&](const Fields& turn) { read_turn(turn, out); });
  fields.each("policy", [&](const Fields& rule) { read_rule(rule, out); });
  read_kit(fields, out);
  read_around(fields, out);
  if (out.bearer.empty() && !(out.skills.empty() && out.files.empty())) {
    fields.refuse("callback", "has no token, without which skills and files cannot be fetched");
  }
  if (!fault.empty()) return Error{ErrorKind::invalid, fault};
  const auto old = out.history.size() - std::min(out.history.size(), limits::replay_turns_max);
  out.history.erase(out.history.begin(), out.history.begin() + static_cast<std::ptrdiff_t>(old));
  return out;
}

}  // namespace sluice::station
