#include <gtest/gtest.h>

#include "base/json.h"
#include "base/limits.h"
#include "models/models.h"

namespace sluice::models {
namespace offline_test {

using Kind = ModelEvent::Kind;

// One round: everything the model did until its last step.
struct Played {
  std::vector<std::string> deltas;  // text
  std::string text;
  std::string reasoning;
  std::vector<int64_t> waits;
  std::optional<ToolCall> call;
  std::optional<model::Usage> usage;
  std::optional<Failure> failure;
  bool stopped = false;
  bool hung = false;
  std::vector<Kind> kinds;
};

bool take(Played& played, const OfflineAnswer::Step& step) {
  if (const auto* wait = std::get_if<OfflineAnswer::Wait>(&step)) {
    played.waits.push_back(wait->ms);
    return true;
  }
  if (std::holds_alternative<OfflineAnswer::Hang>(step)) {
    played.hung = true;
    return false;
  }
  const auto& event = std::get<OfflineAnswer::Say>(step).event;
  played.kinds.push_back(event.kind);
  switch (event.kind) {
    case Kind::text:
      played.deltas.push_back(event.text);
      played.text += event.text;
      return true;
    case Kind::reasoning: played.reasoning += event.text; return true;
    case Kind::tool_call: played.call = event.call; return true;
    case Kind::usage: played.usage = event.usage; return true;
    case Kind::stop: played.stopped = true; return false;
    case Kind::failure: played.failure = event.failure; return false;
  }
  return false;
}

Played play(const Prompt& prompt) {
  OfflineAnswer answer(prompt);
  Played played;
  while (take(played, answer.next())) {
  }
  return played;
}

Prompt prompt_of(std::string script) {
  Prompt prompt;
  prompt.turns.push_back({.role = model::Role::user, .text = std::move(script)});
  return prompt;
}

Played play(std::string script) { return play(prompt_of(std::move(script))); }

// What the runner shows the model in the round after `call`.
void add_round(Prompt& prompt, const ToolCall& call, std::string result) {
  prompt.turns.push_back({.role = model::Role::assistant, .calls = {call}});
  prompt.turns.push_back({.role = model::Role::user, .results = {{.call_id = call.id, .text = std::move(result)}}});
}

using Deltas = std::vector<std::string>;

TEST(Offline, Say_streams_a_word_a_delta_and_loses_no_byte) {
  const auto played = play("say  Hello,  big world \t!");
  EXPECT_EQ(played.deltas, (Deltas{" Hello,  ", "big ", "world \t", "!"}));
  EXPECT_EQ(played.text, " Hello,  big world \t!");
  EXPECT_TRUE(played.stopped);
  EXPECT_EQ(played.kinds.at(played.kinds.size() - 2), Kind::usage);
}

TEST(Offline, Lines_of_text_are_joined_by_a_line_break) {
  const auto played = play("say one\n\nhello there\r\n   \ntokens 2\nsay two");
  EXPECT_EQ(played.text, "one\nYou said: hello there\nw1 w2\ntwo");
  EXPECT_EQ(played.deltas, (Deltas{"one", "\nYou ", "said: ", "hello ", "there", "\nw1 ", "w2", "\ntwo"}));
}

TEST(Offline, Reasoning_has_its_own_line_breaks) {
  const auto played = play("think first\nsay a\nthink second thought\nsay b");
  EXPECT_EQ(played.reasoning, "first\nsecond thought");
  EXPECT_EQ(played.text, "a\nb");
}

TEST(Offline, Anything_else_is_echoed) {
  for (const std::string line : {"hello",
                                 "say",
                                 "say ",
                                 " say hi",
                                 "Say hi",
                                 "tokens 0",
                                 "tokens 1000001",
                                 "tokens 5 0",
                                 "tokens 5 x",
                                 "tokens",
                                 "sleep soon",
                                 "sleep -1",
                                 "fail 200 fine",
                                 "fail x",
                                 "cut it",
                                 "hang on",
                                 "write a.txt",
                                 "write : x",
                                 "edit a: b",
                                 "edit a: -> c",
                                 "call tool",
                                 "call tool [1]",
                                 "call tool {bad",
                                 "need token for h: x",
                                 "need TOKEN for h",
                                 "need TOKEN for a b: x",
                                 "need TOKEN for : x",
                                 "need TOKEN",
                                 "$",
                                 "$ls"}) {
    const auto played = play(line);
    EXPECT_EQ(played.text, "You said: " + line);
    EXPECT_TRUE(played.stopped) << line;
    EXPECT_FALSE(played.call) << line;
  }
}

TEST(Offline, A_blank_message_is_answered_too) {
  for (const std::string blank : {"", "\n", "  \n\t\r\n"}) {
    const auto played = play(blank);
    EXPECT_EQ(played.text, "You said: ");
    EXPECT_TRUE(played.stopped);
  }
  EXPECT_EQ(play(Prompt{}).text, "You said: ");
}

TEST(Offline, Control_characters_are_text) {
  const std::string odd("say a\0b \x01 \x7f \xc3\xa9", 14);
  EXPECT_EQ(play(odd).text, odd.substr(4));
  const std::string echoed("\0", 1);
  EXPECT_EQ(play(echoed).text, "You said: " + echoed);
}

TEST(Offline, Each_tool_line_makes_its_call) {
  struct Case {
    std::string line, tool, arguments;
  };
  const Case cases[] = {
      {"$ ls -l | wc", "bash", R"({"command":"ls -l | wc"})"},
      {"write a/b.txt: x: \"y\"", "write", R"({"path":"a/b.txt","content":"x: \"y\""})"},
      {"write empty.txt: ", "write", R"({"path":"empty.txt","content":""})"},
      {"read a b.txt", "read", R"({"path":"a b.txt"})"},
      {"edit a.txt: one -> two -> three", "edit", R"({"path":"a.txt","old":"one","new":"two -> three"})"},
      {"call mcp__x {\"k\": [1, 2.5, null]}", "mcp__x", R"({"k":[1,2.5,null]})"},
      {"ask May I?", "request_approval", R"({"reason":"May I?"})"},
      {"need API_KEY: to call it", "request_secret", R"({"alias":"API_KEY","description":"to call it"})"},
      {"need API_KEY for api.example.com: to call it", "request_secret",
       R"({"alias":"API_KEY","description":"to call it","hosts":["api.example.com"]})"},
      {"need API_KEY: the key because it is not on file", "request_secret",
       R"({"alias":"API_KEY","description":"the key","reason":"it is not on file"})"},
  };
  for (const auto& [line, tool, arguments] : cases) {
    const auto played = play("say before\n" + line + "\nsay after");
    ASSERT_TRUE(played.call) << line;
    EXPECT_EQ(*played.call, (ToolCall{"call_1", tool, arguments}));
    EXPECT_TRUE(json::Document::parse(played.call->arguments)) << line;
    EXPECT_EQ(played.text, "before") << "a call ends the round";
    EXPECT_EQ(played.kinds, (std::vector{Kind::text, Kind::tool_call, Kind::usage, Kind::stop}));
  }
}

TEST(Offline, What_is_put_is_one_delta_right_after_what_came_before) {
  const auto played = play("put One two. \nput Three.\nsay Four");
  EXPECT_EQ(played.text, "One two. Three.\nFour");
  EXPECT_EQ(played.kinds, (std::vector{Kind::text, Kind::text, Kind::text, Kind::usage, Kind::stop}));
  auto prompt = prompt_of("put One. \nask May I?\nput Two.");
  add_round(prompt, play(prompt).call.value(), "Approved.");
  EXPECT_EQ(play(prompt).text, "Two.");
}

TEST(Offline, The_next_round_continues_after_the_line_that_called) {
  auto prompt = prompt_of("say one\n$ ls\nsay got {{last}} and {{last}}.\nread x\nsay {{last}}\ntokens 1");
  const auto first = play(prompt);
  EXPECT_EQ(first.text, "one");
  add_round(prompt, first.call.value(), "a\nb");

  const auto second = play(prompt);
  EXPECT_EQ(second.text, "\ngot a\nb and a\nb.") << "the rounds' texts add up to one text";
  EXPECT_EQ(second.call, (ToolCall{"call_2", "read", R"({"path":"x"})"}));
  add_round(prompt, second.call.value(), "");

  const auto third = play(prompt);
  EXPECT_EQ(third.text, "\nw1") << "an empty result says nothing, not even a line break";
  EXPECT_FALSE(third.call);
  EXPECT_TRUE(third.stopped);
}

TEST(Offline, A_script_that_ends_with_a_call_ends_in_silence) {
  auto prompt = prompt_of("$ true");
  add_round(prompt, play(prompt).call.value(), "");
  EXPECT_EQ(play(prompt).kinds, (std::vector{Kind::usage, Kind::stop}));
}

TEST(Offline, Only_the_last_user_message_counts) {
  auto prompt = prompt_of("$ ls");
  add_round(prompt, play(prompt).call.value(), "old");
  prompt.turns.push_back({.role = model::Role::assistant, .text = "done"});
  prompt.turns.push_back({.role = model::Role::user, .text = "say [{{last}}]\n$ pwd"});
  const auto played = play(prompt);
  EXPECT_EQ(played.text, "[]");
  EXPECT_EQ(played.call, (ToolCall{"call_1", "bash", R"({"command":"pwd"})"}));
}

TEST(Offline, A_text_full_of_marks_does_not_multiply_without_end) {
  std::string script = "$ cat\nsay ";
  for (int i = 0; i < 1000; ++i) script += "{{last}}";
  auto prompt = prompt_of(script);
  const std::string result(1024 * 1024, 'x');
  add_round(prompt, {"call_1", "bash", "{}"}, result);
  EXPECT_LE(play(prompt).text.size(), limits::answer_bytes_max + result.size());
}

TEST(Offline, More_results_than_calls_do_no_harm) {
  auto prompt = prompt_of("say a\n$ ls");
  add_round(prompt, {"call_1", "bash", "{}"}, "x");
  add_round(prompt, {"call_2", "bash", "{}"}, "y");
  EXPECT_TRUE(play(prompt).stopped);
}

TEST(Offline, Tokens_keep_their_rate_in_spite_of_rounding) {
  const auto played = play("tokens 100 30");
  EXPECT_EQ(played.deltas.size(), 100u);
  EXPECT_EQ(played.deltas.front(), "w1 ");
  EXPECT_EQ(played.deltas.back(), "w100");
  int64_t total = 0;
  for (const auto ms : played.waits) {
    EXPECT_TRUE(ms == 33 || ms == 34);
    total += ms;
  }
  EXPECT_EQ(total, 3333);
  EXPECT_TRUE(play("tokens 100").waits.empty());
  EXPECT_EQ(play("tokens 3000 3000").waits.size(), 1000u) << "a wait of no milliseconds is none";
}

TEST(Offline, A_million_tokens_are_made_one_at_a_time) {
  OfflineAnswer answer(prompt_of("tokens 1000000"));
  std::string last;
  int64_t count = 0;
  for (auto step = answer.next();; step = answer.next()) {
    const auto& event = std::get<OfflineAnswer::Say>(step).event;
    if (event.kind != Kind::text) break;
    last = event.text;
    ++count;
  }
  EXPECT_EQ(count, 1'000'000);
  EXPECT_EQ(last, "w1000000");
}

TEST(Offline, Sleep_waits_in_its_place) {
  OfflineAnswer answer(prompt_of("say a\nsleep 250\nsay b"));
  EXPECT_EQ(std::get<OfflineAnswer::Say>(answer.next()).event.text, "a");
  EXPECT_EQ(std::get<OfflineAnswer::Wait>(answer.next()).ms, 250);
  EXPECT_EQ(std::get<OfflineAnswer::Say>(answer.next()).event.text, "\nb");
}

TEST(Offline, Fail_answers_as_a_provider_would) {
  const std::pair<int, FailureClass> cases[] = {
      {400, FailureClass::rejected},     {401, FailureClass::unauthorized}, {403, FailureClass::unauthorized},
      {429, FailureClass::rate_limited}, {500, FailureClass::server_error}, {503, FailureClass::overloaded},
      {529, FailureClass::overloaded},
  };
  for (const auto& [status, expected] : cases) {
    const auto played = play("say half\nfail " + std::to_string(status) + " no luck today\nsay never");
    EXPECT_EQ(played.text, "half");
    ASSERT_TRUE(played.failure);
    EXPECT_EQ(played.failure->failure_class, expected) << status;
    EXPECT_EQ(played.failure->what, "status " + std::to_string(status) + ": no luck today");
    EXPECT_FALSE(played.stopped);
  }
  EXPECT_EQ(play("fail 500").failure.value().what, "status 500");
}

TEST(Offline, Cut_breaks_off_and_hang_says_nothing_more) {
  const auto broken = play("say half\ncut\nsay never");
  EXPECT_EQ(broken.text, "half");
  EXPECT_EQ(broken.failure.value().failure_class, FailureClass::cut);

  OfflineAnswer answer(prompt_of("hang"));
  EXPECT_TRUE(std::holds_alternative<OfflineAnswer::Hang>(answer.next()));
  EXPECT_TRUE(std::holds_alternative<OfflineAnswer::Hang>(answer.next()));
}

TEST(Offline, Usage_counts_words_in_and_deltas_out) {
  auto prompt = prompt_of("think a b\nsay c d e\n$ ls ");
  const auto first = play(prompt);
  EXPECT_EQ(first.usage, (model::Usage{.input_tokens = 9, .output_tokens = 5}));
  add_round(prompt, first.call.value(), "one two");
  EXPECT_EQ(play(prompt).usage, (model::Usage{.input_tokens = 11, .output_tokens = 0}));
}

}  // namespace offline_test
}  // namespace sluice::models
