#include <gtest/gtest.h>

#include "installation/fake_npm_fixture.h"
#include "ops/commands.h"

namespace sluice::ops {
namespace harness_commands_test {

class HarnessCommands : public installation::FakeNpm {
 protected:
  int call(int (*command)(const Call&), std::vector<std::string> operands = {}) {
    const auto config = Config::read({{"--harness.dir", programs, "--sandbox.driver", driver}, {}});
    SLUICE_CHECK(config);
    testing::internal::CaptureStdout();
    const int code = command({.program = "sluice",
                              .version = "",
                              .form = Form::human,
                              .operands = std::move(operands),
                              .switches = {},
                              .config = config.value()});
    out = testing::internal::GetCapturedStdout();
    return code;
  }
  bool printed(std::string_view words) const { return out.find(words) != out.npos; }

  const harness::Program& codex = *harness::find_program("codex");
  std::string driver = "namespaces";
  std::string out;
};

TEST_F(HarnessCommands, An_installed_program_is_listed_and_starts_in_a_sandbox) {
  npm_installs(codex);
  EXPECT_EQ(call(install_programs, {"codex"}), 0);
  EXPECT_EQ(call(list_programs), 0);
  EXPECT_TRUE(printed("codex        installed")) << out;
  EXPECT_EQ(call(check_programs), 0);
  EXPECT_TRUE(printed("0.166.0 runs in a sandbox") && !printed("tested with")) << out;
}

TEST_F(HarnessCommands, A_check_fails_if_a_named_program_is_missing_or_unknown) {
  npm_installs(codex);
  ASSERT_EQ(call(install_programs, {"codex"}), 0);
  EXPECT_EQ(call(check_programs, {"codex", "opencode"}), 1);
  EXPECT_TRUE(printed("0.166.0 runs in a sandbox") && printed("sluice harness install opencode")) << out;
  EXPECT_EQ(call(check_programs, {"kodex"}), 2);
  EXPECT_EQ(out, "");
}

TEST_F(HarnessCommands, A_check_reports_another_version_and_a_program_that_does_not_start) {
  npm_installs(codex);
  ASSERT_EQ(call(install_programs, {"codex"}), 0);
  write(programs / "codex" / codex.binary, "#!/bin/sh\necho codex-cli 0.1.2\n", 0755);
  EXPECT_EQ(call(check_programs, {"codex"}), 0);
  EXPECT_TRUE(printed("0.1.2 runs in a sandbox") && printed("tested with 0.166.0")) << out;
  write(programs / "codex" / codex.binary, "#!/bin/sh\necho no library >&2\nexit 127\n", 0755);
  EXPECT_EQ(call(check_programs, {"codex"}), 1);
  EXPECT_TRUE(printed("ended as exited 127: no library")) << out;
}

TEST_F(HarnessCommands, Programs_cannot_be_checked_without_sandboxes) {
  driver = "off";
  EXPECT_EQ(call(check_programs), 1);
}

TEST_F(HarnessCommands, Only_install_accepts_a_version_and_only_an_exact_one) {
  EXPECT_EQ(call(check_programs, {"codex@1.2.3"}), 2);
  EXPECT_EQ(call(install_programs, {"codex@latest"}), 2);
  EXPECT_EQ(call(install_programs, {"codex@"}), 2);
}

}  // namespace harness_commands_test
}  // namespace sluice::ops
