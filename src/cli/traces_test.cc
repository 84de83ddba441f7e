// S-11: what a run did, as a person and as a program reads it.
#include "cli/fake_terminal.h"

namespace sluice::cli {
namespace traces_test {

TEST_F(CommandsTest, A_trace_is_printed_as_it_comes_S_11) {
  remote.pieces = {"{\"type\":\"log\"}\n{\"ty", "pe\":\"result\"}\n"};
  EXPECT_EQ(run({"runs", "trace", "run_1"}), exit_ok);
  EXPECT_EQ(remote.asked.back(), "stream /v1/runs/run_1/stream.jsonl");
  EXPECT_EQ(console.output, "{\"type\":\"log\"}\n{\"type\":\"result\"}\n");
  run({"runs", "trace", "../x", "--extended"});
  EXPECT_EQ(remote.asked.back(), "stream /v1/runs/%2E%2E%2Fx/stream.jsonl?profile=extended");
}

TEST_F(CommandsTest, A_trace_that_is_refused_or_breaks_off_says_so) {
  remote.status = 404;
  remote.answer = R"({"title":"Not found","status":404})";
  EXPECT_EQ(run({"runs", "trace", "run_1"}), exit_failed);
  EXPECT_EQ(console.errors, "sluice: Not found (404)\n");
  remote.reachable = false;
  EXPECT_EQ(run({"runs", "trace", "run_1"}), exit_unknown);
  EXPECT_EQ(console.output, "");
}

TEST_F(CommandsTest, Steps_are_a_table_and_with_json_the_bytes) {
  remote.answer = R"([{"id":"s","name":"bash","status":"failed","args":{"command":"ls"},"durationMs":7,)"
                  R"("startedAt":"2026-07-02T10:00:00Z"}])";
  EXPECT_EQ(run({"runs", "steps", "run_1"}), exit_ok);
  EXPECT_EQ(remote.asked.back(), "GET /v1/runs/run_1/steps.json");
  EXPECT_EQ(console.output,
            "STARTED               NAME  STATUS  MS  ARGUMENTS\n"
            "2026-07-02T10:00:00Z  bash  failed  7   {\"command\":\"ls\"}\n");
  console.output.clear();
  run({"runs", "steps", "run_1", "--json"});
  EXPECT_EQ(console.output, remote.answer + "\n");
}

TEST_F(CommandsTest, A_result_is_the_answer_or_the_problem_or_not_there_yet) {
  const auto shown = [&](std::string answer) {
    remote.answer = std::move(answer);
    console.output.clear();
    EXPECT_EQ(run({"runs", "result", "run_1"}), exit_ok);
    return console.output;
  };
  EXPECT_EQ(shown(R"({"run_id":"run_1","state":"completed","message":{"content":"It is\nhi."},"error":null})"),
            "It is\nhi.\n");
  EXPECT_EQ(remote.asked.back(), "GET /v1/runs/run_1/result.json");
  EXPECT_EQ(shown(R"({"run_id":"run_1","state":"failed","message":null,"error":{"title":"Model error","status":502}})"),
            "title   Model error\nstatus  502\n");
  EXPECT_EQ(shown(R"({"run_id":"run_1","state":"running","message":null,"error":null})"),
            "none yet: the run is running\n");
}

}  // namespace traces_test
}  // namespace sluice::cli
