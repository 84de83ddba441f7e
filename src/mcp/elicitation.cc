#include "mcp/elicitation.h"

#include "mcp/message.h"

namespace sluice::mcp {
namespace {

constexpr std::size_t default_bytes_max = 16 * 1024;

bool is_any_of(json::Value choices, std::string_view chosen, std::string_view member) {
  bool found = false;
  choices.each_element([&](json::Value choice) {
    const auto value = member.empty() ? std::optional(choice) : choice.find(member);
    found = found || (value && value->string() == chosen);
  });
  return found;
}

// The choices of a field, plain (enum) or with titles (oneOf, anyOf): true where there are none.
bool may_be_chosen(json::Value field, std::string_view chosen) {
  if (const auto choices = field.find("enum")) return is_any_of(*choices, chosen, "");
  for (const auto* name : {"oneOf", "anyOf"}) {
    if (const auto choices = field.find(name)) return is_any_of(*choices, chosen, "const");
  }
  return true;
}

bool are_choices(json::Value field, json::Value chosen) {
  const auto items = field.find("items");
  bool all = items.has_value();
  chosen.each_element([&](json::Value one) {
    const auto text = one.string();
    all = all && text && may_be_chosen(*items, *text);
  });
  return all;
}

bool fits(json::Value field, json::Value value) {
  const auto type = field.find("type").value_or(json::Value()).string().value_or("");
  if (type == "string") return value.string() && may_be_chosen(field, *value.string());
  if (type == "integer") return value.integer().has_value();
  if (type == "number") return value.real().has_value();
  if (type == "boolean") return value.boolean().has_value();
  return type == "array" && value.kind() == json::Kind::array && are_choices(field, value);
}

// The form filled in with its defaults, as JSON; empty where one is missing, or does not fit its field.
std::string filled_in(json::Value fields) {
  std::string content;
  json::Writer writer(content);
  writer.begin_object();
  bool is_whole = true;
  fields.each_member([&](std::string_view name, json::Value field) {
    const auto value = field.find("default");
    is_whole = is_whole && value && fits(field, *value);
    if (!is_whole) return;
    const auto text = value->to_text();
    is_whole = text.size() + content.size() <= default_bytes_max;
    if (is_whole) writer.key_escaped(name).raw(text);
  });
  writer.end_object();
  return is_whole ? content : "";
}

}  // namespace

std::string answer_to_elicitation(std::string_view id, json::Value params) {
  const auto mode = params.find("mode").value_or(json::Value()).string().value_or("form");
  if (mode != "form") return error_response(id, invalid_params, "This client fills in forms only.");
  const auto schema = params.find("requestedSchema");
  const auto fields = schema ? schema->find("properties") : std::nullopt;
  // A form without fields is a question to a human: only a human says yes to it.
  const auto count = fields ? fields->size() : 0;
  const auto content = count > 0 && count <= form_fields_max ? filled_in(*fields) : "";
  if (content.empty()) return response(id, R"({"action":"decline"})");
  return response(id, R"({"action":"accept","content":)" + content + "}");
}

}  // namespace sluice::mcp
