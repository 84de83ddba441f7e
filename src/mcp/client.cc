#include <optional>
#include <utility>

#include "base/check.h"
#include "base/json.h"
#include "mcp/elicitation.h"
#include "mcp/mcp.h"
#include "mcp/message.h"

namespace sluice::mcp {
namespace {

constexpr std::size_t shown_name_bytes_max = 256;
constexpr std::size_t shown_uri_bytes_max = 4096;

std::string_view view_of(json::Value object, std::string_view name) {
  const auto value = object.find(name);
  return value ? value->string().value_or("") : std::string_view();
}

// Of bytes in base64, whose padding does not matter here.
std::string size_words(std::string_view base64) {
  constexpr std::size_t kib = 1024;
  const auto bytes = base64.size() / 4 * 3;
  if (bytes < kib) return std::to_string(bytes) + " bytes";
  if (bytes < kib * kib) return std::to_string((bytes + kib / 2) / kib) + " KB";
  return std::to_string((bytes + kib * kib / 2) / (kib * kib)) + " MB";
}

// A picture, a sound, a file: "[image/png, 34 KB: not shown]".
std::string unshown_words(std::string_view name, std::string_view media_type, std::string_view base64) {
  auto words = "[" + cut(name, shown_uri_bytes_max);
  if (!name.empty() && !media_type.empty()) words += ", ";
  words += cut(media_type, shown_name_bytes_max);
  return words + ", " + size_words(base64) + ": not shown]";
}

std::string resource_words(json::Value resource) {
  const auto uri = view_of(resource, "uri");
  const auto text = resource.find("text");
  if (text) return std::string(text->string().value_or(""));
  if (const auto blob = view_of(resource, "blob"); !blob.empty()) {
    return unshown_words(uri, view_of(resource, "mimeType"), blob);
  }
  return "[resource " + cut(uri, shown_uri_bytes_max) + "]";
}

std::string link_words(json::Value link) {
  auto name = view_of(link, "title");
  if (name.empty()) name = view_of(link, "name");
  auto words = "[resource " + cut(view_of(link, "uri"), shown_uri_bytes_max);
  if (!name.empty()) words += ": " + cut(name, shown_name_bytes_max);
  return words + "]";
}

std::string words_of(json::Value block) {
  const auto type = view_of(block, "type");
  if (type == "text") return std::string(view_of(block, "text"));
  const auto resource = block.find("resource");
  if (type == "resource" && resource) return resource_words(*resource);
  if (type == "resource_link") return link_words(block);
  if (type == "image" || type == "audio") {
    const auto media_type = view_of(block, "mimeType");
    return unshown_words("", media_type.empty() ? type : media_type, view_of(block, "data"));
  }
  return "[" + (type.empty() ? "something" : cut(type, shown_name_bytes_max)) + "]";
}

void append_all(std::string& text, json::Value blocks, std::string (*words)(json::Value)) {
  blocks.each_element([&](json::Value block) {
    if (text.size() > answer_bytes_max) return;
    text += (text.empty() ? "" : "\n") + words(block);
  });
}

std::string error_words(json::Value error) {
  const auto words = view_of(error, "message");
  if (!words.empty()) return cut(words, notice_bytes_max);
  const auto code = error.find("code");
  return "error " + (code ? cut(code->to_text(), 64) : "without a message");
}

ToolAnswer answer_of(json::Value response) {
  if (const auto error = response.find("error")) return {.text = error_words(*error), .failed = true};
  const auto result = response.find("result");
  ToolAnswer answer;
  if (const auto content = result->find("content")) append_all(answer.text, *content, words_of);
  if (const auto contents = result->find("contents")) append_all(answer.text, *contents, resource_words);
  const auto structured = result->find("structuredContent");
  if (answer.text.empty() && structured) answer.text = structured->to_text();
  answer.text = cut(answer.text, answer_bytes_max);
  const auto is_error = result->find("isError");
  answer.failed = is_error && is_error->boolean().value_or(false);
  return answer;
}

using Kind = FromServer::Kind;

constexpr std::size_t level_bytes_max = 32;

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
  greeting_id_ = ++last_id_;
  std::string params;
  json::Writer writer(params);
  writer.begin_object().key("protocolVersion").string(newest_version);
  writer.key("capabilities").raw(R"({"elicitation":{}})");
  writer.key("clientInfo").begin_object().key("name").string(name_).key("version").string(version_).end_object();
  writer.end_object();
  return {.message = request(greeting_id_, "initialize", params)};
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

Outgoing Client::read(uint64_t number, std::string_view uri) {
  SLUICE_CHECK(stage_ == Stage::ready);
  calls_[++last_id_] = number;
  std::string params;
  json::Writer(params).begin_object().key("uri").string(uri).end_object();
  return {.message = request(last_id_, "resources/read", params)};
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
  std::vector<FromServer> events;
  if (stage_ == Stage::failed) return events;
  const auto document = json::Document::parse(message);
  if (!document) {
    events.push_back(
        {.kind = Kind::notice, .text = "It said what is not JSON: " + document.error().what, .json = "{}"});
    return events;
  }
  const auto root = document.value().root();
  if (root.kind() == json::Kind::array) {
    root.each_element([&](json::Value one) { take_one(one, events); });
  } else {
    take_one(root, events);
  }
  return events;
}

void Client::take_one(json::Value message, std::vector<FromServer>& events) {
  if (stage_ == Stage::failed) return;
  const auto method = message.find("method");
  const auto id = message.find("id");
  if (method) {
    const auto name = method->string().value_or("");
    const auto params = message.find("params").value_or(json::Value());
    return id ? take_request(name, *id, params) : take_notification(name, params, events);
  }
  const auto number = id ? id->integer().value_or(0) : 0;
  if (number > 0) take_response(static_cast<uint64_t>(number), message, events);
}

void Client::take_response(uint64_t id, json::Value message, std::vector<FromServer>& events) {
  if (!message.find("result") && !message.find("error")) return;
  if (id == greeting_id_ && stage_ == Stage::greeting) return take_greeting(message, events);
  if (listing_ && id == listing_->id) return take_page(message, events);
  const auto called = calls_.find(id);
  if (called == calls_.end()) return;
  events.push_back({.kind = Kind::answer, .number = called->second, .result = answer_of(message)});
  calls_.erase(called);
}

// Whatever version it names: what is used of the protocol here is the same in all of them.
void Client::take_greeting(json::Value message, std::vector<FromServer>& events) {
  if (const auto error = message.find("error")) return fail("It refused to begin: " + error_words(*error), events);
  const auto version = text_of(message.find("result")->find("protocolVersion"));
  if (version.empty() || version.size() > 32) {
    return fail("It answered initialize without a protocolVersion: it does not speak MCP.", events);
  }
  protocol_version_ = version;
  const auto offered = message.find("result")->find("capabilities");
  has_resources_ = offered && offered->find("resources");
  output_.push_back({.message = initialized_notice(), .expects_answer = false});
  stage_ = Stage::listing;
  list_tools();
}

// ── its tools ──

void Client::list_tools() {
  listing_.emplace();
  ask_page("");
}

void Client::ask_page(std::string_view cursor) {
  listing_->id = ++last_id_;
  ++listing_->page_count;
  std::string params;
  json::Writer writer(params);
  writer.begin_object();
  if (!cursor.empty()) writer.key("cursor").string(cursor);
  writer.end_object();
  output_.push_back({.message = request(listing_->id, "tools/list", params)});
}

void Client::take_page(json::Value message, std::vector<FromServer>& events) {
  if (const auto error = message.find("error")) {
    const auto code = error->find("code");
    // A server of resources or prompts only.
    const bool has_none = code && code->integer() == method_not_found;
    const auto words = "It did not list its tools: " + error_words(*error);
    if (!has_none && stage_ == Stage::ready) return give_up_listing(words, events);
    if (!has_none) return fail(words, events);
  }
  const auto result = message.find("result").value_or(json::Value());
  if (const auto tools = result.find("tools")) tools->each_element([this](json::Value tool) { take_tool(tool); });
  const auto cursor = text_of(result.find("nextCursor"));
  if (!cursor.empty() && listing_->page_count < pages_max && listing_->tools.size() < tools_max) {
    return ask_page(cursor);
  }
  tools_ = std::move(listing_->tools);
  end_listing(events);
}

std::vector<FromServer> Client::give_up_listing(std::string_view why) {
  std::vector<FromServer> events;
  if (listing_ && stage_ == Stage::ready) give_up_listing(why, events);
  return events;
}

void Client::give_up_listing(std::string_view why, std::vector<FromServer>& events) {
  events.push_back({.kind = Kind::notice, .text = std::string(why), .json = "{}", .level = "warning"});
  end_listing(events);
}

void Client::end_listing(std::vector<FromServer>& events) {
  listing_.reset();
  events.push_back({.kind = stage_ == Stage::ready ? Kind::listed : Kind::ready});
  stage_ = Stage::ready;
  if (std::exchange(is_list_stale_, false)) list_tools();
}

// What changes again and again is listed so often only.
void Client::hear_list_changed() {
  if (++change_count_ > list_changes_max) return;
  if (stage_ == Stage::ready && !listing_) return list_tools();
  is_list_stale_ = true;
}

void Client::take_tool(json::Value tool) {
  const auto name = text_of(tool.find("name"));
  const auto schema = tool.find("inputSchema");
  // Such a tool answers only to tasks, which this client does not have.
  const auto execution = tool.find("execution");
  if (execution && text_of(execution->find("taskSupport")) == "required") return;
  auto parameters = schema && schema->kind() == json::Kind::object ? schema->to_text() : "{}";
  if (name.empty() || name.size() > 256 || parameters.size() > schema_bytes_max) return;
  if (listing_->tools.size() >= tools_max) return;
  listing_->tools.push_back({.name = std::string(name),
                             .description = cut(text_of(tool.find("description")), description_bytes_max),
                             .parameters = std::move(parameters)});
}

void Client::take_notification(std::string_view method, json::Value params, std::vector<FromServer>& events) {
  if (method == "notifications/tools/list_changed") return hear_list_changed();
  if (method == "notifications/message") {
    events.push_back({.kind = Kind::notice,
                      .text = log_words(params),
                      .json = bounded(params),
                      .level = cut(text_of(params.find("level")), level_bytes_max)});
    return;
  }
  if (method != "notifications/progress") return;
  const auto token = params.find("progressToken");
  const auto id = token ? token->integer().value_or(0) : 0;
  const auto called = calls_.find(static_cast<uint64_t>(id));
  if (id <= 0 || called == calls_.end()) return;
  events.push_back(
      {.kind = Kind::notice, .number = called->second, .text = progress_words(params), .json = bounded(params)});
}

// Sampling and roots were not offered.
void Client::take_request(std::string_view method, json::Value id, json::Value params) {
  if (output_.size() >= refusals_max) return;
  const auto key = id.to_text();
  const auto answer = [&] {
    if (method == "ping") return response(key, "{}");
    if (method == "elicitation/create") return answer_to_elicitation(key, params);
    return error_response(key, method_not_found, "This client cannot do that.");
  };
  output_.push_back({.message = answer(), .expects_answer = false});
}

void Client::fail(std::string words, std::vector<FromServer>& events) {
  stage_ = Stage::failed;
  calls_.clear();
  events.push_back({.kind = Kind::failed, .text = std::move(words)});
}

}  // namespace sluice::mcp
