#include <gtest/gtest.h>

#include "models/reading_for_test.h"

namespace sluice::models {
namespace anthropic_test {

const Dialect& anthropic() { return *find_dialect("anthropic"); }

constexpr std::string_view plain_answer = R"(event: message_start
data: {"type":"message_start","message":{"id":"msg_01","type":"message","role":"assistant","model":"claude","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":25,"cache_creation_input_tokens":100,"cache_read_input_tokens":1000,"output_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}

event: ping
data: {"type": "ping"}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Let me see."}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"EqQBCgIYAhIM"}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: content_block_start
data: {"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"Hello"}}

event: content_block_delta
data: {"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":", w\u00f6rld 👋"}}

event: content_block_stop
data: {"type":"content_block_stop","index":1}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":15}}

event: message_stop
data: {"type":"message_stop"}

)";

constexpr std::string_view calling_answer = R"(event: message_start
data: {"type":"message_start","message":{"id":"msg_02","usage":{"input_tokens":472,"output_tokens":2}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Okay."}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: content_block_start
data: {"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"toolu_01","name":"bash","input":{}}}

event: content_block_delta
data: {"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"command\": \"ec"}}

event: content_block_delta
data: {"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"ho hi\"}"}}

event: content_block_stop
data: {"type":"content_block_stop","index":1}

event: content_block_start
data: {"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"toolu_02","name":"now","input":{}}}

event: content_block_stop
data: {"type":"content_block_stop","index":2}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":89}}

event: message_stop
data: {"type":"message_stop"}

)";

std::string event(std::string_view data) { return "data: " + std::string(data) + "\n\n"; }

TEST(Anthropic, Reads_text_reasoning_and_usage_with_cached_input) {
  EXPECT_EQ(read(anthropic(), plain_answer),
            "reasoning[Let me see.]\ntext[Hello]\ntext[, wörld 👋]\nusage 1125 in 15 out\nstop\n");
}

TEST(Anthropic, Reads_tool_calls_whose_arguments_come_in_pieces) {
  EXPECT_EQ(
      read(anthropic(), calling_answer),
      "text[Okay.]\ncall toolu_01 bash {\"command\": \"echo hi\"}\ncall toolu_02 now {}\nusage 472 in 89 out\nstop\n");
}

TEST(Anthropic, Reads_the_same_however_the_bytes_are_split) {
  expect_same_however_split(anthropic(), plain_answer);
  expect_same_however_split(anthropic(), calling_answer);
}

TEST(Anthropic, An_answer_that_breaks_off_is_cut) {
  expect_cut_wherever_truncated(anthropic(), plain_answer, plain_answer.size() - 1);
  expect_cut_wherever_truncated(anthropic(), calling_answer, calling_answer.size() - 1);
}

TEST(Anthropic, Noise_breaks_nothing) {
  expect_unbroken_by_noise(anthropic(), plain_answer);
  expect_unbroken_by_noise(anthropic(), calling_answer);
}

TEST(Anthropic, An_error_in_mid_stream_says_what_it_is) {
  const std::string start =
      event(R"({"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hal"}})");
  const std::pair<std::string, std::string> cases[] = {
      {"overloaded_error", "overloaded"},
      {"rate_limit_error", "rate_limited"},
      {"api_error", "server_error"},
      {"authentication_error", "unauthorized"},
      {"permission_error", "unauthorized"},
      {"invalid_request_error", "rejected"},
      {"something_unheard_of", "server_error"},
  };
  for (const auto& [type, expected] : cases) {
    const auto error = event(R"({"type":"error","error":{"type":")" + type + R"(","message":"Sorry"}})");
    EXPECT_EQ(read(anthropic(), start + error + std::string(plain_answer)),
              "text[Hal]\nfailure " + expected + ": Sorry\n");
  }
}

TEST(Anthropic, A_refusal_is_a_failure_and_reaching_the_longest_length_is_not) {
  const auto stopped_for = [](const std::string& reason) {
    return event(R"({"type":"message_delta","delta":{"stop_reason":")" + reason +
                 R"("},"usage":{"output_tokens":3}})") +
           event(R"({"type":"message_stop"})");
  };
  EXPECT_EQ(read(anthropic(), stopped_for("refusal")), "failure rejected: the model refused to answer\n");
  EXPECT_EQ(read(anthropic(), stopped_for("max_tokens")), "usage 0 in 3 out\nstop\n");

  const auto half_call =
      event(R"({"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t","name":"bash"}})") +
      event(R"({"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"a"}})");
  EXPECT_EQ(read(anthropic(), half_call + stopped_for("max_tokens")),
            "failure rejected: the answer reached its longest length inside a call of bash\n");
  EXPECT_EQ(read(anthropic(), half_call + stopped_for("tool_use")),
            "failure garbled: the model called bash with arguments that are no JSON object\n");
}

TEST(Anthropic, What_is_not_JSON_is_garbled_and_what_is_unknown_is_ignored) {
  EXPECT_EQ(read(anthropic(), event("{\"type\"")), "failure garbled: the answer's stream: not valid JSON\n");
  EXPECT_EQ(read(anthropic(), event("[1]")),
            "failure garbled: the answer's stream has an event that is not an object\n");
  EXPECT_EQ(read(anthropic(), event("{\"type\":\"\xff\"}")), "failure garbled: the answer's stream: not valid UTF-8\n");
  EXPECT_EQ(read(anthropic(), event(R"({"type":"tomorrows_event","delta":7})") + event(R"({"type":"message_stop"})")),
            "usage 0 in 0 out\nstop\n");
}

TEST(Anthropic, A_line_without_end_is_given_up) {
  const auto reader = anthropic().reader();
  const std::string megabyte(1024 * 1024, 'x');
  std::vector<ModelEvent> events;
  for (int i = 0; i < 5 && events.empty(); ++i) events = reader->feed(megabyte);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].failure.failure_class, FailureClass::garbled);
}

TEST(Anthropic, Tool_calls_are_bounded_in_number_and_length) {
  std::string many;
  for (int i = 0; i < 200; ++i) {
    many += event(R"({"type":"content_block_start","index":)" + std::to_string(i) +
                  R"(,"content_block":{"type":"tool_use","id":"t","name":"bash"}})");
  }
  EXPECT_EQ(read(anthropic(), many), "failure garbled: the model made too many tool calls in one answer\n");

  const auto reader = anthropic().reader();
  reader->feed(event(R"({"type":"content_block_start","index":0,"content_block":{"type":"tool_use","name":"n"}})"));
  const auto piece =
      event(R"({"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":")" +
            std::string(1024 * 1024, ' ') + R"("}})");
  std::vector<ModelEvent> events;
  for (int i = 0; i < 9 && events.empty(); ++i) events = reader->feed(piece);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].failure.what, "the arguments of the model's tool calls are too long");
}

TEST(Anthropic, Writes_the_request_the_provider_expects) {
  const auto request = anthropic().request({"https://api.anthropic.com", "secret"}, full_prompt());
  EXPECT_EQ(request.url, "https://api.anthropic.com/v1/messages");
  const std::vector<std::pair<std::string, std::string>> headers = {{"content-type", "application/json"},
                                                                    {"accept", "text/event-stream"},
                                                                    {"anthropic-version", "2023-06-01"},
                                                                    {"x-api-key", "secret"}};
  EXPECT_EQ(request.headers, headers);
  EXPECT_EQ(request.body,
            R"({"model":"some-model","max_tokens":1000,"stream":true,"system":"Be \"brief\".",)"
            R"("tools":[{"name":"bash","description":"Runs it.",)"
            R"("input_schema":{"type":"object","properties":{"command":{"type":"string"}}}}],"messages":[)"
            R"({"role":"user","content":[{"type":"text","text":"Hi\né"}]},)"
            R"({"role":"assistant","content":[{"type":"text","text":"Hello."}]},)"
            R"({"role":"user","content":[{"type":"text","text":"List."}]},)"
            R"({"role":"assistant","content":[{"type":"text","text":"Looking."},)"
            R"({"type":"tool_use","id":"c1","name":"bash","input":{"command":"ls"}},)"
            R"({"type":"tool_use","id":"c2","name":"read","input":{"path":"x"}}]},)"
            R"({"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"a.txt"},)"
            R"({"type":"tool_result","tool_use_id":"c2","content":"no such file","is_error":true}]}]})");
}

TEST(Anthropic, A_system_turn_joins_the_system_prompt) {
  Prompt prompt{.model = "m", .turns = {{.role = model::Role::system, .text = "Rule."}, {.text = "Hi"}}};
  EXPECT_NE(anthropic().request({"http://x", ""}, prompt).body.find(R"("system":"Rule.","messages":[{"role":"user")"),
            std::string::npos);
}

}  // namespace anthropic_test
}  // namespace sluice::models
