#include <algorithm>
#include <utility>

#include "mcp/mcp.h"
#include "mcp/message.h"

namespace sluice::mcp {
namespace {

using Kind = Incoming::Kind;

constexpr std::string_view versions[] = {"2024-11-05", "2025-03-26", "2025-06-18", newest_version};
constexpr std::size_t key_bytes_max = 256;  // of an id or a token, which are sent back
// Claude Code tells by this which of its tool uses a call is.
constexpr std::string_view tool_use_member = "claudecode/toolUseId";

// Clients refuse a whole list for one schema that does not say it is an object's.
std::string object_schema(std::string_view parameters) {
  std::string out;
  json::Writer writer(out);
  writer.begin_object().key("type").string("object");
  const auto document = json::Document::parse(parameters);
  if (document) {
    document.value().root().each_member([&](std::string_view name, json::Value value) {
      if (name != "type") writer.key_escaped(name).raw(value.to_text());
    });
  }
  writer.end_object();
  return out;
}

std::string listing_of(const std::vector<model::HostTool>& tools) {
  std::string out;
  json::Writer writer(out);
  writer.begin_object().key("tools").begin_array();
  for (const auto& tool : tools) {
    writer.begin_object().key("name").string(tool.name).key("description").string(tool.description);
    writer.key("inputSchema").raw(object_schema(tool.parameters)).end_object();
  }
  writer.end_array().end_object();
  return out;
}

// An id or a token, as JSON; empty when it cannot be one.
std::string key_of(const std::optional<json::Value>& value) {
  if (!value || (value->kind() != json::Kind::string && value->kind() != json::Kind::integer)) return "";
  auto text = value->to_text();
  return text.size() > key_bytes_max ? "" : text;
}

std::string_view text_of(const std::optional<json::Value>& value) {
  return value ? value->string().value_or("") : std::string_view();
}

Incoming answered(std::string reply) { return {.kind = Kind::answered, .reply = std::move(reply)}; }
Incoming refused(std::string_view id, int64_t code, std::string_view words) {
  return answered(error_response(id, code, words));
}

Incoming heard(std::string_view method, json::Value params) {
  if (method != "notifications/cancelled") return {};
  auto key = key_of(params.find("requestId"));
  return key.empty() ? Incoming() : Incoming{.kind = Kind::cancelled, .call_key = std::move(key)};
}

}  // namespace

Server::Server(ServerCard card, std::vector<model::HostTool> tools)
    : card_(std::move(card)), tools_(std::move(tools)), listing_(listing_of(tools_)) {}

Incoming Server::take(std::string_view message) const {
  const auto document = json::Document::parse(message);
  if (!document) return refused("null", parse_error, "This is not JSON: " + document.error().what);
  const auto root = document.value().root();
  if (root.kind() == json::Kind::array) {
    return refused("null", invalid_request, "Batches are not taken: send one message at a time.");
  }
  if (text_of(root.find("jsonrpc")) != "2.0") return refused("null", invalid_request, "This is no JSON-RPC 2.0.");
  const auto params = root.find("params").value_or(json::Value());
  const auto id = root.find("id");
  const auto method = root.find("method");
  if (!method) {
    // An answer to a request that was never made.
    if (root.find("result") || root.find("error")) return {};
    return refused("null", invalid_request, "A message needs a method.");
  }
  const auto name = method->string();
  if (!name) return refused("null", invalid_request, "The method must be a string.");
  if (!id) return heard(*name, params);
  auto key = key_of(id);
  if (key.empty()) return refused("null", invalid_request, "The id must be a short string or an integer.");
  return answer(*name, std::move(key), params);
}

Incoming Server::answer(std::string_view method, std::string id, json::Value params) const {
  if (method == "tools/call") return begin_call(std::move(id), params);
  if (method == "tools/list") return answered(response(id, listing_));
  if (method == "initialize") return answered(response(id, greeting(params)));
  if (method == "ping") return answered(response(id, "{}"));
  return refused(id, method_not_found, "There is no such method here.");
}

std::string Server::greeting(json::Value params) const {
  const auto asked = text_of(params.find("protocolVersion"));
  const bool is_known = std::ranges::find(versions, asked) != std::end(versions);
  std::string out;
  json::Writer writer(out);
  writer.begin_object().key("protocolVersion").string(is_known ? asked : newest_version);
  writer.key("capabilities").begin_object().key("tools").begin_object().end_object().end_object();
  writer.key("serverInfo").begin_object().key("name").string(card_.name).key("version").string(card_.version);
  writer.end_object();
  if (!card_.instructions.empty()) writer.key("instructions").string(card_.instructions);
  writer.end_object();
  return out;
}

Incoming Server::begin_call(std::string id, json::Value params) const {
  const auto tool = text_of(params.find("name"));
  const bool is_offered = std::ranges::any_of(tools_, [&](const auto& one) { return one.name == tool; });
  if (!is_offered) {
    return refused(id, invalid_params, "There is no tool named \"" + cut(tool, key_bytes_max) + "\" here.");
  }
  const auto arguments = params.find("arguments");
  const bool is_empty = !arguments || arguments->is_null();
  if (!is_empty && arguments->kind() != json::Kind::object) {
    return refused(id, invalid_params, "The arguments must be an object.");
  }
  const auto meta = params.find("_meta").value_or(json::Value());
  const auto call_id = text_of(meta.find(tool_use_member));
  return {.kind = Kind::call,
          .call_key = std::move(id),
          .tool = std::string(tool),
          .arguments = is_empty ? "{}" : arguments->to_text(),
          .call_id = std::string(call_id.size() > key_bytes_max ? "" : call_id),
          .progress_token = key_of(meta.find("progressToken"))};
}

std::string reply_to_call(std::string_view call_key, const ToolAnswer& answer) {
  std::string result;
  json::Writer writer(result);
  writer.begin_object().key("content").begin_array().begin_object().key("type").string("text");
  writer.key("text").string(answer.text).end_object().end_array();
  writer.key("isError").boolean(answer.failed).end_object();
  return response(call_key, result);
}

std::string progress_notice(std::string_view progress_token, int64_t progress, std::string_view words) {
  std::string params;
  json::Writer writer(params);
  writer.begin_object().key("progressToken").raw(progress_token).key("progress").integer(progress);
  if (!words.empty()) writer.key("message").string(words);
  writer.end_object();
  return notification("notifications/progress", params);
}

}  // namespace sluice::mcp
