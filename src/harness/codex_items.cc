#include "harness/codex_items.h"

#include <vector>

#include "harness/json_line.h"

namespace sluice::harness {
namespace {

using json::Value;

std::string command_arguments(const Value& item) {
  std::string text;
  json::Writer writer(text);
  writer.begin_object().key("command").string(script_in(text_in(item, "command")));
  if (const auto cwd = text_in(item, "cwd"); !cwd.empty()) writer.key("cwd").string(cwd);
  writer.end_object();
  return text;
}

// {"changes":[{"path","kind":"add","diff"}]}
std::string change_arguments(const Value& item) {
  std::string text;
  json::Writer writer(text);
  writer.begin_object().key("changes").begin_array();
  value_in(item, "changes").each_element([&](const Value& change) {
    writer.begin_object().key("path").string(text_in(change, "path"));
    writer.key("kind").string(text_in(value_in(change, "kind"), "type"));
    writer.key("diff").string(text_in(change, "diff")).end_object();
  });
  writer.end_array().end_object();
  return text;
}

std::string member_arguments(const Value& item, std::string_view name) {
  std::string text;
  json::Writer(text).begin_object().key(name).string(text_in(item, name)).end_object();
  return text;
}

// "spawnAgent" → "spawn_agent"
std::string snake_case(std::string_view name) {
  std::string snake;
  for (const char c : name) {
    if (c >= 'A' && c <= 'Z') {
      snake += '_';
      snake += static_cast<char>(c - 'A' + 'a');
    } else {
      snake += c;
    }
  }
  return snake;
}

std::string joined_text(const Value& parts) {
  std::string text;
  parts.each_element([&](const Value& part) { text += text_in(part, "text"); });
  return text;
}

std::string command_result(const Value& item) {
  std::string text(text_in(item, "aggregatedOutput"));
  const auto code = value_in(item, "exitCode").integer();
  if (code && *code != 0) {
    if (!text.empty() && text.back() != '\n') text += '\n';
    text += "(exit code " + std::to_string(*code) + ")";
  }
  return text;
}

std::string result_text(std::string_view type, const Value& item) {
  if (type == "commandExecution") return command_result(item);
  if (type == "dynamicToolCall") return joined_text(value_in(item, "contentItems"));
  if (type != "mcpToolCall") return "";
  if (const auto error = text_in(value_in(item, "error"), "message"); !error.empty()) return std::string(error);
  return joined_text(value_in(value_in(item, "result"), "content"));
}

// Whether a backslash before `next` takes its meaning away, inside of `quote`.
bool escapes(char quote, char next) {
  return quote == 0 || (quote == '"' && std::string_view("$`\"\\\n").find(next) != std::string_view::npos);
}

// The words of a POSIX shell, for the quotes that Codex writes: 'a', "a", \a. None when a quote does not end.
std::vector<std::string> shell_words(std::string_view line) {
  std::vector<std::string> words;
  bool in_word = false;
  char quote = 0;
  for (std::size_t at = 0; at < line.size(); ++at) {
    const char c = line[at];
    if (quote == 0 && c == ' ') {
      in_word = false;
      continue;
    }
    if (!in_word) words.emplace_back();
    in_word = true;
    if (c == quote) {
      quote = 0;
    } else if (quote == 0 && (c == '\'' || c == '"')) {
      quote = c;
    } else if (c == '\\' && at + 1 < line.size() && escapes(quote, line[at + 1])) {
      words.back() += line[++at];
    } else {
      words.back() += c;
    }
  }
  return quote == 0 ? words : std::vector<std::string>();
}

}  // namespace

std::string script_in(std::string_view command) {
  const auto words = shell_words(command);
  const bool wrapped = words.size() == 3 && words[0].ends_with("sh") && (words[1] == "-lc" || words[1] == "-c");
  return wrapped ? words[2] : std::string(command);
}

std::optional<ProgramCall> call_of_item(const Value& item) {
  const auto type = text_in(item, "type");
  ProgramCall call{std::string(text_in(item, "id")), "", "{}"};
  if (type == "commandExecution") {
    call.name = "command_execution";
    call.arguments = command_arguments(item);
  } else if (type == "fileChange") {
    call.name = "file_change";
    call.arguments = change_arguments(item);
  } else if (type == "mcpToolCall") {
    const auto server = text_in(item, "server");
    call.name = (server == bridge_name ? "" : std::string(server) + "__") + std::string(text_in(item, "tool"));
    call.arguments = object_in(item, "arguments");
  } else if (type == "dynamicToolCall") {
    call.name = text_in(item, "tool");
    call.arguments = object_in(item, "arguments");
  } else if (type == "webSearch") {
    call.name = "web_search";
    call.arguments = member_arguments(item, "query");
  } else if (type == "imageView") {
    call.name = "view_image";
    call.arguments = member_arguments(item, "path");
  } else if (type == "collabAgentToolCall") {
    call.name = snake_case(text_in(item, "tool"));
    call.arguments = member_arguments(item, "prompt");
  }
  if (call.name.empty() || call.id.empty()) return std::nullopt;
  return call;
}

ProgramCall call_of_approval(const Value& params) {
  ProgramCall call{std::string(text_in(params, "itemId")), "file_change", "{}"};
  if (!text_in(params, "command").empty()) {
    call.name = "command_execution";
    call.arguments = command_arguments(params);
  }
  return call;
}

ItemEnd end_of_item(const Value& item) {
  const auto status = text_in(item, "status");
  ItemEnd end{result_text(text_in(item, "type"), item), status == "failed" || status == "declined"};
  if (end.text.empty() && status == "declined") end.text = "declined";
  return end;
}

}  // namespace sluice::harness
