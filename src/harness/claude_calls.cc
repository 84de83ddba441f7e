#include "harness/claude_calls.h"

#include <utility>

#include "harness/complaint.h"
#include "harness/json_line.h"

namespace sluice::harness {
namespace {

constexpr std::string_view host_prefix = "mcp__sluice__";

// {"todos":[{"content","status"}]}; empty when there is no list.
std::string todo_value(std::string_view arguments) {
  const auto document = json::Document::parse(arguments);
  if (!document) return {};
  const auto todos = value_in(document.value().root(), "todos");
  if (todos.kind() != json::Kind::array) return {};
  std::string out;
  json::Writer writer(out);
  writer.begin_object().key("todos").begin_array();
  todos.each_element([&](json::Value todo) {
    writer.begin_object().key("content").string(text_in(todo, "content"));
    writer.key("status").string(text_in(todo, "status")).end_object();
  });
  writer.end_array().end_object();
  return out;
}

}  // namespace

bool is_host_tool(std::string_view name) { return name.starts_with(host_prefix); }

std::string reported_name(std::string_view name) {
  if (name == "Agent") return "Task";  // its hooks use the one name, its stream the other
  return std::string(is_host_tool(name) ? name.substr(host_prefix.size()) : name);
}

ClaudeCalls::Call* ClaudeCalls::find(std::string_view id, State state) {
  const auto found = calls_.find(id);
  return found == calls_.end() || found->second.state != state ? nullptr : &found->second;
}

ClaudeCalls::Call* ClaudeCalls::add(std::string_view id, Out out) {
  if (id.empty() || calls_.contains(id)) return nullptr;
  if (calls_.size() < calls_max) return &calls_[std::string(id)];
  if (!std::exchange(is_full_, true)) out.push_back(too_many_calls());
  return nullptr;
}

void ClaudeCalls::began(std::string_view id, std::string_view name, Out out) {
  if (add(id, out) == nullptr) return;
  out.push_back({.kind = Heard::Kind::call_began, .call = {std::string(id), reported_name(name), ""}});
}

void ClaudeCalls::piece(std::string_view id, std::string_view text, Out out) {
  if (text.empty() || find(id, State::written) == nullptr) return;
  out.push_back({.kind = Heard::Kind::call_piece, .text = std::string(text), .call = {std::string(id), "", ""}});
}

void ClaudeCalls::running(const ProgramCall& call, std::string_view subagent, Out out) {
  Call* known = find(call.id, State::written);
  if (known == nullptr) known = add(call.id, out);
  if (known == nullptr) return;
  known->state = State::runs;
  known->subagent = subagent;
  out.push_back({.kind = Heard::Kind::call_running, .call = call, .subagent = known->subagent});
  if (call.name != "TodoWrite") return;
  if (auto value = todo_value(call.arguments); !value.empty()) {
    out.push_back({.kind = Heard::Kind::custom, .text = "claude-code.todo", .json = std::move(value)});
  }
}

void ClaudeCalls::ended(std::string_view id, std::string text, bool failed, Out out) {
  Call* const call = find(id, State::runs);
  if (call == nullptr) return;
  call->state = State::over;
  if (const auto found = subagents_.find(id); found != subagents_.end() && found->second) {
    found->second = false;
    out.push_back({.kind = Heard::Kind::subagent_ended,
                   .text = failed ? text : "",
                   .call = {std::string(id), "", ""},
                   .subagent = std::string(id),
                   .failed = failed});
  }
  out.push_back({.kind = Heard::Kind::call_ended,
                 .text = std::move(text),
                 .call = {std::string(id), "", ""},
                 .subagent = call->subagent,
                 .failed = failed});
}

void ClaudeCalls::subagent_seen(std::string_view id, std::string_view agent_id, std::string_view what_for, Out out) {
  if (id.empty() || subagents_.size() == calls_max) return;
  if (!agent_id.empty() && agent_calls_.size() < calls_max) agent_calls_.emplace(agent_id, id);
  if (!subagents_.emplace(id, true).second) return;
  out.push_back({.kind = Heard::Kind::subagent_began,
                 .text = std::string(what_for.empty() ? "subagent" : what_for),
                 .call = {std::string(id), "", ""},
                 .subagent = std::string(id)});
}

std::string ClaudeCalls::subagent_of(std::string_view agent_id) const {
  const auto found = agent_calls_.find(agent_id);
  return found == agent_calls_.end() ? "" : found->second;
}

}  // namespace sluice::harness
