#include "remote/mark.h"

#include "base/json.h"
#include "net/net.h"

namespace sluice::remote {

std::string to_json(const Mark& mark) {
  std::string out;
  json::Writer writer(out);
  writer.begin_object().key("runner").string(mark.runner).key("execution").string(mark.execution);
  writer.key("line").integer(mark.line);
  if (mark.begun) writer.key("begun").boolean(true);
  if (mark.careful) writer.key("careful").boolean(true);
  if (mark.losses > 0) writer.key("losses").integer(mark.losses);
  if (mark.last) writer.key("last").boolean(true);
  if (!mark.steps.empty()) {
    writer.key("steps").begin_array();
    for (const auto& step : mark.steps) writer.string(step);
    writer.end_array();
  }
  writer.end_object();
  return out;
}

std::optional<Mark> read_mark(std::string_view text) {
  const auto document = json::Document::parse(text);
  if (!document || document.value().root().kind() != json::Kind::object) return std::nullopt;
  const auto root = document.value().root();
  const auto text_of = [&](std::string_view name) {
    const auto value = root.find(name);
    return std::string(value ? value->string().value_or("") : "");
  };
  Mark mark{.runner = text_of("runner"), .execution = text_of("execution")};
  const auto line = root.find("line");
  const auto number = line ? line->integer() : std::nullopt;
  if (mark.execution.empty() || !number || *number < 0 || !net::is_plain_url(mark.runner)) return std::nullopt;
  mark.line = *number;
  const auto flag = [&](std::string_view name) {
    const auto value = root.find(name);
    return value && value->boolean().value_or(false);
  };
  mark.begun = flag("begun");
  mark.careful = flag("careful");
  mark.last = flag("last");
  if (const auto losses = root.find("losses")) mark.losses = static_cast<int>(losses->integer().value_or(0));
  if (const auto steps = root.find("steps"); steps && steps->kind() == json::Kind::array) {
    steps->each_element([&](json::Value step) { mark.steps.emplace_back(step.string().value_or("")); });
  }
  return mark;
}

}  // namespace sluice::remote
