#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "base/json.h"
#include "base/limits.h"
#include "model/gates.h"
#include "models/failure.h"
#include "models/models.h"

namespace sluice::models {
namespace {

// ── one line of the mini-language (docs/offline-model.md) ──

struct SayLine {
  std::string text;
};  // `{{last}}` not yet replaced
struct PutLine {
  std::string text;
};
struct ThinkLine {
  std::string text;
};
struct CallLine {
  ToolCall call;
};  // id not yet given
struct TokensLine {
  int64_t count;
  int64_t per_second;  // 0: at once
};
struct SleepLine {
  int64_t ms;
};
struct FailLine {
  int status;
  std::string what;
};
struct CutLine {};
struct HangLine {};
struct EchoLine {
  std::string text;
};  // anything else: "You said: …"

using ScriptLine =
    std::variant<SayLine, PutLine, ThinkLine, CallLine, TokensLine, SleepLine, FailLine, CutLine, HangLine, EchoLine>;

constexpr int64_t scripted_tokens_max = 1'000'000;  // more would outgrow an answer's limit anyway
constexpr int64_t tokens_per_second_max = 1'000'000;
constexpr int64_t sleep_ms_max = 24LL * 3600 * 1000;

bool is_blank(std::string_view line) { return line.find_first_not_of(" \t\r") == std::string_view::npos; }

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

using Kind = ModelEvent::Kind;
using Step = OfflineAnswer::Step;

constexpr std::string_view spaces = " \t\n\r\v\f";
constexpr std::string_view last_mark = "{{last}}";
constexpr std::string_view echo_prefix = "You said: ";

int64_t word_count(std::string_view text) {
  int64_t count = 0;
  std::size_t at = 0;
  while ((at = text.find_first_not_of(spaces, at)) != std::string_view::npos) {
    ++count;
    at = text.find_first_of(spaces, at);
  }
  return count;
}

// A message full of marks and a long result would multiply to more memory than there is; past an
// answer's limit the text breaks off.
std::string with_last(std::string_view text, std::string_view last) {
  std::string out;
  for (auto mark = text.find(last_mark); mark != std::string_view::npos; mark = text.find(last_mark)) {
    out.append(text.substr(0, mark)).append(last);
    text.remove_prefix(mark + last_mark.size());
    if (out.size() > limits::answer_bytes_max) return out;
  }
  return out.append(text);
}

Step say(ModelEvent event) { return OfflineAnswer::Say{std::move(event)}; }

Step say_stop() { return say({.kind = Kind::stop}); }

// What is being streamed: the words of `text`, then the tokens.
struct Stream {
  Kind kind = Kind::text;
  std::string text;
  std::size_t text_at = 0;
  bool is_whole = false;  // one delta, however many words
  int64_t token = 0;
  int64_t token_count = 0;
  int64_t tokens_per_second = 0;  // 0: at once
  int64_t wait_ms = 0;            // before going on
};

}  // namespace

// Holds the script and the place in it, never the steps to come: `tokens 1000000` costs nothing
// until somebody asks for them.
class OfflineAnswer::Player {
 public:
  explicit Player(const Prompt& prompt) {
    for (const auto& turn : prompt.turns) read_turn(turn);
    skip_rounds_before();
  }

  Step next() {
    while (ending_.empty()) {
      if (stream_.wait_ms > 0) return Wait{std::exchange(stream_.wait_ms, 0)};
      if (stream_.token < stream_.token_count) return next_token();
      if (stream_.text_at < stream_.text.size()) return next_word();
      const auto line = take_line();
      if (line) {
        if (const auto wait_ms = begin(parse_script_line(*line))) return Wait{*wait_ms};
      } else if (!std::exchange(met_a_line_, true)) {
        begin_text(Kind::text, std::string(echo_prefix));
      } else {
        ending_ = {say_usage(), say_stop()};
      }
    }
    const auto at = std::min(ending_at_++, ending_.size() - 1);
    return ending_[at];
  }

 private:
  void read_turn(const PromptTurn& turn) {
    usage_.input_tokens += word_count(turn.text);
    if (turn.role == model::Role::user && turn.results.empty()) {
      script_ = turn.text;
      results_.clear();
    }
    for (const auto& result : turn.results) {
      usage_.input_tokens += word_count(result.text);
      results_.push_back(result.text);
    }
  }

  // In silence, so that the ids of calls and the line breaks are those of one long answer.
  void skip_rounds_before() {
    while (call_count_ < results_.size()) {
      const auto line = take_line();
      if (!line) break;
      begin(parse_script_line(*line));
      stream_ = {};
      ending_.clear();
    }
  }

  // The next line that is not blank.
  std::optional<std::string_view> take_line() {
    while (script_at_ < script_.size()) {
      const auto end = std::min(script_.find('\n', script_at_), script_.size());
      auto line = std::string_view(script_).substr(script_at_, end - script_at_);
      script_at_ = end + 1;
      if (line.ends_with('\r')) line.remove_suffix(1);
      if (is_blank(line)) continue;
      met_a_line_ = true;
      return line;
    }
    return std::nullopt;
  }

  // Sets up what the line does; answers the milliseconds to wait if it is a pause.
  std::optional<int64_t> begin(ScriptLine line) {
    if (const auto* words = std::get_if<SayLine>(&line)) {
      begin_text(Kind::text, with_last(words->text, last_result_));
    } else if (auto* piece = std::get_if<PutLine>(&line)) {
      had_text_ = true;
      stream_ = {.text = std::move(piece->text), .is_whole = true};
    } else if (const auto* thought = std::get_if<ThinkLine>(&line)) {
      begin_text(Kind::reasoning, thought->text);
    } else if (const auto* echo = std::get_if<EchoLine>(&line)) {
      begin_text(Kind::text, std::string(echo_prefix) + echo->text);
    } else if (const auto* tokens = std::get_if<TokensLine>(&line)) {
      begin_text(Kind::text, "w1");
      stream_.token_count = tokens->count;
      stream_.tokens_per_second = tokens->per_second;
    } else if (auto* made = std::get_if<CallLine>(&line)) {
      end_with_call(std::move(made->call));
    } else if (const auto* pause = std::get_if<SleepLine>(&line)) {
      return pause->ms;
    } else if (const auto* failed = std::get_if<FailLine>(&line)) {
      ending_ = {say({.kind = Kind::failure, .failure = status_failure(failed->status, std::nullopt, failed->what)})};
    } else if (std::holds_alternative<CutLine>(line)) {
      ending_ = {say(failure_event(FailureClass::cut, "the answer broke off, as the script asked"))};
    } else {
      ending_ = {Hang{}};
    }
    return std::nullopt;
  }

  // Lines of the same kind are joined by a line break, which travels with the later one's first word.
  void begin_text(Kind kind, std::string text) {
    if (text.empty()) return;
    auto& had_some = kind == Kind::text ? had_text_ : had_reasoning_;
    if (std::exchange(had_some, true)) text.insert(0, 1, '\n');
    stream_ = {.kind = kind, .text = std::move(text)};
  }

  void end_with_call(ToolCall call) {
    if (call_count_ < results_.size()) last_result_ = results_[call_count_];
    call.id = "call_" + std::to_string(++call_count_);
    ending_ = {say({.kind = Kind::tool_call, .call = std::move(call)}), say_usage(), say_stop()};
  }

  Step next_word() {
    if (stream_.is_whole) {
      stream_.text_at = stream_.text.size();
      return say_delta(stream_.text);
    }
    const std::string_view text = stream_.text;
    const auto word = text.find_first_not_of(spaces, stream_.text_at);
    const auto space = text.find_first_of(spaces, word);
    const auto end = std::min(text.find_first_not_of(spaces, space), text.size());
    const auto begin = std::exchange(stream_.text_at, end);
    return say_delta(std::string(text.substr(begin, end - begin)));
  }

  // After n tokens n/rate seconds have passed; what rounding took from one wait the next gives back.
  Step next_token() {
    const auto n = ++stream_.token;
    auto text = n == 1 ? std::exchange(stream_.text, {}) : "w" + std::to_string(n);
    if (n < stream_.token_count) text += ' ';
    const auto rate = stream_.tokens_per_second;
    if (rate > 0) stream_.wait_ms = n * 1000 / rate - (n - 1) * 1000 / rate;
    return say_delta(std::move(text));
  }

  // Made in its place: an event is large, and this is done for every word.
  Step say_delta(std::string text) {
    ++usage_.output_tokens;
    Step step;
    auto& event = std::get<Say>(step).event;
    event.kind = stream_.kind;
    event.text = std::move(text);
    return step;
  }

  Step say_usage() const { return say({.kind = Kind::usage, .usage = usage_}); }

  std::string script_;
  std::size_t script_at_ = 0;
  std::vector<std::string> results_;  // of the calls of the rounds before
  std::size_t call_count_ = 0;
  std::string last_result_;
  bool met_a_line_ = false;
  bool had_text_ = false;
  bool had_reasoning_ = false;
  Stream stream_;
  model::Usage usage_;
  std::vector<Step> ending_;  // once it is known; the last is repeated for ever
  std::size_t ending_at_ = 0;
};

OfflineAnswer::OfflineAnswer(const Prompt& prompt) : player_(std::make_unique<Player>(prompt)) {}
OfflineAnswer::OfflineAnswer(OfflineAnswer&&) noexcept = default;
OfflineAnswer& OfflineAnswer::operator=(OfflineAnswer&&) noexcept = default;
OfflineAnswer::~OfflineAnswer() = default;

OfflineAnswer::Step OfflineAnswer::next() { return player_->next(); }

}  // namespace sluice::models
