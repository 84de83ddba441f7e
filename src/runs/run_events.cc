#include "base/json.h"
#include "runs/runs.h"

namespace sluice::runs {

namespace events = model::events;

namespace {

constexpr std::size_t shown_arguments_bytes_max = 64 * 1024;
constexpr std::size_t shown_argument_chars_max = 4'000;

// The text itself when it is short enough; else an object whose long strings are shortened.
std::string shown_arguments(const std::string& arguments) {
  if (arguments.size() <= shown_arguments_bytes_max) return arguments;
  const auto document = json::Document::parse(arguments);
  std::string out;
  json::Writer writer(out);
  writer.begin_object();
  if (document) {
    document.value().root().each_member([&](std::string_view name, json::Value value) {
      if (name.size() > shown_argument_chars_max) return;
      const auto text = value.string();
      auto whole = text ? std::string() : value.to_text();
      if (whole.size() > shown_argument_chars_max) whole = "null";
      writer.key_escaped(name);
      if (!text) {
        writer.raw(whole);
        return;
      }
      Excerpt excerpt(shown_argument_chars_max);
      excerpt.append(*text);
      writer.string(excerpt.text());
    });
  }
  writer.end_object();
  return out;
}

std::string json_text(std::string_view text) {
  std::string out;
  json::append_string(out, text);
  return out;
}

}  // namespace

events::Step step_running(std::string_view id, const models::ToolCall& call) {
  return {.id = std::string(id),
          .name = call.name,
          .status = events::StepStatus::running,
          .args = {shown_arguments(call.arguments)}};
}

events::Step step_ended(std::string_view id, std::string_view name, const ToolAnswer& answer, int64_t duration_ms) {
  events::Step step{.id = std::string(id), .name = std::string(name), .duration_ms = duration_ms};
  step.status = answer.failed ? events::StepStatus::failed : events::StepStatus::succeeded;
  if (answer.failed) {
    step.error = answer.text;
  } else {
    step.result.text = json_text(answer.text);
  }
  return step;
}

events::Output printed(std::string_view id, sandbox::Stream stream, std::string_view text) {
  return {
      .id = std::string(id), .stream = stream == sandbox::Stream::out ? "stdout" : "stderr", .text = std::string(text)};
}

events::Log log_line(std::string_view level, std::string_view text) {
  return {.level = std::string(level), .text = std::string(text)};
}

events::File file_event(const workspace::FileNews& news, Timestamp at) {
  return {.type = std::string(news.name()), .path = news.path, .timestamp_ms = at.ms};
}

events::Diff diff_event(std::string_view diff) { return {.path = ".", .diff = std::string(diff)}; }

events::Custom custom_event(std::string_view name, std::string_view value) {
  return {.name = std::string(name), .value = {std::string(value)}};
}

events::Custom run_diff_event(std::string_view diff) {
  std::string value;
  json::Writer(value).begin_object().key("diff").string(diff).end_object();
  return custom_event("sluice.run-diff", value);
}

events::Custom assets_event(const std::vector<dispatch::KeptAsset>& files) {
  std::string value;
  json::Writer writer(value);
  writer.begin_object().key("files").begin_array();
  for (const auto& file : files) {
    writer.begin_object().key("id").string(file.id).key("name").string(file.name);
    writer.key("type").string(model::media_type_of(file.name)).key("size").integer(file.size_bytes);
    writer.key("sha256").string(file.sha256).end_object();
  }
  writer.end_array().end_object();
  return custom_event("sluice.assets", value);
}

events::Custom overflow_event() { return custom_event("sandbox.file.overflow", "{}"); }

events::Custom more_files_event(int64_t count) {
  return custom_event("sandbox.file.overflow", R"({"more":)" + std::to_string(count) + "}");
}

}  // namespace sluice::runs
