// A workflow's definition, read: what its blocks are and how they hang together. Whether that makes sense as a whole is
// for flow/plan.h to say.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/json.h"
#include "flow/template.h"
#include "model/model.h"

namespace sluice::flow {

enum class InputType : uint8_t { text, number, boolean, json };
std::string_view name_of(InputType type);
bool is_of_type(json::Value value, InputType type);

struct Input {
  std::string name;
  InputType type = InputType::text;
  bool required = false;
  std::optional<std::string> fallback;  // JSON
};

struct AgentsBlock {
  std::string agent;  // its id, or its name
  Template prompt;
  std::string sandbox_url;  // empty: the workflow's, or the server's
  std::vector<std::string> skills;
};

struct InferenceBlock {
  model::Inference inference;  // its system prompt is a template
  Template system;
  Template prompt;
};

// The body of a request: text, or JSON whose strings are templates. As a tree, so that what a template becomes cannot
// break out of its string.
struct JsonTemplate {
  enum class Kind : uint8_t { literal, words, list, object };
  Kind kind = Kind::literal;
  std::string literal;              // JSON that has no text in it
  Template words;                   // what is in a string
  std::vector<std::string> names;   // of an object's members
  std::vector<JsonTemplate> inner;  // elements, or what the members are
};

struct HttpBlock {
  std::string method;
  Template url;
  std::vector<std::pair<std::string, Template>> headers;
  std::variant<std::monostate, Template, JsonTemplate> body;
  int64_t timeout_seconds = 60;
  bool is_idempotent = false;  // said to be, or by its method
};

enum class Comparison : uint8_t { eq, ne, contains, starts_with, lt, gt, is_empty };
struct ConditionBlock {
  Template left;
  Comparison comparison = Comparison::eq;
  Template right;
};

struct Block {
  std::string id;
  std::variant<AgentsBlock, InferenceBlock, HttpBlock, ConditionBlock> what;

  std::string_view kind() const;
  bool is_condition() const { return std::holds_alternative<ConditionBlock>(what); }
  bool has_run() const {
    return std::holds_alternative<AgentsBlock>(what) || std::holds_alternative<InferenceBlock>(what);
  }
};

struct Edge {
  std::string from;
  std::string to;
  std::optional<bool> when;  // of a condition
};

struct Definition {
  std::vector<Input> inputs;
  std::map<std::string, std::string> environment;  // SANDBOX_URL among it
  std::vector<Block> blocks;
  std::vector<Edge> edges;
  std::vector<std::pair<std::string, Template>> outputs;
};

// What is wrong is added to `faults`, with JSON pointers that begin with `at`.
Definition read_definition(json::Value value, const std::string& at, model::FieldErrors& faults);

// The URL of a runner: http or https, without doubt.
bool is_sandbox_url(std::string_view url);
inline constexpr std::string_view sandbox_url_name = "SANDBOX_URL";

// Calls for each template of the block, with the pointer to it from the block's own.
void each_template(const Block& block, const std::function<void(const std::string& at, const Template&)>& visit);

}  // namespace sluice::flow
