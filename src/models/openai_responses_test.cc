#include <gtest/gtest.h>

#include "models/reading_for_test.h"

namespace sluice::models {
namespace openai_responses_test {

const Dialect& responses() { return *find_dialect("openai-responses"); }

constexpr std::string_view plain_answer = R"(event: response.created
data: {"type":"response.created","sequence_number":0,"response":{"id":"resp_1","object":"response","status":"in_progress","output":[],"usage":null}}

event: response.output_item.added
data: {"type":"response.output_item.added","sequence_number":1,"output_index":0,"item":{"id":"rs_1","type":"reasoning","summary":[]}}

event: response.reasoning_summary_part.added
data: {"type":"response.reasoning_summary_part.added","sequence_number":2,"item_id":"rs_1","output_index":0,"summary_index":0,"part":{"type":"summary_text","text":""}}

event: response.reasoning_summary_text.delta
data: {"type":"response.reasoning_summary_text.delta","sequence_number":3,"item_id":"rs_1","output_index":0,"summary_index":0,"delta":"First."}

event: response.reasoning_summary_part.added
data: {"type":"response.reasoning_summary_part.added","sequence_number":4,"item_id":"rs_1","output_index":0,"summary_index":1,"part":{"type":"summary_text","text":""}}

event: response.reasoning_summary_text.delta
data: {"type":"response.reasoning_summary_text.delta","sequence_number":5,"item_id":"rs_1","output_index":0,"summary_index":1,"delta":"Second."}

event: response.output_item.added
data: {"type":"response.output_item.added","sequence_number":6,"output_index":1,"item":{"id":"msg_1","type":"message","status":"in_progress","role":"assistant","content":[]}}

event: response.output_text.delta
data: {"type":"response.output_text.delta","sequence_number":7,"item_id":"msg_1","output_index":1,"content_index":0,"delta":"Hi","logprobs":[]}

event: response.output_text.delta
data: {"type":"response.output_text.delta","sequence_number":8,"item_id":"msg_1","output_index":1,"content_index":0,"delta":" there."}

event: response.output_text.done
data: {"type":"response.output_text.done","sequence_number":9,"item_id":"msg_1","output_index":1,"content_index":0,"text":"Hi there."}

event: response.completed
data: {"type":"response.completed","sequence_number":10,"response":{"id":"resp_1","status":"completed","usage":{"input_tokens":37,"input_tokens_details":{"cached_tokens":30},"output_tokens":11,"output_tokens_details":{"reasoning_tokens":4},"total_tokens":48}}}

)";

constexpr std::string_view calling_answer =
    R"(data: {"type":"response.output_item.added","output_index":0,"item":{"id":"fc_1","type":"function_call","status":"in_progress","arguments":"","call_id":"call_a","name":"bash"}}

data: {"type":"response.function_call_arguments.delta","item_id":"fc_1","output_index":0,"delta":"{\"command\":"}

data: {"type":"response.function_call_arguments.delta","item_id":"fc_1","output_index":0,"delta":"\"ls\"}"}

data: {"type":"response.function_call_arguments.done","item_id":"fc_1","output_index":0,"arguments":"{\"command\":\"ls\"}"}

data: {"type":"response.output_item.done","output_index":0,"item":{"id":"fc_1","type":"function_call","status":"completed","arguments":"{\"command\":\"ls\"}","call_id":"call_a","name":"bash"}}

data: {"type":"response.output_item.done","output_index":1,"item":{"id":"fc_2","type":"function_call","status":"completed","arguments":"{}","call_id":"call_b","name":"now"}}

data: {"type":"response.completed","response":{"status":"completed","usage":{"input_tokens":5,"output_tokens":6}}}

)";

std::string event(std::string_view data) { return "data: " + std::string(data) + "\n\n"; }

TEST(OpenaiResponses, Reads_text_reasoning_and_usage) {
  EXPECT_EQ(
      read(responses(), plain_answer),
      "reasoning[First.]\nreasoning[\n\n]\nreasoning[Second.]\ntext[Hi]\ntext[ there.]\nusage 37 in 11 out\nstop\n");
  EXPECT_EQ(read(responses(), event(R"({"type":"response.reasoning_text.delta","delta":"raw"})") +
                                  event(R"({"type":"response.completed","response":{}})")),
            "reasoning[raw]\nusage 0 in 0 out\nstop\n");
}

TEST(OpenaiResponses, Reads_tool_calls_in_pieces_and_whole) {
  EXPECT_EQ(read(responses(), calling_answer),
            "call call_a bash {\"command\":\"ls\"}\ncall call_b now {}\nusage 5 in 6 out\nstop\n");
}

TEST(OpenaiResponses, Reads_the_same_however_the_bytes_are_split) {
  expect_same_however_split(responses(), plain_answer);
  expect_same_however_split(responses(), calling_answer);
}

TEST(OpenaiResponses, An_answer_that_breaks_off_is_cut) {
  expect_cut_wherever_truncated(responses(), plain_answer, plain_answer.size() - 1);
  EXPECT_EQ(read(responses(), "data: [DONE]\n\n"), "failure cut: the answer broke off before it was complete\n");
}

TEST(OpenaiResponses, Noise_breaks_nothing) {
  expect_unbroken_by_noise(responses(), plain_answer);
  expect_unbroken_by_noise(responses(), calling_answer);
}

TEST(OpenaiResponses, Endings_that_are_no_answer_say_why) {
  const std::pair<std::string, std::string> cases[] = {
      {R"({"type":"response.failed","response":{"error":{"code":"rate_limit_exceeded","message":"Slow"}}})",
       "failure rate_limited: Slow\n"},
      {R"({"type":"response.failed","response":{"error":{"code":"server_error","message":"Oops"}}})",
       "failure server_error: Oops\n"},
      {R"({"type":"response.failed","response":{"error":{"code":"invalid_prompt","message":"No"}}})",
       "failure rejected: No\n"},
      {R"({"type":"response.failed","response":{"error":null}})",
       "failure server_error: the provider gave no reason\n"},
      {R"({"type":"error","code":"rate_limit_exceeded","message":"Slow","param":null,"sequence_number":1})",
       "failure rate_limited: Slow\n"},
      {R"({"type":"error","error":{"type":"invalid_request_error","code":"context_length_exceeded","message":"Long"}})",
       "failure rejected: Long\n"},
      {R"({"type":"response.refusal.done","refusal":"I cannot."})", "failure rejected: the model refused: I cannot.\n"},
      {R"({"type":"response.incomplete","response":{"incomplete_details":{"reason":"content_filter"}}})",
       "failure rejected: the provider's content filter stopped the answer\n"},
      {R"({"type":"response.incomplete","response":{"incomplete_details":{"reason":"max_output_tokens"},)"
       R"("usage":{"input_tokens":1,"output_tokens":2}}})",
       "usage 1 in 2 out\nstop\n"},
  };
  for (const auto& [data, expected] : cases) EXPECT_EQ(read(responses(), event(data)), expected);
}

TEST(OpenaiResponses, Writes_the_request_the_provider_expects) {
  const auto request = responses().request({"https://api.openai.com/v1", "secret"}, full_prompt());
  EXPECT_EQ(request.url, "https://api.openai.com/v1/responses");
  const std::vector<std::pair<std::string, std::string>> headers = {
      {"content-type", "application/json"}, {"accept", "text/event-stream"}, {"authorization", "Bearer secret"}};
  EXPECT_EQ(request.headers, headers);
  EXPECT_EQ(request.body, R"({"model":"some-model","max_output_tokens":1000,"stream":true,"store":false,)"
                          R"("instructions":"Be \"brief\".",)"
                          R"("tools":[{"type":"function","name":"bash","description":"Runs it.","parameters":)"
                          R"({"type":"object","properties":{"command":{"type":"string"}}},"strict":false}],"input":[)"
                          R"({"role":"user","content":"Hi\né"},{"role":"assistant","content":"Hello."},)"
                          R"({"role":"user","content":"List."},{"role":"assistant","content":"Looking."},)"
                          R"({"type":"function_call","call_id":"c1","name":"bash","arguments":"{\"command\":\"ls\"}"},)"
                          R"({"type":"function_call","call_id":"c2","name":"read","arguments":"{\"path\":\"x\"}"},)"
                          R"({"type":"function_call_output","call_id":"c1","output":"a.txt"},)"
                          R"({"type":"function_call_output","call_id":"c2","output":"no such file"}]})");
}

}  // namespace openai_responses_test
}  // namespace sluice::models
