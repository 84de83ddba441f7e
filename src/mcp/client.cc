#include <optional>
#include <utility>

#include "base/check.h"
#include "mcp/mcp.h"
#include "mcp/message.h"

namespace sluice::mcp {
namespace {

using Kind = FromServer::Kind;

std::string request(uint64_t id, std::string_view method, std::string_view params) {
  std::string out;
  json::Writer writer(out);
  writer.begin_object().key("jsonrpc").string("2.0").key("id").integer(static_cast<int64_t>(id));
  writer.key("method").string(method).key("params").raw(params).end_object();
  return out;
}

std::string_view text_of(const std::optional<json::Value>& value) {
  return value ? value->string().value_or("") : std::string_view();
}

std::string error_words(json::Value error) {
  const auto words = text_of(error.find("message"));
  if (!words.empty()) return cut(words, notice_bytes_max);
  const auto code = error.find("code");
  return "error " + (code ? cut(code->to_text(), 64) : "without a message");
}

// What a block of a result says to a model that reads text.
std::string words_of(json::Value block) {
  const auto type = text_of(block.find("type"));
  if (type == "text") return std::string(text_of(block.find("text")));
  const auto resource = block.find("resource");
  if (type == "resource" && resource) {
    const auto text = text_of(resource->find("text"));
    return text.empty() ? "[resource " + std::string(text_of(resource->find("uri"))) + "]" : std::string(text);
  }
  if (type == "resource_link") return "[resource " + std::string(text_of(block.find("uri"))) + "]";
  return "[" + std::string(type.empty() ? "something" : type) + "]";
}

ToolAnswer answer_of(json::Value message) {
  if (const auto error = message.find("error")) return {.text = error_words(*error), .failed = true};
  const auto result = message.find("result");
  ToolAnswer answer;
  const auto content = result->find("content");
  if (content) {
    content->each_element([&](json::Value block) {
      if (answer.text.size() > answer_bytes_max) return;
      answer.text += (answer.text.empty() ? "" : "\n") + words_of(block);
    });
  }
  const auto structured = result->find("structuredContent");
  if (answer.text.empty() && structured) answer.text = structured->to_text();
  answer.text = cut(answer.text, answer_bytes_max);
  const auto is_error = result->find("isError");
  answer.failed = is_error && is_error->boolean().value_or(false);
  return answer;
}

std::string number_words(json::Value value) { return value.real() ? value.to_text() : ""; }

std::string progress_words(json::Value params) {
  const auto message = text_of(params.find("message"));
  if (!message.empty()) return cut(message, notice_bytes_max);
  const auto progress = params.find("progress");
  const auto total = params.find("total");
  auto words = progress ? number_words(*progress) : "";
  if (total && !words.empty()) words += " of " + number_words(*total);
  return words;
}

std::string log_words(json::Value params) {
  const auto data = params.find("data");
  if (!data) return "";
  const auto text = data->string();
  return cut(text ? std::string(*text) : data->to_text(), notice_bytes_max);
}

std::string bounded(json::Value params) {
  auto text = params.to_text();
  return text.size() > notice_bytes_max ? "{}" : text;
}

}  // namespace

std::string initialized_notice() { return notification("notifications/initialized", "{}"); }

Client::Client(std::string name, std::string version) : name_(std::move(name)), version_(std::move(version)) {}

Outgoing Client::begin() {
  SLUICE_CHECK(last_id_ == 0);
  asked_id_ = ++last_id_;
  std::string params;
  json::Writer writer(params);
  writer.begin_object().key("protocolVersion").string(newest_version);
  writer.key("capabilities").begin_object().end_object();
  writer.key("clientInfo").begin_object().key("name").string(name_).key("version").string(version_).end_object();
  writer.end_object();
  return {.message = request(asked_id_, "initialize", params)};
}

std::vector<Outgoing> Client::take_output() { return std::exchange(output_, {}); }

Outgoing Client::call(uint64_t number, std::string_view tool, std::string_view arguments) {
  SLUICE_CHECK(stage_ == Stage::ready);
  calls_[++last_id_] = number;
  std::string params;
  json::Writer writer(params);
  writer.begin_object().key("name").string(tool).key("arguments").raw(arguments.empty() ? "{}" : arguments);
  writer.key("_meta").begin_object().key("progressToken").integer(static_cast<int64_t>(last_id_)).end_object();
  writer.end_object();
  return {.message = request(last_id_, "tools/call", params)};
}

Outgoing Client::cancel(uint64_t number) {
  uint64_t id = 0;
  for (const auto& [its_id, its_number] : calls_) {
    if (its_number == number) id = its_id;
  }
  calls_.erase(id);
  std::string params;
  json::Writer(params).begin_object().key("requestId").integer(static_cast<int64_t>(id)).end_object();
  return {.message = notification("notifications/cancelled", params), .expects_answer = false};
}

// ── what comes ──────────────────────────────────────────────────────────────────────────────────

std::vector<FromServer> Client::take(std::string_view message) {
  std::vector<FromServer> told;
  if (stage_ == Stage::failed) return told;
  const auto document = json::Document::parse(message);
  if (!document) {
    told.push_back({.kind = Kind::notice, .text = "It said what is not JSON: " + document.error().what, .json = "{}"});
    return told;
  }
  const auto root = document.value().root();
  if (root.kind() == json::Kind::array) {
    root.each_element([&](json::Value one) { take_one(one, told); });
  } else {
    take_one(root, told);
  }
  return told;
}

void Client::take_one(json::Value message, std::vector<FromServer>& told) {
  if (stage_ == Stage::failed) return;
  const auto method = message.find("method");
  const auto id = message.find("id");
  if (method) {
    const auto name = method->string().value_or("");
    if (id) return take_request(name, *id);
    return take_notification(name, message.find("params").value_or(json::Value()), told);
  }
  const auto number = id ? id->integer().value_or(0) : 0;
  if (number > 0) take_response(static_cast<uint64_t>(number), message, told);
}

void Client::take_response(uint64_t id, json::Value message, std::vector<FromServer>& told) {
  if (!message.find("result") && !message.find("error")) return;
  if (id == asked_id_ && stage_ == Stage::greeting) return take_greeting(message, told);
  if (id == asked_id_ && stage_ == Stage::listing) return take_page(message, told);
  const auto called = calls_.find(id);
  if (called == calls_.end()) return;
  told.push_back({.kind = Kind::answer, .number = called->second, .result = answer_of(message)});
  calls_.erase(called);
}

// Whatever version it names: what is used of the protocol here is the same in all of them.
void Client::take_greeting(json::Value message, std::vector<FromServer>& told) {
  if (const auto error = message.find("error")) return fail("It refused to begin: " + error_words(*error), told);
  const auto version = text_of(message.find("result")->find("protocolVersion"));
  if (version.empty() || version.size() > 32) {
    return fail("It answered initialize without a protocolVersion: it does not speak MCP.", told);
  }
  protocol_version_ = version;
  output_.push_back({.message = initialized_notice(), .expects_answer = false});
  stage_ = Stage::listing;
  ask_page("");
}

void Client::ask_page(std::string_view cursor) {
  asked_id_ = ++last_id_;
  ++page_count_;
  std::string params;
  json::Writer writer(params);
  writer.begin_object();
  if (!cursor.empty()) writer.key("cursor").string(cursor);
  writer.end_object();
  output_.push_back({.message = request(asked_id_, "tools/list", params)});
}

void Client::take_page(json::Value message, std::vector<FromServer>& told) {
  if (const auto error = message.find("error")) {
    const auto code = error->find("code");
    // A server of resources or prompts only.
    const bool has_none = code && code->integer() == method_not_found;
    if (!has_none) return fail("It did not list its tools: " + error_words(*error), told);
  }
  const auto result = message.find("result").value_or(json::Value());
  if (const auto tools = result.find("tools")) tools->each_element([this](json::Value tool) { take_tool(tool); });
  const auto cursor = text_of(result.find("nextCursor"));
  if (!cursor.empty() && page_count_ < pages_max && tools_.size() < tools_max) return ask_page(cursor);
  stage_ = Stage::ready;
  told.push_back({.kind = Kind::ready});
}

void Client::take_tool(json::Value tool) {
  const auto name = text_of(tool.find("name"));
  const auto schema = tool.find("inputSchema");
  // Such a tool answers only to tasks, which this client does not have.
  const auto execution = tool.find("execution");
  if (execution && text_of(execution->find("taskSupport")) == "required") return;
  auto parameters = schema && schema->kind() == json::Kind::object ? schema->to_text() : "{}";
  if (name.empty() || name.size() > 256 || parameters.size() > schema_bytes_max || tools_.size() >= tools_max) return;
  tools_.push_back({.name = std::string(name),
                    .description = cut(text_of(tool.find("description")), description_bytes_max),
                    .parameters = std::move(parameters)});
}

void Client::take_notification(std::string_view method, json::Value params, std::vector<FromServer>& told) const {
  if (method == "notifications/message") {
    told.push_back({.kind = Kind::notice, .text = log_words(params), .json = bounded(params)});
    return;
  }
  if (method != "notifications/progress") return;
  const auto token = params.find("progressToken");
  const auto id = token ? token->integer().value_or(0) : 0;
  const auto called = calls_.find(static_cast<uint64_t>(id));
  if (id <= 0 || called == calls_.end()) return;
  told.push_back(
      {.kind = Kind::notice, .number = called->second, .text = progress_words(params), .json = bounded(params)});
}

// Sampling, roots, elicitation: nothing of the kind was offered.
void Client::take_request(std::string_view method, json::Value id) {
  if (output_.size() >= refusals_max) return;
  const auto key = id.to_text();
  output_.push_back({.message = method == "ping" ? response(key, "{}")
                                                 : error_response(key, method_not_found, "This client cannot do that."),
                     .expects_answer = false});
}

void Client::fail(std::string words, std::vector<FromServer>& told) {
  stage_ = Stage::failed;
  calls_.clear();
  told.push_back({.kind = Kind::failed, .text = std::move(words)});
}

}  // namespace sluice::mcp
