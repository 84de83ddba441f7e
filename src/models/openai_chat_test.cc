#include <gtest/gtest.h>

#include "models/reading_for_test.h"

namespace sluice::models {
namespace openai_chat_test {

const Dialect& chat() { return *find_dialect("openai-chat"); }

constexpr std::string_view plain_answer =
    R"(data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":"","refusal":null},"logprobs":null,"finish_reason":null}],"usage":null}

data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"reasoning_content":"Hm."},"finish_reason":null}],"usage":null}

data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":"Hello"},"finish_reason":null}],"usage":null}

data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":" \ud83d\ude00"},"finish_reason":null}],"usage":null}

data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":null}

data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"m","choices":[],"usage":{"prompt_tokens":19,"completion_tokens":10,"total_tokens":29}}

data: [DONE]

)";

constexpr std::string_view calling_answer =
    R"(data: {"choices":[{"index":0,"delta":{"role":"assistant","content":null,"tool_calls":[{"index":0,"id":"call_a","type":"function","function":{"name":"bash","arguments":""}}]},"finish_reason":null}]}

data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"command\":"}}]},"finish_reason":null}]}

data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"call_b","type":"function","function":{"name":"now","arguments":"{}"}}]},"finish_reason":null}]}

data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"\"ls\"}"}}]},"finish_reason":null}]}

data: {"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":3,"completion_tokens":4}}

data: [DONE]

)";

std::string event(std::string_view data) { return "data: " + std::string(data) + "\n\n"; }

std::string finished(const std::string& reason) {
  return event(R"({"choices":[{"index":0,"delta":{},"finish_reason":")" + reason + R"("}]})");
}

TEST(OpenaiChat, Reads_text_reasoning_and_usage) {
  EXPECT_EQ(read(chat(), plain_answer), "reasoning[Hm.]\ntext[Hello]\ntext[ 😀]\nusage 19 in 10 out\nstop\n");
}

TEST(OpenaiChat, Reads_tool_calls_that_arrive_interleaved) {
  EXPECT_EQ(read(chat(), calling_answer),
            "call call_a bash {\"command\":\"ls\"}\ncall call_b now {}\nusage 3 in 4 out\nstop\n");
}

TEST(OpenaiChat, Reads_the_same_however_the_bytes_are_split) {
  expect_same_however_split(chat(), plain_answer);
  expect_same_however_split(chat(), calling_answer);
}

TEST(OpenaiChat, An_answer_that_breaks_off_before_its_finish_reason_is_cut) {
  const auto complete_at =
      plain_answer.find("\"stop\"}],\"usage\":null}\n\n") + std::string_view("\"stop\"}],\"usage\":null}\n\n").size();
  expect_cut_wherever_truncated(chat(), plain_answer, complete_at);
  EXPECT_EQ(read(chat(), plain_answer.substr(0, complete_at)),
            "reasoning[Hm.]\ntext[Hello]\ntext[ 😀]\nat the end: stop\n");
}

TEST(OpenaiChat, Noise_breaks_nothing) {
  expect_unbroken_by_noise(chat(), plain_answer);
  expect_unbroken_by_noise(chat(), calling_answer);
}

TEST(OpenaiChat, Servers_that_leave_pieces_out_are_understood) {
  // No finish_reason, but an explicit end.
  EXPECT_EQ(read(chat(), event(R"({"choices":[{"delta":{"content":"a"}}]})") + event("[DONE]")), "text[a]\nstop\n");
  // Reasoning under its other name.
  EXPECT_EQ(read(chat(), event(R"({"choices":[{"delta":{"reasoning":"r"}}]})") + event("[DONE]")),
            "reasoning[r]\nstop\n");
  // Every call with index 0 and whole, as one server sends them; then arguments as an object, without an id.
  EXPECT_EQ(read(chat(), event(R"({"choices":[{"delta":{"tool_calls":[)"
                               R"({"index":0,"id":"a","function":{"name":"f","arguments":"{}"}},)"
                               R"({"index":0,"id":"b","function":{"name":"g","arguments":"{\"x\":1}"}}]}}]})") +
                             finished("tool_calls")),
            "call a f {}\ncall b g {\"x\":1}\nat the end: stop\n");
  EXPECT_EQ(
      read(chat(), event(R"({"choices":[{"delta":{"tool_calls":[{"function":{"name":"f","arguments":{"x":1}}}]}}]})") +
                       finished("stop")),
      "call call_1 f {\"x\":1}\nat the end: stop\n");
}

TEST(OpenaiChat, A_count_with_every_chunk_is_reported_once_the_answer_is_finished) {
  EXPECT_EQ(
      read(
          chat(),
          event(R"({"choices":[{"delta":{"content":"a"}}],"usage":{"prompt_tokens":1,"completion_tokens":1}})") +
              event(
                  R"({"choices":[{"delta":{},"finish_reason":"length"}],"usage":{"prompt_tokens":1,"completion_tokens":2}})") +
              event("[DONE]")),
      "text[a]\nusage 1 in 2 out\nstop\n");
}

TEST(OpenaiChat, Endings_that_are_no_answer_say_why) {
  const std::pair<std::string, std::string> cases[] = {
      {event(R"({"error":{"message":"Slow","type":"rate_limit_error","code":null}})"), "failure rate_limited: Slow\n"},
      {event(R"({"error":{"message":"Bad","type":"BadRequestError","code":400}})"), "failure rejected: Bad\n"},
      {event(R"({"error":{"message":"Upstream","code":502}})"), "failure server_error: Upstream\n"},
      {event(R"({"error":{"message":"Busy","code":503}})"), "failure overloaded: Busy\n"},
      {event(R"({"object":"error","message":"Bad","code":400})"), "failure rejected: Bad\n"},
      {event(R"({"error":"out of memory"})"), "failure server_error: out of memory\n"},
      {finished("content_filter"), "failure rejected: the provider's content filter stopped the answer\n"},
      {finished("error"), "failure server_error: the provider stopped with an error\n"},
      {event(R"({"choices":[{"delta":{"refusal":"No."}}]})") + finished("stop"),
       "failure rejected: the model refused to answer\n"},
      {event(R"({"choices":[{"delta":{"tool_calls":[{"id":"a","function":{"arguments":"{}"}}]}}]})") + finished("stop"),
       "failure garbled: the model called a tool without a name\n"},
  };
  for (const auto& [bytes, expected] : cases) EXPECT_EQ(read(chat(), bytes), expected);
}

TEST(OpenaiChat, Writes_the_request_the_provider_expects) {
  const auto request = chat().request({"http://127.0.0.1:11434/v1", ""}, full_prompt());
  EXPECT_EQ(request.url, "http://127.0.0.1:11434/v1/chat/completions");
  const std::vector<std::pair<std::string, std::string>> headers = {{"content-type", "application/json"},
                                                                    {"accept", "text/event-stream"}};
  EXPECT_EQ(request.headers, headers) << "no key, no header";
  EXPECT_EQ(request.body,
            R"({"model":"some-model","max_completion_tokens":1000,"stream":true,)"
            R"("stream_options":{"include_usage":true},)"
            R"("tools":[{"type":"function","function":{"name":"bash","description":"Runs it.",)"
            R"("parameters":{"type":"object","properties":{"command":{"type":"string"}}}}}],"messages":[)"
            R"({"role":"system","content":"Be \"brief\"."},)"
            R"({"role":"user","content":"Hi\né"},{"role":"assistant","content":"Hello."},)"
            R"({"role":"user","content":"List."},{"role":"assistant","content":"Looking.","tool_calls":[)"
            R"({"id":"c1","type":"function","function":{"name":"bash","arguments":"{\"command\":\"ls\"}"}},)"
            R"({"id":"c2","type":"function","function":{"name":"read","arguments":"{\"path\":\"x\"}"}}]},)"
            R"({"role":"tool","tool_call_id":"c1","content":"a.txt"},)"
            R"({"role":"tool","tool_call_id":"c2","content":"no such file"}]})");
}

}  // namespace openai_chat_test
}  // namespace sluice::models
