#include "api/agui/ui_messages.h"

#include <algorithm>
#include <vector>

#include "base/check.h"
#include "base/json.h"

namespace sluice::api::agui {
namespace {

struct UiMessage {
  std::string id;
  std::string role;
  std::vector<std::string> parts;  // JSON objects
  std::vector<std::string> call_ids;
};

std::string text_in(json::Value object, std::string_view name) {
  const auto value = object.find(name);
  return std::string(value ? value->string().value_or("") : "");
}

// The text of a text, or of its parts.
std::string content_of(json::Value message) {
  const auto content = message.find("content");
  if (!content || content->kind() != json::Kind::array) return text_in(message, "content");
  std::string out;
  content->each_element([&](json::Value part) { out += (out.empty() ? "" : "\n") + text_in(part, "text"); });
  return out;
}

std::string text_part(std::string_view type, std::string_view content) {
  std::string out;
  json::Writer(out).begin_object().key("type").string(type).key("content").string(content).end_object();
  return out;
}

std::string call_part(json::Value call) {
  const auto function = call.find("function").value_or(json::Value());
  std::string out;
  json::Writer writer(out);
  writer.begin_object().key("type").string("tool-call").key("id").string(text_in(call, "id"));
  writer.key("name").string(text_in(function, "name")).key("arguments").string(text_in(function, "arguments"));
  writer.key("state").string("input-complete").end_object();
  return out;
}

std::string result_part(json::Value message) {
  const auto error = text_in(message, "error");
  std::string out;
  json::Writer writer(out);
  writer.begin_object().key("type").string("tool-result").key("toolCallId").string(text_in(message, "toolCallId"));
  writer.key("content").string(content_of(message)).key("state").string(error.empty() ? "complete" : "error");
  if (!error.empty()) writer.key("error").string(error);
  writer.end_object();
  return out;
}

class Gathering {
 public:
  void take(json::Value message) {
    const auto role = text_in(message, "role");
    if (role == "reasoning") {
      thoughts_.push_back(text_part("thinking", content_of(message)));
    } else if (role == "tool") {
      take_result(message);
    } else if (role == "user" || role == "system" || role == "developer") {
      made_.push_back(
          {text_in(message, "id"), role == "user" ? role : "system", {text_part("text", content_of(message))}, {}});
    } else if (role == "assistant") {
      take_turn(message);
    }
  }

  std::string json() {
    if (!thoughts_.empty()) made_.push_back({"thoughts", "assistant", std::move(thoughts_), {}});
    std::string out = "[";
    for (const auto& message : made_) {
      if (out.size() > 1) out += ',';
      json::Writer writer(out);
      writer.begin_object().key("id").string(message.id).key("role").string(message.role).key("parts").begin_array();
      for (const auto& part : message.parts) writer.raw(part);
      writer.end_array().end_object();
    }
    return out + "]";
  }

 private:
  void take_turn(json::Value message) {
    UiMessage made{text_in(message, "id"), "assistant", std::exchange(thoughts_, {}), {}};
    if (auto text = content_of(message); !text.empty()) made.parts.push_back(text_part("text", text));
    if (const auto calls = message.find("toolCalls")) {
      calls->each_element([&](json::Value call) {
        made.parts.push_back(call_part(call));
        made.call_ids.push_back(text_in(call, "id"));
      });
    }
    made_.push_back(std::move(made));
  }

  void take_result(json::Value message) {
    const auto call_id = text_in(message, "toolCallId");
    for (auto turn = made_.rbegin(); turn != made_.rend(); ++turn) {
      if (std::ranges::find(turn->call_ids, call_id) == turn->call_ids.end()) continue;
      turn->parts.push_back(result_part(message));
      return;
    }
  }

  std::vector<UiMessage> made_;
  std::vector<std::string> thoughts_;  // of the turn that comes
};

}  // namespace

std::string ui_messages(std::string_view messages) {
  const auto document = json::Document::parse(messages);
  SLUICE_CHECK(static_cast<bool>(document));  // we wrote it
  Gathering gathering;
  document.value().root().each_element([&](json::Value message) { gathering.take(message); });
  return gathering.json();
}

}  // namespace sluice::api::agui
