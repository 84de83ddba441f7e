#include "cli/activity.h"

#include "base/json.h"
#include "cli/render.h"

namespace sluice::cli {
namespace {

constexpr std::size_t args_bytes_max = 160;

std::string shortened(std::string text) {
  text = harmless(text.substr(0, text.find('\n')));
  if (text.size() <= args_bytes_max) return text;
  std::size_t end = args_bytes_max;
  while ((static_cast<unsigned char>(text[end]) & 0xC0u) == 0x80u) --end;
  return text.substr(0, end) + "…";
}

// Why a step failed comes after all that it printed.
std::string last_line_of(const std::string& text) {
  const auto end = text.find_last_not_of(" \t\r\n");
  if (end == std::string::npos) return "";
  const auto newline = text.rfind('\n', end);
  const auto begin = newline == std::string::npos ? 0 : newline + 1;
  return text.substr(begin, end + 1 - begin);
}

// "$ ls -la" for a command, "read notes.md" for the rest.
std::string call_of(json::Value step) {
  auto name = text_of(step, "name");
  const auto args = step.find("args");
  if (!args) return name;
  if (name == "bash") return "$ " + shortened(text_of(*args, "command"));
  for (const auto* member : {"path", "pattern", "reason"}) {
    if (const auto text = text_of(*args, member); !text.empty()) return name + " " + shortened(text);
  }
  return name + " " + shortened(args->to_text());
}

std::string step_text(json::Value step) {
  const auto status = text_of(step, "status");
  if (status == "running") return "▸ " + call_of(step) + "\n";
  if (status != "failed") return "";
  return "✗ " + shortened(text_of(step, "name") + ": " + last_line_of(text_of(step, "error"))) + "\n";
}

std::string file_text(json::Value news) {
  const auto type = text_of(news, "type");
  const auto* sign = type == "create" ? "+ " : type == "delete" ? "- " : "~ ";
  return sign + shortened(text_of(news, "path")) + "\n";
}

std::string log_text(json::Value log) {
  const auto level = text_of(log, "level");
  if (level == "debug" || level == "info") return "";
  return "! " + shortened(text_of(log, "text")) + "\n";
}

}  // namespace

std::string activity_text(const client::Event& event) {
  const auto document = json::Document::parse(event.data);
  if (!document) return "";
  const auto data = document.value().root();
  if (event.type == "step") return step_text(data);
  if (event.type == "output") return harmless(text_of(data, "text"));
  if (event.type == "file") return file_text(data);
  if (event.type == "log") return log_text(data);
  if (event.type == "diff") return harmless(text_of(data, "diff"));
  return "";
}

}  // namespace sluice::cli
