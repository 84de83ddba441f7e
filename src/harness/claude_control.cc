#include "harness/claude_control.h"

#include <utility>

#include "harness/complaint.h"
#include "harness/json_line.h"

namespace sluice::harness {
namespace {

using json::Value;
using Kind = Heard::Kind;

constexpr std::string_view first_request = "sluice-initialize";
constexpr std::string_view hook_id = "sluice-before-call";
// 23 days: its clock is a 32-bit count of milliseconds.
constexpr int64_t hook_seconds_max = 2'000'000;
// Bounds the memory of a program that asks without waiting for answers.
constexpr std::size_t open_questions_max = 256;

constexpr std::string_view second_put_off =
    "Another call waits for a human's agreement, and only one can. This one was not carried out: call it again when "
    "the "
    "other has been answered.";
constexpr std::string_view subagents_put_off =
    "A human must agree to this call, and a subagent cannot wait for that. It was not carried out: report back, so "
    "that "
    "the main agent makes the call itself.";
constexpr std::string_view late_put_off =
    "A human must agree to this call, and cannot be asked now. It was not carried out.";

// A schema without a type is refused, and all tools of its server with it.
std::string schema_of(std::string_view parameters) {
  const auto document = json::Document::parse(parameters);
  std::string out;
  json::Writer writer(out);
  writer.begin_object().key("type").string("object");
  if (document && (!document.value().root().find("type") || text_in(document.value().root(), "type") == "object")) {
    document.value().root().each_member([&](std::string_view name, Value value) {
      if (name != "type") writer.key_escaped(name).raw(value.to_text());
    });
  }
  writer.end_object();
  return out;
}

std::string tool_list(const std::vector<model::HostTool>& tools) {
  std::string out;
  json::Writer writer(out);
  writer.begin_object().key("tools").begin_array();
  for (const auto& tool : tools) {
    writer.begin_object().key("name").string(tool.name).key("description").string(as_utf8(tool.description));
    writer.key("inputSchema").raw(schema_of(tool.parameters)).end_object();
  }
  writer.end_array().end_object();
  return out;
}

std::string server_card(std::string_view version) {
  std::string out;
  json::Writer writer(out);
  writer.begin_object().key("protocolVersion").string(version.empty() ? "2025-06-18" : version);
  writer.key("capabilities").begin_object().key("tools").begin_object().end_object().end_object();
  writer.key("serverInfo").begin_object().key("name").string("sluice").key("version").string("1").end_object();
  writer.end_object();
  return out;
}

std::string tool_answer(const Answer& answer) {
  std::string out;
  json::Writer writer(out);
  writer.begin_object().key("content").begin_array().begin_object().key("type").string("text");
  writer.key("text").string(as_utf8(answer.text));
  writer.end_object().end_array().key("isError").boolean(answer.failed || answer.kind != Answer::Kind::result);
  writer.end_object();
  return out;
}

}  // namespace

ClaudeControl::ClaudeControl(const Assignment& assignment, ClaudeCalls& calls)
    : system_prompt_(assignment.system_prompt),
      prompt_(assignment.prompt),
      tools_(assignment.tools),
      asks_(assignment.asks),
      may_defer_(assignment.asks && assignment.may_defer),
      calls_(calls) {}

std::string ClaudeControl::opening() {
  std::string out;
  json::Writer start(out);
  start.begin_object().key("type").string("control_request").key("request_id").string(first_request);
  start.key("request").begin_object().key("subtype").string("initialize");
  if (asks_) {
    start.key("hooks").begin_object().key("PreToolUse").begin_array().begin_object().key("matcher").string("*");
    start.key("hookCallbackIds").begin_array().string(hook_id).end_array();
    start.key("timeout").integer(hook_seconds_max).end_object().end_array().end_object();
  }
  if (!tools_.empty()) start.key("sdkMcpServers").begin_array().string("sluice").end_array();
  // Not among the arguments: the kernel takes none longer than 128 KiB.
  if (!system_prompt_.empty()) start.key("appendSystemPrompt").string(system_prompt_);
  start.end_object().end_object();
  out += '\n';
  if (prompt_.empty()) return out;
  json::Writer message(out);
  message.begin_object().key("type").string("user").key("message").begin_object().key("role").string("user");
  message.key("content").begin_array().begin_object().key("type").string("text").key("text").string(prompt_);
  message.end_object().end_array().end_object();
  message.key("parent_tool_use_id").null().key("session_id").string("").end_object();
  out += '\n';
  return out;
}

void ClaudeControl::interrupt() {
  output_ += R"({"type":"control_request","request_id":"sluice-interrupt","request":{"subtype":"interrupt"}})";
  output_ += '\n';
}

void ClaudeControl::read_request(Value line, Out out) {
  const auto request_id = text_in(line, "request_id");
  const auto request = value_in(line, "request");
  const auto subtype = text_in(request, "subtype");
  if (subtype == "hook_callback") return read_hook(request_id, request, out);
  if (subtype == "can_use_tool") return read_permission(request_id, request, out);
  if (subtype == "mcp_message") return read_rpc(request_id, request, out);
  write_refusal(request_id, "Sluice does not know the request " + plain_words(subtype) + ".");
}

void ClaudeControl::read_hook(std::string_view request_id, Value request, Out out) {
  const auto input = value_in(request, "input");
  const auto name = text_in(input, "tool_name");
  // Tools of the host are ruled on where they are carried out.
  if (is_host_tool(name)) return write_hook(request_id, "allow", "");
  if (!may_defer_) return write_hook(request_id, "ask", "");
  const auto agent = text_in(input, "agent_id");
  Question question{.kind = Question::Kind::hook, .request_id = std::string(request_id)};
  question.input = object_in(input, "tool_input");
  question.call = {std::string(text_in(input, "tool_use_id")), reported_name(name), question.input};
  question.is_subagents = !agent.empty();
  if (!ask(std::move(question), calls_.subagent_of(agent), Kind::permission, out)) {
    write_hook(request_id, "deny", "Too many questions are open.");
  }
}

void ClaudeControl::read_permission(std::string_view request_id, Value request, Out out) {
  const auto name = text_in(request, "tool_name");
  const auto id = text_in(request, "tool_use_id");
  const auto input = object_in(request, "input");
  if (!asks_ || is_host_tool(name) || allowed_.contains(id)) return write_allow(request_id, input);
  const auto agent = text_in(request, "agent_id");
  Question question{.kind = Question::Kind::permission, .request_id = std::string(request_id), .input = input};
  question.call = {std::string(id), reported_name(name), input};
  if (!ask(std::move(question), calls_.subagent_of(agent), Kind::permission, out)) {
    write_deny(request_id, "Too many questions are open.");
  }
}

// One server, named sluice, with the tools of the host.
void ClaudeControl::read_rpc(std::string_view request_id, Value request, Out out) {
  const auto message = value_in(request, "message");
  const auto method = text_in(message, "method");
  const auto id = value_in(message, "id");
  const std::string rpc_id = id.is_null() ? "0" : id.to_text();
  if (method == "tools/call") return read_host_call(request_id, message, out);
  if (method == "initialize") {
    const auto version = text_in(value_in(message, "params"), "protocolVersion");
    return write_rpc(request_id, rpc_id, "result", server_card(version));
  }
  if (method == "tools/list") return write_rpc(request_id, rpc_id, "result", tool_list(tools_));
  // A notification wants no answer, but the request that carries it does.
  if (method == "ping" || id.is_null()) return write_rpc(request_id, rpc_id, "result", "{}");
  write_rpc(request_id, rpc_id, "error", R"({"code":-32601,"message":"Method not found"})");
}

void ClaudeControl::read_host_call(std::string_view request_id, Value message, Out out) {
  const auto params = value_in(message, "params");
  Question question{.kind = Question::Kind::host, .request_id = std::string(request_id)};
  question.rpc_id = value_in(message, "id").to_text();
  question.call = {std::string(text_in(value_in(params, "_meta"), "claudecode/toolUseId")),
                   std::string(text_in(params, "name")), object_in(params, "arguments")};
  const auto rpc_id = question.rpc_id;
  if (!ask(std::move(question), "", Kind::host_call, out)) {
    write_rpc(request_id, rpc_id, "error", R"({"code":-32000,"message":"Too many calls are open."})");
  }
}

bool ClaudeControl::ask(Question question, const std::string& subagent, Heard::Kind kind, Out out) {
  if (questions_.size() == open_questions_max) return false;
  // The call may be unknown so far: a subagent asks before it reports the call, and a deferred call was reported by
  // another process.
  calls_.running(question.call, subagent, out);
  out.push_back({.kind = kind, .call = question.call, .subagent = subagent, .question = ++last_question_});
  questions_.emplace(last_question_, std::move(question));
  return true;
}

// Without the answer to the first request no hook is in place, and calls would run unasked.
std::optional<Heard> ClaudeControl::read_response(Value line) {
  const auto response = value_in(line, "response");
  if (text_in(response, "subtype") != "error" || text_in(response, "request_id") != first_request) return std::nullopt;
  return failed_as(model::Slug::agent_misconfigured,
                   "Claude Code refused to be set up: " + plain_words(text_in(response, "error")));
}

void ClaudeControl::read_withdrawal(std::string_view request_id, Out out) {
  for (auto question = questions_.begin(); question != questions_.end(); ++question) {
    if (question->second.request_id != request_id) continue;
    out.push_back({.kind = Kind::withdrawn, .call = question->second.call, .question = question->first});
    questions_.erase(question);
    return;
  }
}

void ClaudeControl::answer(uint64_t question, const Answer& answer) {
  const auto found = questions_.find(question);
  if (found == questions_.end()) return;  // withdrawn meanwhile
  const Question asked = std::move(found->second);
  questions_.erase(found);
  switch (asked.kind) {
    case Question::Kind::hook: return answer_hook(asked, answer);
    case Question::Kind::host: return write_rpc(asked.request_id, asked.rpc_id, "result", tool_answer(answer));
    case Question::Kind::permission: break;
  }
  if (answer.kind == Answer::Kind::allow) return write_allow(asked.request_id, asked.input);
  write_deny(asked.request_id, answer.kind == Answer::Kind::defer ? late_put_off : std::string_view(answer.text));
}

// Of several calls that are put off, the program keeps the last and forgets the others without a word to the model; a
// subagent that puts one off counts as done. So only the first call of the agent's own is put off, and the others are
// refused in words that make the model call again.
void ClaudeControl::answer_hook(const Question& question, const Answer& answer) {
  if (answer.kind == Answer::Kind::allow) {
    allowed_.insert(question.call.id);
    return write_hook(question.request_id, "allow", "");
  }
  if (answer.kind != Answer::Kind::defer) return write_hook(question.request_id, "deny", answer.text);
  if (question.is_subagents) return write_hook(question.request_id, "deny", subagents_put_off);
  if (std::exchange(is_deferring_, true)) return write_hook(question.request_id, "deny", second_put_off);
  write_hook(question.request_id, "defer", "");
}

void ClaudeControl::write_hook(std::string_view request_id, std::string_view decision, std::string_view why) {
  std::string json;
  json::Writer writer(json);
  writer.begin_object().key("hookSpecificOutput").begin_object().key("hookEventName").string("PreToolUse");
  writer.key("permissionDecision").string(decision);
  if (!why.empty()) writer.key("permissionDecisionReason").string(as_utf8(why));
  writer.end_object().end_object();
  write_response(request_id, json);
}

void ClaudeControl::write_allow(std::string_view request_id, std::string_view input) {
  write_response(request_id, R"({"behavior":"allow","updatedInput":)" + std::string(input) + "}");
}

void ClaudeControl::write_deny(std::string_view request_id, std::string_view why) {
  std::string json;
  json::Writer(json).begin_object().key("behavior").string("deny").key("message").string(as_utf8(why)).end_object();
  write_response(request_id, json);
}

void ClaudeControl::write_rpc(std::string_view request_id, std::string_view rpc_id, std::string_view member,
                              std::string_view json) {
  write_response(request_id, R"({"mcp_response":{"jsonrpc":"2.0","id":)" + std::string(rpc_id) + ",\"" +
                                 std::string(member) + "\":" + std::string(json) + "}}");
}

void ClaudeControl::write_response(std::string_view request_id, std::string_view json) {
  json::Writer writer(output_);
  writer.begin_object().key("type").string("control_response").key("response").begin_object();
  writer.key("subtype").string("success").key("request_id").string(request_id).key("response").raw(json);
  writer.end_object().end_object();
  output_ += '\n';
}

void ClaudeControl::write_refusal(std::string_view request_id, std::string_view why) {
  json::Writer writer(output_);
  writer.begin_object().key("type").string("control_response").key("response").begin_object();
  writer.key("subtype").string("error").key("request_id").string(request_id).key("error").string(why);
  writer.end_object().end_object();
  output_ += '\n';
}

}  // namespace sluice::harness
