#include "api/agui/agui.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "api/inputs/kit_input.h"
#include "api/request/reading.h"

namespace sluice::api::agui {
namespace {

constexpr std::string_view input_names[] = {"threadId",       "runId",    "parentRunId", "protocolVersion",
                                            "state",          "messages", "tools",       "context",
                                            "forwardedProps", "resume",   "data"};
constexpr std::string_view message_names[] = {"id",          "role",  "content",  "name",           "toolCalls",
                                              "toolCallId",  "error", "metadata", "encryptedValue", "subagentRunId",
                                              "activityType"};
constexpr std::string_view tool_names[] = {"name", "description", "parameters", "metadata"};
constexpr std::string_view context_names[] = {"description", "value"};
constexpr std::string_view resume_names[] = {"interruptId", "status", "payload", "metadata"};
constexpr std::string_view props_names[] = {"sessionId", "modelOptions", "onCapacity"};
constexpr std::string_view payload_names[] = {"approved", "note", "secrets", "signature", "editedArgs", "payload"};
constexpr std::string_view metadata_names[] = {"signature", "sluice"};
constexpr std::string_view sluice_names[] = {"signature"};
constexpr std::array<std::string_view, 7> roles = {"user", "assistant", "system",  "developer",
                                                   "tool", "reasoning", "activity"};

constexpr TextRule id_rule{.chars_min = 1, .chars_max = 256};
constexpr TextRule any_text{.chars_max = std::numeric_limits<std::size_t>::max()};
constexpr TextRule context_rule{.chars_max = 32'768};
constexpr std::size_t messages_max = 10'000;
constexpr std::size_t tools_max = 128;
constexpr std::size_t contexts_max = 64;
constexpr std::size_t resumes_max = 64;

// A name that stands in the head of a frame must not end it.
std::string read_id(const Fields& fields, std::string_view name, bool is_required) {
  if (is_required) fields.require(name);
  auto text = fields.text(name, id_rule).value_or("");
  const bool is_plain = std::ranges::all_of(text, [](unsigned char c) { return c > ' ' && c != 0x7f; });
  if (!is_plain) fields.refuse(name, "must have no white space and no control characters");
  return text;
}

// Any minor version of ours is served; another major one means another protocol.
void check_version(const Fields& fields) {
  const auto version = fields.text("protocolVersion", name_rule);
  if (!version) return;
  int major = 0;
  const auto* end = version->data() + version->size();
  const auto [stopped, failed] = std::from_chars(version->data(), end, major);
  if (failed != std::errc() || (stopped != end && *stopped != '.')) {
    fields.refuse("protocolVersion", "must be a version: \"1.0\"");
  } else if (major != 1) {
    fields.refuse("protocolVersion", "is of another protocol; this server speaks AG-UI 1");
  }
}

Peer peer_of(const RequestPtr& request, const Fields& fields) {
  if (fields.given("data") || request->header("X-Run-Id")) return Peer::tanstack;
  return fields.given("protocolVersion") && !fields.null("protocolVersion") ? Peer::current : Peer::old;
}

// The text of a message's content, which is a text or a list of parts.
std::string text_of_parts(const Fields& message, json::Value content) {
  std::string out;
  std::size_t index = 0;
  content.each_element([&](json::Value part) {
    const auto at = "content/" + std::to_string(index++);
    const auto type = part.find("type");
    const auto text = part.find("text");
    if (!type || type->string() != "text") {
      message.refuse_at(at, "must be a part of the type text: agents here take no pictures, sounds or documents");
    } else if (!text || !text->string()) {
      message.refuse_at(at + "/text", "must be a string");
    } else {
      out += (out.empty() ? "" : "\n") + std::string(*text->string());
    }
  });
  return out;
}

struct Message {
  std::string id;
  std::string role;
  std::string text;
  std::string call_id;
  bool failed = false;
};

std::string content_of(const Fields& message, json::Value object, bool must_be_text) {
  const auto content = object.find("content");
  if (!content || content->is_null()) {
    if (must_be_text) message.refuse("content", "is required");
    return {};
  }
  if (const auto text = content->string()) return std::string(*text);
  if (content->kind() == json::Kind::array && must_be_text) return text_of_parts(message, *content);
  if (must_be_text) message.refuse("content", "must be a string, or a list of parts");
  return {};
}

Message read_message(const Fields& fields, json::Value object, bool is_last) {
  Message out;
  out.id = read_id(fields, "id", true);
  fields.require("role");
  out.role = fields.text("role", name_rule).value_or("");
  if (!out.role.empty() && std::ranges::find(roles, out.role) == roles.end()) {
    fields.refuse("role", "must be one of user, assistant, system, developer, tool, reasoning, activity");
  }
  const bool is_tool = out.role == "tool";
  out.text = content_of(fields, object, is_tool || (is_last && out.role == "user"));
  if (!is_tool) return out;
  fields.require("toolCallId");
  out.call_id = fields.text("toolCallId", id_rule).value_or("");
  if (const auto error = fields.text("error", any_text); error && !error->empty()) {
    out.failed = true;
    if (out.text.empty()) out.text = *error;
  }
  return out;
}

// TanStack says by it that a tool was approved; it has no result yet.
bool is_placeholder(std::string_view content) {
  if (!content.starts_with('{')) return false;
  const auto document = json::Document::parse(content);
  if (!document) return false;
  const auto pending = document.value().root().find("pendingExecution");
  return pending && pending->boolean() == true;
}

void read_messages(const Fields& fields, json::Value root, RunInput& out) {
  fields.require("messages");
  const auto list = fields.objects("messages", message_names, messages_max);
  const auto values = root.find("messages");
  if (!list || !values) return;
  std::vector<json::Value> objects;
  values->each_element([&](json::Value value) { objects.push_back(value); });
  std::vector<Message> messages;
  for (std::size_t i = 0; i < list->size(); ++i) {
    messages.push_back(read_message((*list)[i], objects[i], i + 1 == list->size()));
  }
  out.extras.agui->messages = values->to_text();
  if (messages.empty()) return;
  if (messages.back().role == "user") {
    out.ends_with_user = true;
    out.prompt = messages.back().text;
    out.prompt_id = messages.back().id;
    if (out.prompt.size() > limits::message_content_bytes_max) {
      list->back().refuse("content", "is longer than " + std::to_string(limits::message_content_bytes_max) + " bytes");
    }
  }
  for (auto message = messages.rbegin(); message != messages.rend() && message->role == "tool"; ++message) {
    if (!is_placeholder(message->text)) {
      out.results.insert(out.results.begin(), {message->call_id, message->text, message->failed});
    }
  }
}

void read_tools(const Fields& fields, RunInput& out) {
  const auto list = fields.objects("tools", tool_names, tools_max);
  for (const auto& tool : list.value_or(std::vector<Fields>{})) {
    out.extras.client_tools.push_back(read_host_tool(tool));
  }
}

void read_context(const Fields& fields, RunInput& out) {
  const auto list = fields.objects("context", context_names, contexts_max);
  for (const auto& note : list.value_or(std::vector<Fields>{})) {
    for (const auto* name : {"description", "value"}) note.require(name);
    out.extras.context.push_back(
        {note.text("description", context_rule).value_or(""), note.text("value", context_rule).value_or("")});
  }
}

// A harness's session, where TanStack's adapters have it and where we say it is.
void read_props(const Fields& fields, Findings& findings, json::Value root, RunInput& out) {
  const auto props = root.find("forwardedProps");
  if (!props || props->kind() != json::Kind::object) return;
  const Fields inner(*props, fields.pointer("forwardedProps"), props_names, findings);
  out.extras.session_id = read_session_id(inner, "sessionId");
  if (const auto on_capacity = inner.text("onCapacity", name_rule)) {
    if (*on_capacity != "hold" && *on_capacity != "reject") inner.refuse("onCapacity", "must be hold or reject");
    out.hold = *on_capacity == "hold";
  }
  const auto options = props->find("modelOptions");
  if (out.extras.session_id || !options || options->kind() != json::Kind::object) return;
  const Fields deeper(*options, inner.pointer("modelOptions"), props_names, findings);
  out.extras.session_id = read_session_id(deeper, "sessionId");
}

void read_metadata(const Fields& entry, ResumeEntry& out) {
  const auto metadata = entry.object("metadata", metadata_names);
  if (!metadata) return;
  const auto ours = metadata->object("sluice", sluice_names);
  const auto& holder = ours && ours->given("signature") ? *ours : *metadata;
  if (holder.given("signature")) out.signature = read_signature(holder);
}

void read_payload(const Fields& entry, json::Value object, Findings& findings, ResumeEntry& out) {
  const auto payload = object.find("payload");
  if (!payload || payload->is_null()) return;
  out.has_payload = true;
  out.payload = payload->string() ? std::string(*payload->string()) : payload->to_text();
  if (payload->boolean()) out.approved = payload->boolean();
  if (payload->kind() != json::Kind::object || out.interrupt_id.starts_with(client_tool_prefix)) return;
  const Fields fields(*payload, entry.pointer("payload"), payload_names, findings);
  out.approved = fields.boolean("approved");
  out.note = read_note(fields);
  out.secrets = read_secrets(fields);
  if (fields.given("signature") && !fields.null("signature")) out.signature = read_signature(fields);
  if (fields.given("editedArgs") && !fields.null("editedArgs")) {
    fields.refuse("editedArgs", "cannot be changed here: approve the call as it is, or deny it");
  }
}

void read_resume(const Fields& fields, json::Value root, Findings& findings, RunInput& out) {
  const auto list = fields.objects("resume", resume_names, resumes_max);
  const auto values = root.find("resume");
  if (!list || !values) return;
  std::vector<json::Value> objects;
  values->each_element([&](json::Value value) { objects.push_back(value); });
  for (std::size_t i = 0; i < list->size(); ++i) {
    const auto& entry = (*list)[i];
    ResumeEntry made;
    made.interrupt_id = read_id(entry, "interruptId", true);
    entry.require("status");
    const auto status = entry.text("status", name_rule);
    if (status && *status != "resolved" && *status != "cancelled")
      entry.refuse("status", "must be resolved or cancelled");
    made.is_cancelled = status == "cancelled";
    read_metadata(entry, made);
    read_payload(entry, objects[i], findings, made);
    out.resume.push_back(std::move(made));
  }
}

}  // namespace

std::optional<RunInput> read_run_input(const RequestPtr& request) {
  const auto body = read_body(request);
  if (!body) return std::nullopt;
  Findings findings;
  const auto root = body->root();
  const Fields fields(root, "", input_names, findings);
  RunInput out{.peer = peer_of(request, fields)};
  auto& names = out.extras.agui.emplace();
  names.thread_id = read_id(fields, "threadId", true);
  names.run_id = read_id(fields, "runId", true);
  if (auto parent = read_id(fields, "parentRunId", false); !parent.empty()) names.parent_run_id = std::move(parent);
  check_version(fields);
  read_messages(fields, root, out);
  read_tools(fields, out);
  read_context(fields, out);
  read_props(fields, findings, root, out);
  read_resume(fields, root, findings, out);
  if (refused(request, findings)) return std::nullopt;
  return out;
}

wire::Format format_for(const RequestPtr& request, Peer peer) {
  const std::string_view accept = request->header("Accept").value_or("");
  const bool is_lines = accept.find("application/x-ndjson") != std::string_view::npos &&
                        accept.find("text/event-stream") == std::string_view::npos;
  switch (peer) {
    case Peer::current: return is_lines ? wire::Format::agui_ndjson : wire::Format::agui_sse;
    case Peer::old: return is_lines ? wire::Format::agui_old_ndjson : wire::Format::agui_old_sse;
    case Peer::tanstack: return is_lines ? wire::Format::agui_tanstack_ndjson : wire::Format::agui_tanstack_sse;
  }
  return wire::Format::agui_sse;
}

}  // namespace sluice::api::agui
