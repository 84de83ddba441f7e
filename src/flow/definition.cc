#include "flow/definition.h"

#include <algorithm>
#include <array>

#include "base/limits.h"
#include "flow/members.h"
#include "net/net.h"

namespace sluice::flow {
namespace {

using Faults = model::FieldErrors;

constexpr std::string_view definition_names[] = {"inputs", "environment", "blocks", "edges", "outputs"};
constexpr std::string_view input_names[] = {"name", "type", "required", "default"};
constexpr std::string_view edge_names[] = {"from", "to", "when"};
constexpr std::string_view agents_names[] = {"id", "type", "agent", "prompt", "sandbox_url", "skills"};
constexpr std::string_view inference_names[] = {"id", "type", "model", "system", "prompt", "max_output_tokens"};
constexpr std::string_view model_names[] = {"provider", "name", "base_url", "key_alias"};
constexpr std::string_view http_names[] = {"id",      "type", "method",          "url",
                                           "headers", "body", "timeout_seconds", "idempotent"};
constexpr std::string_view condition_names[] = {"id", "type", "left", "op", "right"};

constexpr std::array<std::string_view, 4> input_type_names = {"text", "number", "boolean", "json"};
constexpr std::array<std::string_view, 4> kind_names = {"agents", "inference", "http", "condition"};
constexpr std::array<std::string_view, 7> comparison_names = {"eq", "ne", "contains", "starts_with",
                                                              "lt", "gt", "is_empty"};
constexpr std::string_view builtin_skills[] = {"tables", "files", "workflow_editor"};
constexpr std::string_view methods[] = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"};
constexpr std::string_view idempotent_methods[] = {"GET", "HEAD", "PUT", "DELETE"};
constexpr int64_t timeout_seconds_max = 300;
constexpr std::size_t headers_max = 50;

template <typename Words>
std::string list_of(const Words& words) {
  std::string out;
  for (const auto& word : words) out += (out.empty() ? "" : ", ") + std::string(word);
  return out;
}

// One of a few words; the first where it is none.
template <typename Enum, std::size_t count>
Enum word_of(const Members& from, std::string_view name, const std::array<std::string_view, count>& words) {
  const auto text = from.required_text(name);
  const auto* const found = std::ranges::find(words, text);
  if (found != words.end()) return static_cast<Enum>(found - words.begin());
  if (!text.empty()) from.refuse(name, "must be one of " + list_of(words));
  return Enum{};
}

Input read_input(const Members& from) {
  Input input;
  input.name = from.required_text("name");
  if (!input.name.empty() && !is_input_name(input.name)) {
    from.refuse("name", "must be letters, digits and _, not begin with a digit, and have at most 64 characters");
  }
  input.type = word_of<InputType>(from, "type", input_type_names);
  input.required = from.boolean("required").value_or(false);
  if (const auto fallback = from.value("default")) {
    if (!is_of_type(*fallback, input.type)) from.refuse("default", "must be of the input's type");
    input.fallback = fallback->to_text();
  }
  return input;
}

AgentsBlock read_agents(const Members& from, Faults& faults) {
  AgentsBlock block;
  block.agent = from.required_text("agent");
  block.prompt = from.required_words("prompt");
  block.sandbox_url = from.text("sandbox_url").value_or("");
  if (!block.sandbox_url.empty() && !is_sandbox_url(block.sandbox_url)) {
    from.refuse("sandbox_url", "must be the http or https URL of a runner");
  }
  from.each_value("skills", std::size(builtin_skills), [&](json::Value skill, const std::string& at) {
    const auto name = skill.string().value_or("");
    if (std::ranges::find(builtin_skills, name) == std::end(builtin_skills)) {
      return faults.push_back({at, "must be one of " + list_of(builtin_skills)});
    }
    block.skills.emplace_back(name);
  });
  return block;
}

InferenceBlock read_inference(const Members& from) {
  InferenceBlock block;
  block.prompt = from.required_words("prompt");
  block.system = from.words("system");
  block.inference.max_output_tokens = from.integer("max_output_tokens", 1, 1'000'000).value_or(0);
  if (const auto choice = from.object("model", model_names)) {
    auto& model = block.inference.model;
    model.provider = choice->required_text("provider");
    model.name = choice->required_text("name");
    model.base_url = choice->text("base_url");
    model.key_alias = choice->text("key_alias");
    if (model.key_alias && !model::is_alias(*model.key_alias)) {
      choice->refuse("key_alias", "must be the alias of a secret: ^[A-Z][A-Z0-9_]{0,63}$");
    }
  }
  return block;
}

JsonTemplate read_json_template(json::Value value, const std::string& at, Faults& faults) {
  JsonTemplate out;
  if (const auto text = value.string()) {
    out.kind = JsonTemplate::Kind::words;
    auto parsed = Template::parse(*text);
    if (!parsed) faults.push_back({at, parsed.error().what});
    if (parsed) out.words = std::move(parsed).take();
  } else if (value.kind() == json::Kind::object) {
    out.kind = JsonTemplate::Kind::object;
    value.each_member([&](std::string_view name, json::Value member) {
      out.names.emplace_back(name);
      out.inner.push_back(read_json_template(member, pointer_to(at, name), faults));
    });
  } else if (value.kind() == json::Kind::array) {
    out.kind = JsonTemplate::Kind::list;
    value.each_element([&](json::Value element) {
      out.inner.push_back(read_json_template(element, pointer_to(at, std::to_string(out.inner.size())), faults));
    });
  } else {
    out.literal = value.to_text();
  }
  return out;
}

// Content-Type and Accept are the caller's own business here, unlike elsewhere.
std::string_view fault_of_header(const std::string& name) {
  std::string lower = name;
  std::ranges::transform(lower, lower.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c; });
  if (lower == "content-type" || lower == "accept") return {};
  if (lower == "idempotency-key") return "is set by the server itself";
  return net::fault_of_header(name, "");
}

HttpBlock read_http(const Members& from, Faults& faults) {
  HttpBlock block;
  block.method = from.required_text("method");
  if (!block.method.empty() && std::ranges::find(methods, block.method) == std::end(methods)) {
    from.refuse("method", "must be one of " + list_of(methods));
  }
  block.url = from.required_words("url");
  if (const auto headers = from.object("headers", {})) {
    from.value("headers")->each_member([&](std::string_view name, json::Value) {
      const std::string header(name);
      if (const auto fault = fault_of_header(header); !fault.empty()) headers->refuse(name, std::string(fault));
      block.headers.emplace_back(header, headers->words(name));
    });
    if (block.headers.size() > headers_max) {
      from.refuse("headers", "must have at most " + std::to_string(headers_max) + " members");
    }
  }
  if (const auto body = from.value("body")) {
    const bool is_json = body->kind() == json::Kind::object || body->kind() == json::Kind::array;
    if (is_json) {
      block.body = read_json_template(*body, from.pointer("body"), faults);
    } else {
      block.body = from.words("body");
    }
  }
  block.timeout_seconds = from.integer("timeout_seconds", 1, timeout_seconds_max).value_or(60);
  block.is_idempotent = from.boolean("idempotent").value_or(false) ||
                        std::ranges::find(idempotent_methods, block.method) != std::end(idempotent_methods);
  return block;
}

ConditionBlock read_condition(const Members& from) {
  ConditionBlock block;
  block.left = from.required_words("left");
  block.comparison = word_of<Comparison>(from, "op", comparison_names);
  block.right = from.words("right");
  if (block.comparison != Comparison::is_empty && !from.has("right")) from.refuse("right", "is required");
  return block;
}

std::span<const std::string_view> names_of(std::string_view kind) {
  if (kind == "agents") return agents_names;
  if (kind == "inference") return inference_names;
  if (kind == "http") return http_names;
  if (kind == "condition") return condition_names;
  return {};
}

Block read_block(json::Value value, const std::string& at, Faults& faults) {
  const auto type = value.find("type");
  const auto kind = type ? type->string().value_or("") : "";
  const Members from(value, at, names_of(kind), faults);
  Block block;
  if (value.kind() != json::Kind::object) return block;
  block.id = from.required_text("id");
  if (!block.id.empty() && !is_block_name(block.id)) {
    from.refuse("id", "must be lower case letters, digits, - and _, and have at most 64 characters");
  }
  if (kind == "agents") {
    block.what = read_agents(from, faults);
  } else if (kind == "inference") {
    block.what = read_inference(from);
  } else if (kind == "http") {
    block.what = read_http(from, faults);
  } else if (kind == "condition") {
    block.what = read_condition(from);
  } else {
    from.refuse("type", "must be one of " + list_of(kind_names));
  }
  return block;
}

bool is_variable_name(std::string_view name) {
  return name.size() <= limits::env_name_chars_max && !name.empty() && (name.front() < '0' || name.front() > '9') &&
         std::ranges::all_of(name, [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
         });
}

std::map<std::string, std::string> read_environment(const Members& from) {
  std::map<std::string, std::string> out;
  const auto inner = from.object("environment", {});
  if (!inner) return out;
  const auto all = *from.value("environment");
  if (all.size() > limits::env_entries_max) {
    from.refuse("environment", "must have at most " + std::to_string(limits::env_entries_max) + " entries");
    return out;
  }
  all.each_member([&](std::string_view name, json::Value) {
    if (!is_variable_name(name)) return inner->refuse(name, "is no name of a variable");
    const auto text = inner->text(name);
    if (!inner->has(name)) inner->refuse(name, "must be a string");
    if (!text) return;
    if (text->size() > limits::env_value_bytes_max || text->find('\0') != std::string::npos) {
      return inner->refuse(name, "must be text of at most " + std::to_string(limits::env_value_bytes_max) + " bytes");
    }
    if (name == sandbox_url_name && !is_sandbox_url(*text)) {
      return inner->refuse(name, "must be the http or https URL of a runner");
    }
    out.emplace(name, *text);
  });
  return out;
}

void visit_json(const JsonTemplate& json, const std::string& at,
                const std::function<void(const std::string&, const Template&)>& visit) {
  if (json.kind == JsonTemplate::Kind::words) return visit(at, json.words);
  for (std::size_t i = 0; i < json.inner.size(); ++i) {
    const bool is_object = json.kind == JsonTemplate::Kind::object;
    visit_json(json.inner[i], pointer_to(at, is_object ? json.names[i] : std::to_string(i)), visit);
  }
}

}  // namespace

std::string_view name_of(InputType type) { return input_type_names.at(static_cast<std::size_t>(type)); }

std::string_view Block::kind() const { return kind_names.at(what.index()); }

bool is_sandbox_url(std::string_view url) { return net::is_plain_url(url); }

bool is_of_type(json::Value value, InputType type) {
  using enum json::Kind;
  switch (type) {
    case InputType::text: return value.kind() == string;
    case InputType::number: return value.kind() == integer || value.kind() == real;
    case InputType::boolean: return value.kind() == boolean;
    case InputType::json: return true;
  }
  return false;
}

Definition read_definition(json::Value value, const std::string& at, model::FieldErrors& faults) {
  Definition out;
  const Members from(value, at, definition_names, faults);
  if (value.kind() != json::Kind::object) return out;
  if (value.to_text().size() > limits::workflow_definition_bytes_max) {
    faults.push_back({at, "must have at most " + std::to_string(limits::workflow_definition_bytes_max) + " bytes"});
    return out;
  }
  from.each("inputs", limits::workflow_inputs_max, input_names,
            [&](const Members& input) { out.inputs.push_back(read_input(input)); });
  out.environment = read_environment(from);
  if (!from.has("blocks")) from.refuse("blocks", "is required");
  from.each_value("blocks", limits::workflow_blocks_max, [&](json::Value block, const std::string& where) {
    out.blocks.push_back(read_block(block, where, faults));
  });
  from.each("edges", limits::workflow_edges_max, edge_names, [&](const Members& edge) {
    out.edges.push_back({edge.required_text("from"), edge.required_text("to"), edge.boolean("when")});
  });
  if (const auto outputs = from.object("outputs", {})) {
    from.value("outputs")->each_member([&](std::string_view name, json::Value) {
      if (!is_input_name(name)) outputs->refuse(name, "is no name of an output: letters, digits and _");
      out.outputs.emplace_back(name, outputs->words(name));
    });
    if (out.outputs.size() > limits::workflow_inputs_max) {
      from.refuse("outputs", "must have at most " + std::to_string(limits::workflow_inputs_max) + " members");
    }
  }
  return out;
}

void each_template(const Block& block, const std::function<void(const std::string& at, const Template&)>& visit) {
  if (const auto* agents = std::get_if<AgentsBlock>(&block.what)) visit("/prompt", agents->prompt);
  if (const auto* inference = std::get_if<InferenceBlock>(&block.what)) {
    visit("/system", inference->system);
    visit("/prompt", inference->prompt);
  }
  if (const auto* condition = std::get_if<ConditionBlock>(&block.what)) {
    visit("/left", condition->left);
    visit("/right", condition->right);
  }
  if (const auto* http = std::get_if<HttpBlock>(&block.what)) {
    visit("/url", http->url);
    for (const auto& [name, value] : http->headers) visit(pointer_to("/headers", name), value);
    if (const auto* words = std::get_if<Template>(&http->body)) visit("/body", *words);
    if (const auto* json = std::get_if<JsonTemplate>(&http->body)) visit_json(*json, "/body", visit);
  }
}

}  // namespace sluice::flow
