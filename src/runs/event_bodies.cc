#include "runs/event_bodies.h"

#include "base/json.h"
#include "runs/output_text.h"

namespace sluice::runs {
namespace {

constexpr std::size_t told_arguments_bytes_max = 64 * 1024;
constexpr std::size_t told_argument_chars_max = 4'000;

// The text itself when it is short enough; else an object whose long strings are shortened.
std::string told_arguments(const std::string& arguments) {
  if (arguments.size() <= told_arguments_bytes_max) return arguments;
  const auto document = json::Document::parse(arguments);
  std::string out;
  json::Writer writer(out);
  writer.begin_object();
  if (document) {
    document.value().root().each_member([&](std::string_view name, json::Value value) {
      if (name.size() > told_argument_chars_max) return;
      const auto text = value.string();
      auto whole = text ? std::string() : value.to_text();
      if (whole.size() > told_argument_chars_max) whole = "null";
      writer.key_escaped(name);
      if (!text) {
        writer.raw(whole);
        return;
      }
      Excerpt excerpt(told_argument_chars_max);
      excerpt.append(*text);
      writer.string(excerpt.text());
    });
  }
  writer.end_object();
  return out;
}

}  // namespace

std::string step_running(std::string_view id, const models::ToolCall& call) {
  std::string body;
  json::Writer writer(body);
  writer.begin_object().key("id").string(id).key("name").string(call.name).key("status").string("running");
  writer.key("args").raw(told_arguments(call.arguments)).end_object();
  return body;
}

std::string step_ended(std::string_view id, std::string_view name, const ToolAnswer& answer, int64_t duration_ms) {
  std::string body;
  json::Writer writer(body);
  writer.begin_object().key("id").string(id).key("name").string(name);
  writer.key("status").string(answer.failed ? "failed" : "succeeded");
  writer.key(answer.failed ? "error" : "result").string(answer.text);
  writer.key("durationMs").integer(duration_ms).end_object();
  return body;
}

std::string printed_body(std::string_view id, sandbox::Stream stream, std::string_view text) {
  std::string body;
  json::Writer writer(body);
  writer.begin_object().key("id").string(id);
  writer.key("stream").string(stream == sandbox::Stream::out ? "stdout" : "stderr");
  writer.key("text").string(text).end_object();
  return body;
}

std::string log_body(std::string_view level, std::string_view text) {
  std::string body;
  json::Writer(body).begin_object().key("level").string(level).key("text").string(text).end_object();
  return body;
}

std::string file_body(const workspace::FileNews& news, Timestamp at) {
  std::string body;
  json::Writer writer(body);
  writer.begin_object().key("type").string(news.name()).key("path").string(news.path);
  writer.key("timestamp").integer(at.ms).end_object();
  return body;
}

std::string diff_body(std::string_view diff) {
  std::string body;
  json::Writer(body).begin_object().key("path").string(".").key("diff").string(diff).end_object();
  return body;
}

std::string custom_body(std::string_view name, std::string_view value) {
  std::string body;
  json::Writer(body).begin_object().key("name").string(name).key("value").raw(value).end_object();
  return body;
}

std::string run_diff_body(std::string_view diff) {
  std::string value;
  json::Writer(value).begin_object().key("diff").string(diff).end_object();
  return custom_body("sluice.run-diff", value);
}

std::string assets_body(const std::vector<dispatch::KeptAsset>& files) {
  std::string value;
  json::Writer writer(value);
  writer.begin_object().key("files").begin_array();
  for (const auto& file : files) {
    writer.begin_object().key("id").string(file.id).key("name").string(file.name);
    writer.key("type").string(model::media_type_of(file.name)).key("size").integer(file.size_bytes);
    writer.key("sha256").string(file.sha256).end_object();
  }
  writer.end_array().end_object();
  return custom_body("sluice.assets", value);
}

std::string overflow_body() { return custom_body("sandbox.file.overflow", "{}"); }

std::string more_files_body(int64_t count) {
  return custom_body("sandbox.file.overflow", R"({"more":)" + std::to_string(count) + "}");
}

}  // namespace sluice::runs
