#include "model/workflow.h"

#include <gtest/gtest.h>

namespace sluice::model {
namespace workflow_test {

RunId a_run() { return *RunId::parse("run_01arz3ndektsv4rrffq69g5fav"); }

// What was read back is written the same again.
void expect_kept(const WorkflowEvent& event, std::string_view body) {
  EXPECT_EQ(to_body(event), body);
  const auto read = workflow_event_from_body(body);
  ASSERT_TRUE(read);
  EXPECT_EQ(to_body(read.value()), body);
}

TEST(Workflow, Its_events_are_kept_as_they_are_told) {
  const Timestamp at{1'000};
  expect_kept({at, WorkflowStarted{R"({"id":"wfr_1"})"}},
              R"({"type":"run.started","run":{"id":"wfr_1"},"ts":"1970-01-01T00:00:01.000Z"})");
  expect_kept({at, BlockStarted{"a", "condition", std::nullopt}},
              R"({"type":"block.started","block":"a","kind":"condition","ts":"1970-01-01T00:00:01.000Z"})");
  expect_kept({at, BlockStarted{"a", "agents", a_run()}},
              R"({"type":"block.started","block":"a","kind":"agents","run_id":"run_01arz3ndektsv4rrffq69g5fav",)"
              R"("ts":"1970-01-01T00:00:01.000Z"})");
  expect_kept({at, BlockFinished{"a", BlockStatus::succeeded, {"\"✓\"", "[]", R"({"a":[1]})", 200}, std::nullopt}},
              R"({"type":"block.finished","block":"a","status":"succeeded","outputs":{"response":"\"✓\"","files":[],)"
              R"("json":{"a":[1]},"status":200},"ts":"1970-01-01T00:00:01.000Z"})");
  expect_kept({at, WorkflowFinished{WorkflowRunStatus::failed, R"({"x":"y"})", WorkflowError{"model-error", "No."}}},
              R"({"type":"run.finished","status":"failed","outputs":{"x":"y"},)"
              R"("error":{"code":"model-error","message":"No."},"ts":"1970-01-01T00:00:01.000Z"})");
}

TEST(Workflow, What_is_no_event_is_called_corrupt) {
  for (const auto* body :
       {"", "[]", "{}", R"({"type":"run.started"})", R"({"type":"x","ts":"1970-01-01T00:00:01.000Z"})",
        R"({"type":"block.finished","status":"odd","ts":"1970-01-01T00:00:01.000Z"})",
        R"({"type":"run.finished","status":"odd","ts":"1970-01-01T00:00:01.000Z"})"}) {
    const auto read = workflow_event_from_body(body);
    ASSERT_FALSE(read) << body;
    EXPECT_EQ(read.error().kind, ErrorKind::corrupt);
  }
}

TEST(Workflow, A_line_is_the_event_with_its_number) {
  std::string line;
  append_numbered(line, 7, R"({"type":"x"})");
  EXPECT_EQ(line, "{\"seq\":7,\"type\":\"x\"}\n");
}

TEST(Workflow, Blocks_and_errors_are_read_back) {
  const std::vector<BlockState> blocks = {{"a", BlockStatus::running, a_run()}, {"b", BlockStatus::skipped, {}}};
  EXPECT_EQ(blocks_from_text(to_text(blocks)), blocks);
  EXPECT_TRUE(blocks_from_text("x").empty());
  const WorkflowError error{"a-code", "Words."};
  EXPECT_EQ(workflow_error_from_text(to_text(error)), error);
  EXPECT_EQ(workflow_error_from_text(""), std::nullopt);
}

TEST(Workflow, A_run_is_shown_without_its_definition) {
  WorkflowRun run{.id = *WorkflowRunId::parse("wfr_01arz3ndektsv4rrffq69g5fav"),
                  .workflow_id = *WorkflowId::parse("wfl_01arz3ndektsv4rrffq69g5fav"),
                  .definition = R"({"blocks":[]})"};
  run.blocks = {{"a", BlockStatus::pending, {}}};
  std::string out;
  append_json(out, run);
  EXPECT_EQ(out, R"({"id":"wfr_01arz3ndektsv4rrffq69g5fav","object":"workflow_run",)"
                 R"("workflow_id":"wfl_01arz3ndektsv4rrffq69g5fav","status":"running","inputs":{},"outputs":{},)"
                 R"("error":null,"blocks":[{"id":"a","status":"pending"}],"created_at":"1970-01-01T00:00:00.000Z",)"
                 R"("ended_at":null})");
}

}  // namespace workflow_test
}  // namespace sluice::model
