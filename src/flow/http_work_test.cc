#include "flow/flows_fixture.h"

namespace sluice::flow {
namespace http_work_test {

using net::FakeAnswer;

class HttpBlockTest : public FlowsTest {
 protected:
  model::WorkflowRun run_with(const std::string& block, const std::string& inputs = "{}",
                              const std::string& more = "") {
    return start_ok(keep(definition_of(block, "", more), "flow " + std::to_string(++count_)), inputs);
  }
  const net::ClientRequest& asked() const { return client.requests.back(); }

 private:
  int count_ = 0;
};

TEST_F(HttpBlockTest, The_request_is_made_as_the_block_says_and_its_answer_handed_on) {
  client.answer(FakeAnswer::whole(201, R"({"id":7})"));
  const auto run =
      run_with(R"({"id":"a","type":"http","method":"POST","url":"http://api.example/v1/{{inputs.q}}?x={{inputs.q}}",)"
               R"("headers":{"X-Q":"{{inputs.q}}"},"body":{"q":"{{inputs.q}}","n":[1,null]},"timeout_seconds":5})",
               R"({"q":"a \"b\""})",
               R"(,"inputs":[{"name":"q","type":"text"}],"outputs":{"id":"{{blocks.a.json.id}} {{blocks.a.status}}"})");
  EXPECT_EQ(asked().method, "POST");
  EXPECT_EQ(asked().url, "http://api.example/v1/a%20%22b%22?x=a%20%22b%22");
  EXPECT_EQ(asked().headers.find("X-Q"), "a \"b\"");
  EXPECT_EQ(asked().headers.find("Content-Type"), "application/json");
  EXPECT_EQ(asked().headers.find("Idempotency-Key"), run.id.text() + ":a");
  EXPECT_EQ(asked().body, R"({"q":"a \"b\"","n":[1,null]})") << "a value cannot leave its string";
  EXPECT_EQ(asked().total_ms_max, 5'000);
  EXPECT_EQ(stored(run).outputs, R"({"id":"7 201"})");
}

TEST_F(HttpBlockTest, Only_what_the_operator_allows_is_called) {
  const auto refusal = [&](const std::string& url) {
    const auto run = run_with(R"({"id":"a","type":"http","method":"GET","url":")" + url + "\"}", R"({"q":"../admin"})",
                              R"(,"inputs":[{"name":"q","type":"text"}])");
    return stored(run).error.value_or(model::WorkflowError{}).code;
  };
  for (const auto* url :
       {"http://other.example/v1/x", "https://api.example/v1/x", "http://api.example/v2/x",
        "http://api.example/v1/../x", "http://api.example/v1/%2e%2e/x", "http://api.example/v1/{{inputs.q}}",
        "http://api.example@other.example/v1/x", "http://api.example/v1/x#y", "http://api.example/v1/x?a b",
        "file:///etc/passwd", "", "http://api.example:81/v1/x"}) {
    EXPECT_EQ(refusal(url), "http-not-allowed") << url;
  }
  EXPECT_TRUE(client.requests.empty());
  client.answer(FakeAnswer::whole(200, ""));
  EXPECT_EQ(refusal("http://api.example/v1/x?q={{inputs.q}}"), "");
  EXPECT_EQ(asked().url, "http://api.example/v1/x?q=..%2Fadmin");
  flow_options.http_urls.clear();
  close_flows();
  open_flows();
  EXPECT_EQ(refusal("http://api.example/v1/x"), "http-not-allowed") << "the default is nowhere";
}

TEST_F(HttpBlockTest, What_goes_wrong_fails_the_block_in_words) {
  const auto error = [&](FakeAnswer answer) {
    client.answer(std::move(answer));
    const auto run = run_with(http_block("a", "GET"));
    loop.advance({61'000});
    return stored(run).error.value_or(model::WorkflowError{});
  };
  EXPECT_EQ(error(FakeAnswer::connection_refused()),
            (model::WorkflowError{"http-failed", "The request failed: Connection refused"}));
  EXPECT_EQ(error(FakeAnswer().head(200)).code, "http-failed") << "it fell silent";
  EXPECT_EQ(error(FakeAnswer::whole(200, "12345").cut_after(2)).code, "http-failed");
  EXPECT_EQ(error(FakeAnswer::whole(404, "no such thing")),
            (model::WorkflowError{"http-status", "The server answered 404."}));
  EXPECT_EQ(error(FakeAnswer::whole(302, "", {{"Location", "http://api.example/v1/y"}})).code, "http-status")
      << "a redirect is not followed";
  EXPECT_EQ(error(FakeAnswer::whole(200, "\xff\xfe")).message, "The server's answer is not text in UTF-8.");
  EXPECT_EQ(error(FakeAnswer::whole(200, "fine")).code, "");
}

TEST_F(HttpBlockTest, A_long_answer_is_cut_with_a_note) {
  client.answer(
      FakeAnswer().head(200).piece(std::string(limits::block_output_bytes_max - 1, 'x') + "✓").piece("more").finish());
  const auto run = run_with(http_block("a", "GET"));
  EXPECT_EQ(status_of(run), "succeeded");
  const auto lines = lines_of(run);
  EXPECT_NE(lines.find(R"(x\n[cut here: a block hands on at most 1048576 bytes]")"), std::string::npos);
  EXPECT_EQ(client.calls_in_flight(), 0U);
}

TEST_F(HttpBlockTest, A_header_with_a_line_break_is_not_sent) {
  const auto run = run_with(http_block("a", "GET", R"(,"headers":{"X-Q":"{{inputs.q}}"})"), R"({"q":"a\r\nHost: b"})",
                            R"(,"inputs":[{"name":"q","type":"text"}])");
  EXPECT_EQ(stored(run).error->code, "template-failed");
  EXPECT_TRUE(client.requests.empty());
}

TEST_F(HttpBlockTest, A_place_that_turns_out_to_name_nothing_fails_the_block) {
  client.answer(FakeAnswer::whole(200, R"({"a":1})"));
  const auto run = start_ok(definition_of(http_block("a", "GET") + "," + agents_block("b", "{{blocks.a.json.b}}"),
                                          R"({"from":"a","to":"b"})"));
  EXPECT_EQ(stored(run).error, (model::WorkflowError{"template-failed",
                                                     "The block cannot be begun: {{blocks.a.json.b}} names "
                                                     "nothing: there is no \"b\"."}));
}

TEST_F(HttpBlockTest, After_a_restart_only_what_may_be_is_asked_again) {
  struct Case {
    std::string block;
    std::string_view status;
  };
  const Case cases[] = {{http_block("a", "GET"), "succeeded"},
                        {http_block("a", "PUT"), "succeeded"},
                        {http_block("a", "DELETE"), "succeeded"},
                        {http_block("a", "HEAD"), "succeeded"},
                        {http_block("a", "POST", R"(,"idempotent":true)"), "succeeded"},
                        {http_block("a", "POST"), "failed"},
                        {http_block("a", "PATCH"), "failed"}};
  for (const auto& [block, status] : cases) {
    client.answer(FakeAnswer().wait(1'000'000));
    const auto run = run_with(block);
    const auto key = std::string(*asked().headers.find("Idempotency-Key"));
    const auto before = client.requests.size();
    if (status == "succeeded") client.answer(FakeAnswer::whole(200, "again"));
    restart();
    EXPECT_EQ(status_of(run), status) << block;
    EXPECT_EQ(client.requests.size() - before, status == "succeeded" ? 1U : 0U) << block;
    if (status == "succeeded") {
      EXPECT_EQ(asked().headers.find("Idempotency-Key"), key);
    } else {
      EXPECT_EQ(stored(run).error->code, "outcome-unknown");
    }
  }
}

TEST_F(HttpBlockTest, Cancelling_drops_the_request) {
  client.answer(FakeAnswer().wait(1'000'000));
  const auto run = run_with(http_block("a", "GET"));
  std::optional<RunOutcome> answer;
  flows->cancel(tenant.id, run.id, [&](RunOutcome outcome) { answer = std::move(outcome); });
  loop.settle();
  EXPECT_EQ(client.calls_in_flight(), 0U);
  EXPECT_EQ(status_of(run), "cancelled");
}

TEST_F(HttpBlockTest, A_server_that_stops_waits_for_a_request_that_is_under_way) {
  client.answer(FakeAnswer().wait(500).head(200).piece("late").finish());
  const auto run = run_with(http_block("a", "POST"));
  bool drained = false;
  flows->drain({10'000}, [&] { drained = true; });
  loop.settle();
  EXPECT_FALSE(drained);
  loop.advance({500});
  EXPECT_TRUE(drained);
  EXPECT_EQ(status_of(run), "succeeded") << "nothing is left to begin";
}

}  // namespace http_work_test
}  // namespace sluice::flow
