// S-9: the runner's lines, as they are written and as they are read.
#include "dispatch/envelope.h"

#include <gtest/gtest.h>

#include <random>

#include "base/limits.h"

namespace sluice::dispatch {
namespace envelope_test {

using model::EventKind;
using model::RunEvent;

constexpr Timestamp at{1'700'000'000'123};

std::string line_of(const RunEvent& event, Profile profile = Profile::extended) {
  std::string out;
  append_line(out, event, profile);
  return out;
}

std::vector<Line> lines_of(std::string_view text) {
  LineReader reader;
  auto lines = reader.feed(text);
  EXPECT_TRUE(lines) << lines.error().what;
  return lines ? std::move(lines).take() : std::vector<Line>{};
}

std::string refusal_of(std::string_view text) {
  LineReader reader;
  const auto lines = reader.feed(text);
  if (lines) return "";
  EXPECT_EQ(lines.error().kind, ErrorKind::corrupt);
  EXPECT_FALSE(reader.end());
  return lines.error().what;
}

constexpr std::string_view step_begins = R"({"id":"s1","name":"bash","status":"running","args":{"command":"echo hi"}})";
constexpr std::string_view step_ends =
    R"({"id":"s1","name":"bash","status":"succeeded","result":"hi\n","durationMs":412})";

TEST(Envelope, The_plain_profile_has_log_and_step_and_nothing_else_S_9) {
  EXPECT_EQ(line_of({EventKind::log, at, R"({"level":"warn","text":"slow","attempt":2})"}, Profile::plain),
            "{\"type\":\"log\",\"level\":\"warn\",\"message\":\"slow\",\"ts\":1700000000123}\n");
  EXPECT_EQ(line_of({EventKind::step, at, std::string(step_begins)}, Profile::plain),
            "{\"type\":\"step\",\"id\":\"s1\",\"name\":\"bash\",\"status\":\"running\",\"args\":{\"command\":\"echo "
            "hi\"},\"ts\":1700000000123}\n");
  for (const auto kind : {EventKind::text, EventKind::reasoning, EventKind::filler, EventKind::usage, EventKind::output,
                          EventKind::file, EventKind::diff, EventKind::custom, EventKind::replaced, EventKind::call,
                          EventKind::subagent, EventKind::subagent_text, EventKind::answers}) {
    EXPECT_EQ(line_of({kind, at, "{}"}, Profile::plain), "");
  }
}

TEST(Envelope, The_extended_profile_has_every_event) {
  const auto line_for = [](EventKind kind, std::string body) { return line_of({kind, {5}, std::move(body)}); };
  EXPECT_EQ(line_for(EventKind::text, "h\né"), "{\"type\":\"delta\",\"text\":\"h\\né\",\"ts\":5}\n");
  EXPECT_EQ(line_for(EventKind::filler, "One moment"),
            "{\"type\":\"delta\",\"text\":\"One moment\",\"filler\":true,\"ts\":5}\n");
  EXPECT_EQ(line_for(EventKind::reasoning, "hm"), "{\"type\":\"reasoning\",\"text\":\"hm\",\"ts\":5}\n");
  EXPECT_EQ(line_for(EventKind::output, R"({"id":"s","stream":"stderr","text":"x"})"),
            "{\"type\":\"output\",\"id\":\"s\",\"stream\":\"stderr\",\"text\":\"x\",\"ts\":5}\n");
  EXPECT_EQ(line_for(EventKind::file, R"({"type":"create","path":"/workspace/a","timestamp":5})"),
            "{\"type\":\"file\",\"event\":\"create\",\"path\":\"/workspace/a\",\"ts\":5}\n");
  EXPECT_EQ(line_for(EventKind::diff, R"({"path":".","diff":"+a"})"), "{\"type\":\"diff\",\"diff\":\"+a\",\"ts\":5}\n");
  EXPECT_EQ(line_for(EventKind::custom, R"({"name":"n","value":[1,null]})"),
            "{\"type\":\"custom\",\"name\":\"n\",\"value\":[1,null],\"ts\":5}\n");
  EXPECT_EQ(line_for(EventKind::usage, R"({"input_tokens":3,"output_tokens":4})"),
            "{\"type\":\"usage\",\"input_tokens\":3,\"output_tokens\":4,\"ts\":5}\n");
  EXPECT_EQ(line_for(EventKind::replaced, R"({"kept_bytes":3})"),
            "{\"type\":\"replaced\",\"kept_bytes\":3,\"ts\":5}\n");
  EXPECT_EQ(line_for(EventKind::call, R"({"id":"s","args":"{\"a\":"})"),
            "{\"type\":\"call\",\"id\":\"s\",\"args\":\"{\\\"a\\\":\",\"ts\":5}\n");
  EXPECT_EQ(line_for(EventKind::subagent, R"({"id":"a","name":"critic","status":"started","step_id":"s"})"),
            "{\"type\":\"subagent\",\"id\":\"a\",\"name\":\"critic\",\"status\":\"started\",\"step_id\":\"s\","
            "\"ts\":5}\n");
  EXPECT_EQ(line_for(EventKind::subagent_text, R"({"id":"a","text":"hm"})"),
            "{\"type\":\"subagent_text\",\"id\":\"a\",\"text\":\"hm\",\"ts\":5}\n");
  EXPECT_EQ(line_for(EventKind::answers, R"({"results":[]})"), "") << "never sent";
}

TEST(Envelope, The_subagent_of_a_step_is_in_the_extended_profile_only) {
  const RunEvent step{EventKind::step, {5}, R"({"id":"s","name":"bash","status":"running","subagent":"a"})"};
  EXPECT_EQ(line_of(step, Profile::plain),
            "{\"type\":\"step\",\"id\":\"s\",\"name\":\"bash\",\"status\":\"running\",\"ts\":5}\n");
  EXPECT_NE(line_of(step).find(R"("subagent":"a")"), std::string::npos);
}

TEST(Envelope, Ends_with_a_result_or_an_error) {
  std::string out;
  append_result_line(out, "done", {3, 4}, {5}, Profile::plain);
  append_result_line(out, "done", {3, 4}, {5}, Profile::extended);
  append_error_line(out, {.slug = model::Slug::model_timeout, .detail = "Provider timed out"}, {5});
  append_error_line(out, {.slug = model::Slug::internal}, {5});
  EXPECT_EQ(out,
            "{\"type\":\"result\",\"message\":\"done\",\"ts\":5}\n"
            "{\"type\":\"result\",\"message\":\"done\",\"usage\":{\"input_tokens\":3,\"output_tokens\":4},\"ts\":5}\n"
            "{\"type\":\"error\",\"code\":\"model_timeout\",\"message\":\"Provider timed out\",\"ts\":5}\n"
            "{\"type\":\"error\",\"code\":\"internal\",\"message\":\"The server made a mistake\",\"ts\":5}\n");
}

TEST(Envelope, A_phase_is_a_log_line_with_its_duration_S_5) {
  EXPECT_EQ(line_of(phase_event("bootstrap", "env redeemed", 12, {5}), Profile::plain),
            "{\"type\":\"log\",\"level\":\"info\",\"message\":\"env redeemed\",\"phase\":\"bootstrap\","
            "\"durationMs\":12,\"ts\":5}\n");
}

TEST(Envelope, A_body_can_not_break_a_line_in_two) {
  EXPECT_EQ(line_of({EventKind::custom, {5}, "{\n\"name\":\"n\",\n\"value\":{\n}\n}"}),
            "{\"type\":\"custom\",\"name\":\"n\",\"value\":{},\"ts\":5}\n");
  for (const auto* body : {"", "[]", "{\"id\":"}) {
    const auto line = line_of({EventKind::step, {5}, body});
    EXPECT_NE(line.find(R"("level":"error")"), std::string::npos);
    EXPECT_EQ(lines_of(line).size(), 1u);
  }
}

std::string any_text(std::mt19937& random) {
  constexpr std::string_view pieces[] = {"a", "\n", "\"", "\\", "é", "\x01", "€", " ", "{", "𝄞"};
  std::string text;
  for (auto count = random() % 9; count > 0; --count) text += pieces[random() % std::size(pieces)];
  return text;
}

std::string json_of(std::string_view text) {
  std::string out;
  json::append_string(out, text);
  return out;
}

// As the house itself writes them.
RunEvent any_event(std::mt19937& random, int id) {
  const Timestamp when{static_cast<int64_t>(random())};
  const auto text = json_of(any_text(random));
  switch (random() % 14) {
    case 0: return {EventKind::text, when, any_text(random)};
    case 1: return {EventKind::reasoning, when, any_text(random)};
    case 2: return {EventKind::filler, when, any_text(random)};
    case 3: return {EventKind::log, when, R"({"level":"debug","text":)" + text + "}"};
    case 4: return phase_event("run", any_text(random), static_cast<int64_t>(random()), when);
    case 5: return {EventKind::usage, when, R"({"input_tokens":7,"output_tokens":0})"};
    case 6: return {EventKind::output, when, R"({"id":"s","stream":"stdout","text":)" + text + "}"};
    case 7:
      return {EventKind::file, when,
              R"({"type":"delete","path":)" + text + R"(,"timestamp":)" + std::to_string(when.ms) + "}"};
    case 8: return {EventKind::replaced, when, R"({"kept_bytes":12})"};
    case 9: return {EventKind::call, when, R"({"id":"s","name":"bash","subagent":"a"})"};
    case 10: return {EventKind::call, when, R"({"id":"s","args":)" + text + "}"};
    case 11: return {EventKind::subagent, when, R"({"id":"a","name":"critic","status":"failed","error":)" + text + "}"};
    case 12: return {EventKind::subagent_text, when, R"({"id":"a","reasoning":)" + text + "}"};
    default:
      return {EventKind::step, when,
              R"({"id":"s)" + std::to_string(id) + R"(","name":)" + text + R"(,"status":"running","args":[)" + text +
                  R"(,1.5,{"k":null}]})"};
  }
}

TEST(Envelope, What_one_end_says_the_other_understands_however_it_is_cut) {
  std::mt19937 random(9);
  for (int round = 0; round < 200; ++round) {
    std::vector<RunEvent> said;
    std::string text;
    for (int i = 0; i < 20; ++i) {
      said.push_back(any_event(random, i));
      append_line(text, said.back(), Profile::extended);
    }
    for (std::size_t i = 0; i < 20; ++i) {
      if (said[i].kind != EventKind::step) continue;
      said.push_back(
          {EventKind::step, at, R"({"id":"s)" + std::to_string(i) + R"(","name":"n","status":"succeeded"})"});
      append_line(text, said.back(), Profile::extended);
    }
    append_result_line(text, "fin", {1, 2}, at, Profile::extended);
    LineReader reader;
    std::vector<Line> heard;
    for (std::string_view rest = text; !rest.empty();) {
      const auto size = std::min<std::size_t>(1 + random() % 40, rest.size());
      auto lines = reader.feed(rest.substr(0, size));
      ASSERT_TRUE(lines) << lines.error().what;
      for (auto& line : lines.value()) heard.push_back(std::move(line));
      rest.remove_prefix(size);
    }
    ASSERT_EQ(heard.size(), said.size() + 1);
    for (std::size_t i = 0; i < said.size(); ++i) ASSERT_EQ(std::get<RunEvent>(heard[i]), said[i]);
    EXPECT_EQ(std::get<ResultLine>(heard.back()).message, "fin");
    EXPECT_EQ(std::get<ResultLine>(heard.back()).usage, (model::Usage{1, 2}));
    EXPECT_TRUE(reader.end());
  }
}

TEST(LineReader, Reads_the_lines_of_any_runner) {
  const auto lines = lines_of(
      "{\"type\":\"log\",\"level\":\"info\",\"message\":\"Loaded 3 skills\",\"extra\":1}\r\n"
      "{ \"type\": \"step\", \"id\": \"a\", \"name\": \"add\", \"status\": \"running\", \"args\": {\"n\": 1} }\n"
      "{\"type\":\"step\",\"id\":\"a\",\"name\":\"add\",\"status\":\"running\"}\n"
      "{\"type\":\"step\",\"id\":\"a\",\"name\":\"add\",\"status\":\"failed\",\"error\":\"no\",\"durationMs\":4}\n"
      "{\"type\":\"error\",\"code\":\"model_timeout\",\"message\":\"60s\",\"ts\":1}\n");
  ASSERT_EQ(lines.size(), 5u);
  EXPECT_EQ(std::get<RunEvent>(lines[0]).body, R"({"level":"info","text":"Loaded 3 skills"})");
  EXPECT_EQ(std::get<RunEvent>(lines[0]).at, Timestamp{});
  EXPECT_EQ(std::get<RunEvent>(lines[1]).body, R"({"id":"a","name":"add","status":"running","args":{"n":1}})");
  EXPECT_EQ(std::get<RunEvent>(lines[3]).body,
            R"({"id":"a","name":"add","status":"failed","durationMs":4,"error":"no"})");
  EXPECT_EQ(std::get<ErrorLine>(lines[4]).code, "model_timeout");
}

TEST(LineReader, Refuses_what_it_does_not_know_and_says_which_line_and_why_S_9) {
  const std::string good = "{\"type\":\"log\",\"level\":\"info\",\"message\":\"m\"}\n";
  EXPECT_EQ(refusal_of(good + "{\"type\":\"telepathy\"}\n"), "line 2 is refused: its type is unknown");
  EXPECT_EQ(refusal_of("{}\n"), "line 1 is refused: its type is unknown");
  EXPECT_EQ(refusal_of("[]\n"), "line 1 is refused: it is not a JSON object");
  EXPECT_NE(refusal_of("{\"type\":\"result\"\n"), "");
  EXPECT_EQ(refusal_of("{\"type\":\"log\",\"level\":\"loud\",\"message\":\"m\"}\n"),
            "line 1 is refused: its member level has an unknown value");
  EXPECT_EQ(refusal_of("{\"type\":\"log\",\"level\":\"info\"}\n"), "line 1 is refused: its member message is missing");
  EXPECT_NE(refusal_of("{\"type\":\"delta\",\"text\":5}\n"), "");
  EXPECT_NE(refusal_of("{\"type\":\"custom\",\"name\":\"n\"}\n"), "");
  EXPECT_NE(refusal_of("{\"type\":\"usage\",\"input_tokens\":-1,\"output_tokens\":0}\n"), "");
  EXPECT_NE(refusal_of("{\"type\":\"result\",\"message\":\"m\",\"usage\":{}}\n"), "");
  EXPECT_NE(refusal_of("{\"type\":\"error\",\"message\":\"m\"}\n"), "");
  EXPECT_NE(refusal_of("{\"type\":\"result\",\"message\":\"m\",\"ts\":\"now\"}\n"), "");
  EXPECT_EQ(refusal_of("{\"type\":\"result\",\"message\":\"m\"}\n" + good),
            "line 2 is refused: it comes after the last line");
}

TEST(LineReader, Blank_lines_that_keep_a_connection_open_are_skipped_and_not_counted) {
  const std::string log = "{\"type\":\"log\",\"level\":\"info\",\"message\":\"m\"}\n";
  const std::string result = "{\"type\":\"result\",\"message\":\"m\"}\n";
  LineReader reader;
  for (const std::string& bytes : {std::string("\n"), log, std::string("\r\n \t\n"), result, std::string("\n")}) {
    EXPECT_TRUE(reader.feed(bytes)) << bytes;
  }
  EXPECT_EQ(reader.line_count(), 2);
  EXPECT_TRUE(reader.end());
  EXPECT_EQ(refusal_of("\n\n{}\n"), "line 1 is refused: its type is unknown");
}

TEST(LineReader, A_step_begins_before_it_ends) {
  const auto line = [](std::string_view body) { return line_of({EventKind::step, at, std::string(body)}); };
  EXPECT_EQ(lines_of(line(step_begins) + line(step_ends)).size(), 2u);
  EXPECT_EQ(refusal_of(line(step_ends)), "line 1 is refused: it ends a step that did not begin");
  EXPECT_EQ(refusal_of(line(step_begins) + line(step_ends) + line(step_ends)),
            "line 3 is refused: it ends a step that did not begin");
}

TEST(LineReader, A_result_comes_after_the_last_step_and_an_error_whenever_it_must_S_9) {
  const auto line = [](std::string_view body) { return line_of({EventKind::step, at, std::string(body)}); };
  const std::string result = "{\"type\":\"result\",\"message\":\"m\"}\n";
  EXPECT_EQ(refusal_of(line(step_begins) + result), "line 2 is refused: it is a result, and a step has not ended");
  EXPECT_EQ(lines_of(line(step_begins) + line(step_ends) + result).size(), 3u);
  EXPECT_EQ(lines_of(line(step_begins) + "{\"type\":\"error\",\"code\":\"c\",\"message\":\"m\"}\n").size(), 2u);
}

TEST(LineReader, Steps_without_number_and_lines_without_end_are_refused) {
  std::string many;
  for (std::size_t i = 0; i <= limits::runner_steps_max; ++i) {
    many += R"({"type":"step","id":")" + std::to_string(i) + "\",\"name\":\"n\",\"status\":\"running\"}\n";
  }
  EXPECT_EQ(refusal_of(many), "line 1025 is refused: too many steps run at once");
  LineReader reader;
  const std::string piece(limits::runner_line_bytes_max / 8, ' ');
  for (int i = 0; i < 8; ++i) ASSERT_TRUE(reader.feed(piece));
  EXPECT_FALSE(reader.feed(" "));
  EXPECT_FALSE(reader.feed("\n"));
}

TEST(LineReader, The_stream_is_whole_only_after_its_last_line) {
  LineReader reader;
  EXPECT_FALSE(reader.end());
  ASSERT_TRUE(reader.feed("{\"type\":\"result\",\"message\":\"m\"}"));
  EXPECT_FALSE(reader.end());
  ASSERT_TRUE(reader.feed("\n"));
  EXPECT_TRUE(reader.end());
}

}  // namespace envelope_test
}  // namespace sluice::dispatch
