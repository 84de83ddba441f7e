#include "cli/activity.h"

#include <utility>

#include "base/json.h"
#include "base/utf8.h"
#include "cli/render.h"

namespace sluice::cli {
namespace {

constexpr std::size_t args_bytes_max = 160;
constexpr std::size_t line_bytes_max = 4096;  // of output; what was written before it in its line stays as it is

std::string shortened(std::string text) {
  text = harmless(text.substr(0, text.find('\n')));
  if (text.size() <= args_bytes_max) return text;
  return text.substr(0, utf8_prefix_size(text, args_bytes_max)) + "…";
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
  return "✗ " + shortened(text_of(step, "name") + ": " + last_line_of(printed_text(text_of(step, "error")))) + "\n";
}

std::string log_text(json::Value log) {
  const auto level = text_of(log, "level");
  if (level == "debug" || level == "info") return "";
  return "! " + shortened(text_of(log, "text")) + "\n";
}

}  // namespace

std::string Activity::take(const client::Event& event) {
  const auto document = json::Document::parse(event.data);
  if (!document) return "";
  const auto data = document.value().root();
  if (event.type == "output") return take_output(data);
  auto text = text_of_event(event.type, data);
  return text.empty() ? text : end_line() + text;
}

// The changes of files are shown with the diff, which comes at the end, or when the run waits: a file that came and
// went meanwhile is none. A run that ends without a diff changed nothing, or what it changed is not kept.
std::string Activity::text_of_event(std::string_view type, json::Value data) {
  if (type == "step") return step_text(data);
  if (type == "log") return log_text(data);
  if (type == "custom") return take_custom(data);
  if (type == "diff") return take_changes() + (has_own_diff_ ? "" : harmless(text_of(data, "diff")));
  if (type == "file") take_file(data);
  if (type == "message_end" || type == "error") forget_changes();
  return type == "approval_required" ? take_changes() : "";
}

// ── what tools print ──

std::string Activity::take_output(json::Value output) {
  auto id = text_of(output, "id");
  std::string shown = id == output_id_ ? "" : end_line();
  output_id_ = std::move(id);
  const auto text = text_of(output, "text");
  std::string_view rest = text;
  for (std::size_t end = 0; (end = rest.find('\n')) != std::string_view::npos; rest.remove_prefix(end + 1)) {
    line_ += rest.substr(0, end);
    shown += finish_line(true);
  }
  line_ += rest;
  return shown + grown_line();
}

// What was shown of the line cannot be taken back: where it was written over later, it is shown again as it ended.
std::string Activity::finish_line(bool is_ended) {
  while (line_.ends_with('\r')) line_.pop_back();
  auto text = harmless(printed_text(line_));
  const bool is_open = goes_on_ || !shown_.empty() || !text.empty();
  if (text.starts_with(shown_)) {
    text.erase(0, shown_.size());
  } else {
    text.insert(0, "\n");
  }
  line_.clear();
  shown_.clear();
  goes_on_ = false;
  return is_ended || is_open ? text + "\n" : "";
}

// A line that is being written over is shown when it has ended, as are escape sequences of which the end has not come.
std::string Activity::grown_line() {
  const bool is_long = line_.size() > line_bytes_max;
  if (!is_long && line_.find_first_of("\r\b") != std::string::npos) return "";
  auto text = harmless(printed_text(is_long ? line_ : without_open_escape(line_)));
  auto more = text.starts_with(shown_) ? text.substr(shown_.size()) : "\n" + text;
  shown_ = std::move(text);
  if (is_long) {
    line_.clear();
    shown_.clear();
    goes_on_ = true;
  }
  return more;
}

// ── what the run came to ──

void Activity::take_file(json::Value news) {
  const auto type = text_of(news, "type");
  const auto path = text_of(news, "path");
  const auto [place, is_first] = places_.try_emplace(path, files_.size());
  if (is_first) files_.push_back({.path = path, .was_there = type != "create", .is_there = false});
  files_[place->second].is_there = type != "delete";
}

// What this run alone changed; the diff that comes after it has the changes of earlier runs in it.
std::string Activity::take_custom(json::Value custom) {
  const auto value = custom.find("value");
  if (text_of(custom, "name") != "sluice.run-diff" || !value) return "";
  has_own_diff_ = true;
  const auto diff = text_of(*value, "diff");
  if (diff.empty()) forget_changes();
  return take_changes() + harmless(diff);
}

std::string Activity::take_changes() {
  std::string text;
  for (const auto& file : files_) {
    if (!file.was_there && !file.is_there) continue;
    text += (!file.was_there ? "+ " : file.is_there ? "~ " : "- ") + shortened(file.path) + "\n";
  }
  forget_changes();
  return text;
}

void Activity::forget_changes() {
  files_.clear();
  places_.clear();
}

}  // namespace sluice::cli
