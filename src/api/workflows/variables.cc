#include "api/workflows/variables.h"

#include <map>
#include <optional>

#include "base/check.h"

namespace sluice::api::workflows {
namespace {

constexpr std::string_view member_name = "environment";

// The definition with `environment` in the place of its own, or at its end if it has none.
std::string with_environment(json::Value definition, std::string_view environment) {
  std::string out;
  json::Writer writer(out);
  writer.begin_object();
  bool is_written = false;
  definition.each_member([&](std::string_view name, json::Value value) {
    const bool is_it = name == member_name;
    writer.key_escaped(name).raw(is_it ? std::string(environment) : value.to_text());
    is_written = is_written || is_it;
  });
  if (!is_written) writer.key(member_name).raw(environment);
  writer.end_object();
  return out;
}

std::map<std::string, std::string> variables_of(json::Value definition) {
  std::map<std::string, std::string> out;
  const auto environment = definition.find(member_name);
  if (!environment) return out;
  environment->each_member(
      [&](std::string_view name, json::Value value) { out.emplace(name, value.string().value_or("")); });
  return out;
}

}  // namespace

std::string hide_variables(const std::string& definition) {
  const auto parsed = json::Document::parse(definition);
  SLUICE_CHECK(parsed);  // it was checked when it was kept
  const auto variables = variables_of(parsed.value().root());
  if (variables.empty()) return definition;
  std::string hidden;
  json::Writer writer(hidden);
  writer.begin_object();
  for (const auto& [name, value] : variables) writer.key_escaped(name).string(hidden_value);
  writer.end_object();
  return with_environment(parsed.value().root(), hidden);
}

std::string keep_variables(json::Value sent, const std::string& before, Findings& findings) {
  const auto environment = sent.find(member_name);
  const bool is_object = !environment || environment->is_null() || environment->kind() == json::Kind::object;
  if (sent.kind() != json::Kind::object || !is_object) return sent.to_text();  // it will be refused as it is
  const auto parsed = json::Document::parse(before);
  SLUICE_CHECK(parsed);
  auto kept = variables_of(parsed.value().root());
  if (kept.empty() && !environment) return sent.to_text();
  std::string merged;
  json::Writer writer(merged);
  writer.begin_object();
  if (environment) {
    environment->each_member([&](std::string_view name, json::Value value) {
      const auto known = kept.extract(std::string(name));
      const bool is_hidden = value.string() == hidden_value;
      if (is_hidden && known.empty()) {
        findings.refuse(model::pointer_to("/definition/environment", name),
                        "is the mark of a hidden value, and the workflow has no variable of this name");
      }
      writer.key_escaped(name);
      is_hidden && !known.empty() ? writer.string(known.mapped()) : writer.raw(value.to_text());
    });
  }
  for (const auto& [name, value] : kept) writer.key_escaped(name).string(value);
  writer.end_object();
  return with_environment(sent, merged);
}

}  // namespace sluice::api::workflows
