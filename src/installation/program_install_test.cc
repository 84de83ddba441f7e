#include "installation/program_install.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "installation/child_process.h"
#include "installation/data_dir.h"
#include "installation/fake_npm_fixture.h"

// H-1: agent programs at the versions that they were tested with.
namespace sluice::installation {
namespace program_install_test {

namespace fs = std::filesystem;

class InstallTest : public FakeNpm {
 protected:
  std::string complaint() const {
    const auto done = install_program(codex, programs);
    return done ? "no complaint" : done.error().what;
  }
  // Nothing but what every directory of programs has.
  bool is_empty() const {
    for (const auto& entry : fs::directory_iterator(programs)) {
      if (entry.path().filename() != ".lock") return false;
    }
    return true;
  }
  const harness::Program& codex = *harness::find_program("codex");
};

TEST_F(InstallTest, The_tested_version_is_installed_with_a_record) {
  npm_installs(codex);
  const auto done = install_program(codex, programs);
  ASSERT_TRUE(done) << done.error().what;
  EXPECT_EQ(access((programs / "codex" / codex.binary).c_str(), X_OK), 0);
  const auto record = read_small_file(programs / "codex/sluice-program.json");
  ASSERT_TRUE(record && record.value());
  EXPECT_EQ(*record.value(), "{\"agent_type\":\"codex\",\"package\":\"@openai/codex\",\"version\":\"0.166.0\"}\n");
  EXPECT_FALSE(fs::exists(programs / "codex.part"));
  EXPECT_NE(calls().find("@openai/codex@0.166.0"), std::string::npos) << calls();
  EXPECT_NE(calls().find("--ignore-scripts"), std::string::npos) << "packages' scripts are strangers";
}

TEST_F(InstallTest, Another_version_is_installed_on_request) {
  npm_installs(codex);
  const auto done = install_program(codex, programs, "0.170.1");
  ASSERT_TRUE(done) << done.error().what;
  EXPECT_NE(calls().find("@openai/codex@0.170.1"), std::string::npos) << calls();
  const auto record = read_small_file(programs / "codex/sluice-program.json");
  ASSERT_TRUE(record && record.value());
  EXPECT_NE(record.value()->find("\"version\":\"0.170.1\""), std::string::npos) << *record.value();
}

TEST_F(InstallTest, Only_an_exact_version_is_accepted) {
  for (const auto* version : {"2.1.326", "0.0.1", "1.2.3-beta.1", "1.2.3+build"})
    EXPECT_TRUE(is_exact_version(version));
  for (const auto* version :
       {"latest", "^2.1.0", "2", "2.1", "2.x.1 ", "v1.2.3", ">=1.0.0", "1.2.3/../x", "file:1.2.3"}) {
    EXPECT_FALSE(is_exact_version(version)) << version;
  }
}

TEST_F(InstallTest, Installed_files_are_readable_for_sandboxes_with_any_umask) {
  npm_installs(codex);
  const mode_t before = umask(077);
  const auto done = install_program(codex, programs);
  EXPECT_EQ(umask(before), 077) << "and it is left as it was";
  ASSERT_TRUE(done) << done.error().what;
  for (const auto& path : {programs, programs / "codex", programs / "codex/sluice-program.json"}) {
    EXPECT_EQ(fs::status(path).permissions() & fs::perms(0044), fs::perms(0044)) << path;
  }
}

TEST_F(InstallTest, An_installation_replaces_the_old_version_and_the_remains_of_a_killed_one) {
  write(programs / "codex/old", "old");
  write(programs / "codex.part/half", "half");
  npm_installs(codex);
  ASSERT_TRUE(install_program(codex, programs));
  EXPECT_FALSE(fs::exists(programs / "codex/old"));
  EXPECT_FALSE(fs::exists(programs / "codex/half"));
  EXPECT_TRUE(fs::exists(programs / "codex/sluice-program.json"));
  EXPECT_FALSE(fs::exists(programs / "codex.part"));
}

TEST_F(InstallTest, A_failed_installation_leaves_the_old_version) {
  npm_installs(codex);
  ASSERT_TRUE(install_program(codex, programs));
  npm_does("mkdir -p node_modules/half; exit 1");
  EXPECT_NE(complaint(), "no complaint");
  EXPECT_TRUE(fs::exists(programs / "codex" / codex.binary));
  EXPECT_FALSE(fs::exists(programs / "codex.part"));
}

TEST_F(InstallTest, A_missing_npm_is_reported) {
  setenv("PATH", (home / "bin").c_str(), 1);
  EXPECT_EQ(complaint(), "npm is not in PATH: agent programs come from npm; install Node.js 20 or newer, which has it");
  EXPECT_TRUE(is_empty());
}

TEST_F(InstallTest, An_unreachable_registry_is_reported) {
  npm_does("echo 'npm error code EAI_AGAIN' >&2; echo 'npm error a log is in /x' >&2; exit 1");
  EXPECT_EQ(complaint(),
            "npm cannot reach its registry (EAI_AGAIN): `npm config get registry` names it; behind a proxy set "
            "HTTPS_PROXY");
  EXPECT_TRUE(is_empty());
}

TEST_F(InstallTest, A_version_that_the_registry_lacks_is_reported) {
  npm_does("echo 'npm error code ETARGET' >&2; exit 1");
  EXPECT_EQ(complaint(), "npm's registry has no @openai/codex@0.166.0: `npm config get registry` names it");
}

TEST_F(InstallTest, Other_failures_are_reported_with_the_last_words_of_npm) {
  npm_does("echo 'npm warn old'; echo 'npm error it is Tuesday' >&2; echo; exit 7");
  EXPECT_EQ(complaint(), "npm install @openai/codex@0.166.0 ended with 7: npm error it is Tuesday");
}

TEST_F(InstallTest, A_package_of_another_version_than_requested_is_refused) {
  npm_installs(codex, "0.1.0");
  EXPECT_EQ(complaint(), "npm installed @openai/codex 0.1.0, and not the version 0.166.0 that was asked for");
  EXPECT_TRUE(is_empty());
}

TEST_F(InstallTest, A_package_without_a_program_for_this_machine_is_refused) {
  npm_does("mkdir -p node_modules/$package; echo '{\"version\":\"0.166.0\"}' >node_modules/$package/package.json");
  EXPECT_NE(complaint().find("brought no program for this machine"), std::string::npos) << complaint();
  EXPECT_TRUE(is_empty());
}

TEST_F(InstallTest, Only_a_compressed_program_is_unpacked) {
  const auto& grok = *harness::find_program("grok-build");
  npm_does("binary=" + std::string(grok.binary) + R"(
mkdir -p node_modules/$package $(dirname $binary)
printf '{"version":"%s"}' $version >node_modules/$package/package.json
printf '\033\007\000\370\045\024\252\020\105\202\012\001' >$binary.br
)");
  const auto done = install_program(grok, programs);
  ASSERT_TRUE(done) << done.error().what;
  const auto binary = programs / "grok-build" / grok.binary;
  const auto unpacked = read_small_file(binary);
  ASSERT_TRUE(unpacked && unpacked.value());
  EXPECT_EQ(*unpacked.value(), "program\n");
  EXPECT_EQ(access(binary.c_str(), X_OK), 0);
  EXPECT_FALSE(fs::exists(binary.string() + ".br"));

  npm_does("binary=" + std::string(grok.binary) + R"(
mkdir -p node_modules/$package $(dirname $binary)
printf '{"version":"%s"}' $version >node_modules/$package/package.json
echo garbage >$binary.br
)");
  const auto spoilt = install_program(grok, programs);
  ASSERT_FALSE(spoilt);
  EXPECT_NE(spoilt.error().what.find("unpack @xai-official/grok: node ended with 1: Error: "), std::string::npos)
      << spoilt.error().what;
}

TEST_F(InstallTest, Two_installations_do_not_run_at_once) {
  fs::create_directory(programs);
  const OwnedFd lock(open((programs / ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  ASSERT_EQ(flock(lock.get(), LOCK_EX), 0);
  EXPECT_EQ(complaint(), "another sluice harness install is at work in " + programs.string());
}

TEST_F(InstallTest, A_directory_that_is_not_writable_is_reported) {
  write(home / "file", "");
  const auto done = install_program(codex, home / "file/below");
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().what, "write to " + (home / "file/below").string() + ": Not a directory");
}

TEST(Child, A_child_process_is_reported_with_its_end_and_its_last_output) {
  const auto ended = run_child({.argv = {"sh", "-c", "pwd; echo $WORD; yes | head -c 100000; echo end >&2; kill -9 $$"},
                                .directory = "/usr",
                                .environment = {{"WORD", "given"}}});
  ASSERT_TRUE(ended) << ended.error().what;
  EXPECT_EQ(ended.value().code, 128 + 9);
  EXPECT_LE(ended.value().output.size(), 40'000u);
  EXPECT_TRUE(ended.value().output.ends_with("end\n"));
  const auto words =
      run_child({.argv = {"sh", "-c", "pwd; echo $WORD"}, .directory = "/usr", .environment = {{"WORD", "given"}}});
  EXPECT_EQ(words.value().output, "/usr\ngiven\n");
  const auto none = run_child({.argv = {"no-such-program"}, .directory = "", .environment = {}});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().kind, ErrorKind::not_found);
}

TEST(Child, The_processes_of_a_child_end_with_the_waiting_process) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const OwnedFd ours(ends[0]);
  OwnedFd theirs(ends[1]);
  const pid_t waiting = fork();
  ASSERT_GE(waiting, 0);
  if (waiting == 0) {
    dup2(theirs.get(), 9);  // inherited, and open until the last of them is gone
    (void)run_child({.argv = {"sh", "-c", "sleep 1000 & echo >&9; wait"}, .directory = "", .environment = {}});
    _exit(0);
  }
  theirs.reset();
  char byte = 0;
  ASSERT_EQ(read(ours.get(), &byte, 1), 1) << "it is at work";
  ASSERT_EQ(kill(waiting, SIGTERM), 0);
  int status = 0;
  ASSERT_EQ(waitpid(waiting, &status, 0), waiting);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM) << status;
  EXPECT_EQ(read(ours.get(), &byte, 1), 0) << "and no process is left";
}

}  // namespace program_install_test
}  // namespace sluice::installation
