#include "mcp/content.h"

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

}  // namespace

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

}  // namespace sluice::mcp
