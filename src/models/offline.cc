#include <algorithm>
#include <utility>

#include "base/limits.h"
#include "models/failure.h"
#include "models/models.h"
#include "models/offline_script.h"

namespace sluice::models {
namespace {

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
