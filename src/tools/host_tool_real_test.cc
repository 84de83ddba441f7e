// A server of MCP that really runs in a box: H-6.
#include "runner/real_session_fixture.h"
#include "tools/toolbox_fixture.h"

namespace sluice::tools {
namespace host_tool_real_test {

using namespace runner;

TEST_F(RealSession, H_6_A_server_of_MCP_in_the_box_answers_on_its_standard_streams) {
  const auto script = "echo ready >&2\nwhile read -r line; do case \"$line\" in\n*'\"initialize\"'*) echo '" +
                      mcp_greeting() + "' ;;\n*tools/list*) echo '" + mcp_tools() + "' ;;\n*tools/call*) echo '" +
                      mcp_text(3, "from within") + "' ;;\nesac; done";
  kit.mcp_servers = {{.name = "crm", .command = {"sh", "-c", script}}};
  run("call crm__lookup {\"id\":7}\nsay {{last}}\n$ echo beside\nsay {{last}}");
  EXPECT_EQ(heard.text(), "from within\nbeside");
  EXPECT_TRUE(was_told(model::EventKind::log, "MCP server crm: ready")) << heard.all(model::EventKind::log);
}

TEST_F(RealSession, One_that_is_not_there_is_left_out_and_the_run_goes_on) {
  kit.mcp_servers = {{.name = "crm", .command = {"no-such-server"}},
                     {.name = "brief", .command = {"sh", "-c", "exit 4"}}};
  run("say Hello.");
  EXPECT_EQ(heard.text(), "Hello.");
  EXPECT_TRUE(was_told(model::EventKind::log, "\\\"crm\\\" are left out: it ended: not_started"));
  EXPECT_TRUE(was_told(model::EventKind::log, "\\\"brief\\\" are left out: it ended with exit code 4"));
}

}  // namespace host_tool_real_test
}  // namespace sluice::tools
