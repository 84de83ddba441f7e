// Commands about workflows.
#include "cli/folder_fixture.h"

namespace sluice::cli {
namespace workflows_test {

class WorkflowsTest : public FolderTest {
 protected:
  WorkflowsTest() {
    remote.answers["GET /v1/integration/self"] = {200, R"({"tenant":{"id":"tnt_01"}})"};
    remote.answers["GET /api/workspaces/wsp_01/workflows?limit=100"] = {
        200, R"({"data":[{"id":"wfl_1","name":"report","definition":{"inputs":[{"name":"n","type":"number"}]}}]})"};
  }
};

TEST_F(WorkflowsTest, They_are_listed_and_shown_by_name) {
  remote.answer = R"({"data":[{"id":"wfl_1","name":"report"}],"has_more":false})";
  EXPECT_EQ(run({"workflows", "list"}), exit_ok);
  EXPECT_NE(console.output.find("report"), std::string::npos);
  remote.answer = R"({"id":"wfl_1","name":"report"})";
  EXPECT_EQ(run({"workflows", "show", "report"}), exit_ok);
  EXPECT_EQ(last(), "GET /api/workspaces/wsp_01/workflows/wfl_1");
  EXPECT_EQ(run({"workflows", "show", "other"}), exit_usage);
  EXPECT_NE(console.errors.find("there is no workflow \"other\""), std::string::npos);
}

TEST_F(WorkflowsTest, A_file_is_pushed_and_replaces_the_one_of_its_name) {
  write("w.json", R"({"name":"report","definition":{}})");
  EXPECT_EQ(run({"workflows", "push", (folder / "w.json").string()}), exit_ok);
  EXPECT_EQ(last(), R"(POST /api/workspaces/wsp_01/workflows {"name":"report","definition":{}})");
  remote.answers["POST /api/workspaces/wsp_01/workflows"] = {409, R"({"conflicting_resource_id":"wfl_9"})"};
  EXPECT_EQ(run({"workflows", "push", (folder / "w.json").string()}), exit_ok);
  EXPECT_EQ(last(), R"(PATCH /api/workspaces/wsp_01/workflows/wfl_9 {"name":"report","definition":{}})");
  write("x.json", "{");
  EXPECT_EQ(run({"workflows", "push", (folder / "x.json").string()}), exit_usage);
  EXPECT_EQ(run({"workflows", "push", "/nowhere"}), exit_usage);
}

TEST_F(WorkflowsTest, A_run_is_printed_line_by_line_and_its_end_is_the_exit_code) {
  remote.pieces = {"{\"seq\":0}\n{\"se", "q\":1,\"status\":\"succeeded\"}\n"};
  EXPECT_EQ(run({"workflows", "run", "report", "--input", "n=2", "--input", "t=2"}), exit_ok);
  EXPECT_EQ(last(), R"(stream POST /api/workspaces/wsp_01/workflows/wfl_1/runs {"inputs":{"n":2,"t":"2"}})");
  EXPECT_EQ(console.output, "{\"seq\":0}\n{\"seq\":1,\"status\":\"succeeded\"}\n");
  remote.pieces = {"{\"seq\":0}\n", "{\"seq\":1,\"status\":\"failed\"}\n"};
  EXPECT_EQ(run({"workflows", "run", "report"}), exit_failed);
  EXPECT_EQ(run({"workflows", "run", "report", "--input", "n=two"}), exit_usage);
  EXPECT_EQ(run({"workflows", "run", "report", "--input", "n"}), exit_usage);
}

TEST_F(WorkflowsTest, A_run_is_cancelled) {
  EXPECT_EQ(run({"workflows", "cancel", "wfr_1"}), exit_ok);
  EXPECT_EQ(last(), "POST /api/workspaces/wsp_01/workflow-runs/wfr_1/cancel");
}

}  // namespace workflows_test
}  // namespace sluice::cli
