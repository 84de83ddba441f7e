#include "models/offline_script.h"

#include <charconv>
#include <optional>
#include <utility>

#include "base/json.h"
#include "model/gates.h"

namespace sluice::models {
namespace {

constexpr int64_t scripted_tokens_max = 1'000'000;  // more would outgrow an answer's limit anyway
constexpr int64_t tokens_per_second_max = 1'000'000;
constexpr int64_t sleep_ms_max = 24LL * 3600 * 1000;

using Line = std::optional<ScriptLine>;  // empty: not a directive after all

std::optional<int64_t> number(std::string_view text, int64_t min, int64_t max) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (value < min || value > max) return std::nullopt;
  return value;
}

// What is before and after the first `mark`; empty where there is no mark or nothing before it.
std::optional<std::pair<std::string_view, std::string_view>> split(std::string_view text, std::string_view mark) {
  const auto at = text.find(mark);
  if (at == std::string_view::npos || at == 0) return std::nullopt;
  return std::pair(text.substr(0, at), text.substr(at + mark.size()));
}

using Arguments = std::initializer_list<std::pair<std::string_view, std::string_view>>;

ScriptLine call(std::string_view tool, Arguments arguments) {
  std::string text;
  json::Writer writer(text);
  writer.begin_object();
  for (const auto& [name, value] : arguments) writer.key(name).string(value);
  writer.end_object();
  return CallLine{{.name = std::string(tool), .arguments = std::move(text)}};
}

ScriptLine request_secret(std::string_view alias, std::string_view host, std::string_view description,
                          std::string_view reason) {
  std::string text;
  json::Writer writer(text);
  writer.begin_object().key("alias").string(alias).key("description").string(description);
  if (!host.empty()) writer.key("hosts").begin_array().string(host).end_array();
  if (!reason.empty()) writer.key("reason").string(reason);
  writer.end_object();
  return CallLine{{.name = "request_secret", .arguments = std::move(text)}};
}

Line say(std::string_view rest) { return SayLine{std::string(rest)}; }
Line put(std::string_view rest) { return PutLine{std::string(rest)}; }
Line think(std::string_view rest) { return ThinkLine{std::string(rest)}; }
Line bash(std::string_view rest) { return call("bash", {{"command", rest}}); }
Line read(std::string_view rest) { return call("read", {{"path", rest}}); }
Line ask(std::string_view rest) { return call("request_approval", {{"reason", rest}}); }

Line write(std::string_view rest) {
  const auto parts = split(rest, ": ");
  if (!parts) return std::nullopt;
  return call("write", {{"path", parts->first}, {"content", parts->second}});
}

Line edit(std::string_view rest) {
  const auto parts = split(rest, ": ");
  if (!parts) return std::nullopt;
  const auto change = split(parts->second, " -> ");
  if (!change) return std::nullopt;
  return call("edit", {{"path", parts->first}, {"old", change->first}, {"new", change->second}});
}

Line call_any(std::string_view rest) {
  const auto parts = split(rest, " ");
  if (!parts) return std::nullopt;
  const auto arguments = json::Document::parse(parts->second);
  if (!arguments || arguments.value().root().kind() != json::Kind::object) return std::nullopt;
  return CallLine{{.name = std::string(parts->first), .arguments = arguments.value().root().to_text()}};
}

Line need(std::string_view rest) {
  const auto parts = split(rest, ": ");
  if (!parts) return std::nullopt;
  const auto bound = split(parts->first, " for ");
  const auto alias = bound ? bound->first : parts->first;
  const auto host = bound ? bound->second : std::string_view();
  if (!model::is_alias(alias) || host.find(' ') != std::string_view::npos || (bound && host.empty())) {
    return std::nullopt;
  }
  const auto why = split(parts->second, " because ");
  const auto description = why ? why->first : parts->second;
  if (is_blank(description)) return std::nullopt;
  return request_secret(alias, host, description, why ? why->second : std::string_view());
}

Line tokens(std::string_view rest) {
  const auto parts = split(rest, " ");
  const auto count = number(parts ? parts->first : rest, 1, scripted_tokens_max);
  const auto per_second = parts ? number(parts->second, 1, tokens_per_second_max) : 0;
  if (!count || !per_second) return std::nullopt;
  return TokensLine{*count, *per_second};
}

Line sleep(std::string_view rest) {
  const auto ms = number(rest, 0, sleep_ms_max);
  if (!ms) return std::nullopt;
  return SleepLine{*ms};
}

Line fail(std::string_view rest) {
  const auto parts = split(rest, " ");
  const auto status = number(parts ? parts->first : rest, 400, 599);
  if (!status) return std::nullopt;
  return FailLine{static_cast<int>(*status), std::string(parts ? parts->second : std::string_view())};
}

struct Verb {
  std::string_view word;
  Line (*parse)(std::string_view rest);
};

constexpr Verb verbs[] = {
    {"say", say},       {"put", put},     {"think", think},   {"$", bash},  {"write", write},
    {"read", read},     {"edit", edit},   {"call", call_any}, {"ask", ask}, {"need", need},
    {"tokens", tokens}, {"sleep", sleep}, {"fail", fail},
};

}  // namespace

bool is_blank(std::string_view line) { return line.find_first_not_of(" \t\r") == std::string_view::npos; }

ScriptLine parse_script_line(std::string_view line) {
  if (line == "cut") return CutLine{};
  if (line == "hang") return HangLine{};
  if (const auto parts = split(line, " "); parts && !is_blank(parts->second)) {
    for (const auto& verb : verbs) {
      if (verb.word != parts->first) continue;
      if (auto parsed = verb.parse(parts->second)) return *std::move(parsed);
    }
  }
  return EchoLine{std::string(line)};
}

}  // namespace sluice::models
