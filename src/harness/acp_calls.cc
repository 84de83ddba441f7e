#include "harness/acp_calls.h"

#include <algorithm>
#include <utility>

#include "harness/complaint.h"
#include "harness/json_line.h"

namespace sluice::harness {
namespace {

using json::Value;

constexpr std::size_t overlap_bytes = 64;  // by which output that lost its head is joined to what was reported
constexpr std::string_view bridge_prefixes[] = {"mcp__sluice__", "sluice__", "sluice_", "sluice.", "sluice/"};

bool is_word(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
}

// The text parts of a call's content.
std::string content_text(const Value& update) {
  std::string text;
  value_in(update, "content").each_element([&](const Value& part) {
    if (text_in(part, "type") == "content") text += text_in(value_in(part, "content"), "text");
  });
  return text;
}

// Where there is no content, what the program has for itself: a text, or whatever it is.
std::string raw_text(const Value& raw) {
  if (raw.is_null()) return "";
  const Value output = value_in(raw, "output");
  // "OkayOutput" and what ends in "_for_prompt" are Grok's.
  for (const Value& text : {raw, output, value_in(output, "OkayOutput"), value_in(raw, "output_for_prompt")})
    if (text.string()) return std::string(*text.string());
  std::string summary;
  raw.each_member([&](std::string_view, const Value& part) {
    if (summary.empty()) summary = text_in(part, "summary_for_prompt");
  });
  return summary.empty() ? raw.to_text() : summary;
}

std::string result_text(const Value& update) {
  const Value raw = value_in(update, "rawOutput");
  std::string text = content_text(update);
  if (text.empty()) text = raw_text(raw);
  const int64_t code = std::max(count_in(raw, "exit_code"), count_in(value_in(raw, "metadata"), "exit"));
  if (code == 0) return text;
  if (!text.empty() && text.back() != '\n') text += '\n';
  return text + "(exit code " + std::to_string(code) + ")";
}

// How much of `whole` was reported before: its beginning or, when a program keeps only the end of a long output, what
// overlaps.
std::size_t reported_bytes(std::string_view whole, std::string_view reported) {
  if (whole.starts_with(reported)) return reported.size();
  const auto tail = reported.substr(reported.size() - std::min(reported.size(), overlap_bytes));
  const auto at = whole.rfind(tail);
  return at == std::string_view::npos ? 0 : at + tail.size();
}

// What the model wrote, but with what `raw`, a form of the program's own, has under the same names.
std::string corrected(const std::string& arguments, const Value& raw) {
  const auto written = json::Document::parse(arguments);
  if (!written) return arguments;
  bool is_other = false;
  std::string out;
  json::Writer writer(out);
  writer.begin_object();
  written.value().root().each_member([&](std::string_view name, const Value& value) {
    const auto said = raw.find(name);
    const std::string text = said ? said->to_text() : value.to_text();
    is_other = is_other || text != value.to_text();
    writer.key_escaped(name).raw(text);
  });
  writer.end_object();
  return is_other ? out : arguments;
}

std::string key_of(const Value& update, std::string_view subagent) {
  const std::string id(text_in(update, "toolCallId"));
  return subagent.empty() || id.empty() ? id : std::string(subagent) + "/" + id;
}

}  // namespace

AcpCalls::AcpCalls(const Assignment& assignment) : agent_type_(assignment.agent_type) {
  for (const model::HostTool& tool : assignment.tools) host_tools_.insert(tool.name);
}

std::string AcpCalls::without_prefix(std::string_view name) const {
  for (const std::string_view prefix : bridge_prefixes)
    if (name.starts_with(prefix) && host_tools_.contains(name.substr(prefix.size())))
      return std::string(name.substr(prefix.size()));
  return std::string(name);
}

// As programs name tools beside the protocol: Grok, Claude's adapter, Qwen Code. Empty: it does not.
std::string AcpCalls::own_name_of(const Value& update) const {
  const Value meta = value_in(update, "_meta");
  for (const auto name : {text_in(value_in(meta, "x.ai/tool"), "name"),
                          text_in(value_in(meta, "claudeCode"), "toolName"), text_in(meta, "toolName")})
    if (is_word(without_prefix(name))) return without_prefix(name);
  return "";
}

// The protocol has titles for people, and kinds, but no names. What first comes as a title is often the name.
std::string AcpCalls::name_of(const Value& update) const {
  if (auto name = own_name_of(update); !name.empty()) return name;
  auto title = without_prefix(text_in(update, "title"));
  if (is_word(title)) return title;
  const auto kind = text_in(update, "kind");
  return kind.empty() ? "tool" : std::string(kind);
}

AcpCalls::Call* AcpCalls::open(const Value& update, std::string_view subagent, std::vector<Heard>& heard) {
  const std::string id = key_of(update, subagent);
  if (id.empty()) return nullptr;
  if (calls_.size() >= calls_max && !calls_.contains(id)) {
    if (!std::exchange(is_full_, true)) heard.push_back(too_many_calls());
    return nullptr;
  }
  Call& call = calls_[id];
  if (call.call.id.empty()) {
    call.call = {id, name_of(update), "{}"};
    call.subagent = subagent;
  } else if (auto name = own_name_of(update); !name.empty() && !call.is_told) {
    // Qwen Code begins with the tool through which it reaches those of servers.
    call.call.name = std::move(name);
  }
  return call.is_over ? nullptr : &call;
}

// OpenCode adds the directory to what the model wrote for its shell.
std::string AcpCalls::arguments_of(std::string_view tool, const Value& raw) const {
  if (agent_type_ != "opencode" || tool != "bash" || !raw.find("cwd")) return raw.to_text();
  std::string out;
  json::Writer writer(out);
  writer.begin_object();
  raw.each_member([&](std::string_view name, const Value& value) {
    if (name != "cwd") writer.key_escaped(name).raw(value.to_text());
  });
  writer.end_object();
  return out;
}

ProgramCall AcpCalls::read(ProgramCall call, const Value& update, bool is_asked) const {
  const Value raw = value_in(update, "rawInput");
  if (raw.size() == 0) return call;
  const auto variant = text_in(raw, "variant");
  // Grok reaches the tools of servers through one of its own.
  const auto name = text_in(raw, "tool_name");
  if (!name.empty() && (call.name == "use_tool" || variant == "UseTool")) {
    call.name = without_prefix(name);
    call.arguments = object_in(raw, "tool_input");
    return call;
  }
  // Grok has a form of its own for what the model wrote, which came before; OpenCode only in its questions, where some
  // is missing and some is added.
  const bool is_own_form = !variant.empty() || (is_asked && agent_type_ == "opencode");
  const Value as_written = value_in(value_in(value_in(update, "_meta"), "x.ai/tool"), "input");
  if (as_written.size() > 0) {
    call.arguments = as_written.to_text();
  } else if (!is_own_form || call.arguments == "{}") {
    call.arguments = raw.kind() == json::Kind::object ? arguments_of(call.name, raw) : "{}";
  } else if (is_asked) {
    call.arguments = corrected(call.arguments, raw);
  }
  return call;
}

void AcpCalls::run(Call& call, std::vector<Heard>& heard) const {
  if (call.is_told) return;
  call.is_told = true;
  Heard& running = heard.emplace_back();
  running.kind = Heard::Kind::call_running;
  running.call = call.call;
  running.subagent = call.subagent;
}

void AcpCalls::hear(const Value& update, std::string_view subagent, std::vector<Heard>& heard) {
  Call* call = open(update, subagent, heard);
  if (call == nullptr) return;
  if (!call->is_told) call->call = read(std::move(call->call), update, false);
  const auto status = text_in(update, "status");
  const bool is_over = status == "completed" || status == "failed";
  // OpenCode begins with arguments that the model has not written yet.
  const bool is_written = agent_type_ != "opencode" && call->call.arguments != "{}";
  if (is_over || status == "in_progress" || is_written) run(*call, heard);
  if (status == "in_progress") tell_output(*call, content_text(update), heard);
  if (!is_over) return;
  call->is_over = true;
  call->call = {.id = call->call.id, .name = {}, .arguments = {}};
  call->output = {};
  Heard& ended = heard.emplace_back();
  ended.kind = Heard::Kind::call_ended;
  ended.call.id = call->call.id;
  ended.subagent = call->subagent;
  ended.text = result_text(update);
  ended.failed = status == "failed";
}

void AcpCalls::tell_output(Call& call, std::string_view whole, std::vector<Heard>& heard) const {
  const auto fresh = whole.substr(reported_bytes(whole, call.output));
  if (fresh.empty()) return;
  Heard& output = heard.emplace_back();
  output.kind = Heard::Kind::call_output;
  output.call.id = call.call.id;
  output.subagent = call.subagent;
  output.text = fresh;
  call.output = whole;
}

void AcpCalls::hear_piece(const Value& update, std::vector<Heard>& heard) {
  const int64_t place = count_in(update, "tool_index");
  const auto name = text_in(update, "name");
  if (const auto id = text_in(update, "tool_call_id"); !id.empty()) {
    // The arguments that are written for this tool differ from those that the call is reported with.
    if (name == "use_tool" || name.empty() || writing_.size() >= calls_max) return;
    writing_[place] = id;
    Heard& began = heard.emplace_back();
    began.kind = Heard::Kind::call_began;
    began.call = {std::string(id), without_prefix(name), ""};
  }
  const auto found = writing_.find(place);
  const auto piece = text_in(update, "arguments_delta");
  if (found == writing_.end() || piece.empty()) return;
  Heard& more = heard.emplace_back();
  more.kind = Heard::Kind::call_piece;
  more.call.id = found->second;
  more.text = piece;
}

// Grok asks in the agent's session for calls that it reported in a session below it.
std::string_view AcpCalls::owner_of(std::string_view id) const {
  if (id.empty() || calls_.contains(std::string(id))) return "";
  for (const auto& [key, call] : calls_)
    if (!call.is_over && key.size() == call.subagent.size() + 1 + id.size() && key.ends_with(id)) return call.subagent;
  return "";
}

Heard AcpCalls::asked_for(const Value& tool_call, std::string_view subagent, std::vector<Heard>& heard) {
  Heard permission;
  permission.kind = Heard::Kind::permission;
  permission.subagent = subagent.empty() ? owner_of(text_in(tool_call, "toolCallId")) : subagent;
  Call* call = open(tool_call, permission.subagent, heard);
  if (call == nullptr) {
    permission.call = {key_of(tool_call, permission.subagent), name_of(tool_call), object_in(tool_call, "rawInput")};
    return permission;
  }
  permission.call = read(call->call, tool_call, true);
  const ProgramCall& asked = permission.call;
  if (!call->is_told) {
    call->call = asked;
    // OpenCode asks before the model has written what a tool of a server is called with.
    if (!is_of_host(asked)) run(*call, heard);
  } else if (asked.name != call->call.name || asked.arguments != call->call.arguments) {
    heard.push_back(warned("The agent asks for leave with other arguments than it reported of " + call->call.name +
                           " before; those that it asks for are judged."));
  }
  return permission;
}

}  // namespace sluice::harness
