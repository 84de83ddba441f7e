// Commands in a sandbox: what is promised of their output, input, end and surroundings.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "sandbox/driver_contract.h"

namespace sluice::sandbox {
namespace driver_command_contract_test {

using DriverCommands = DriverContract;

TEST_P(DriverCommands, Both_streams_arrive_whole_and_apart) {
  BoxStory story(options());
  const auto box = story.open();
  const Ran ran = story.run(*box, sh("printf out; printf err >&2; printf ' more'"));
  EXPECT_EQ(ran.out, "out more");
  EXPECT_EQ(ran.err, "err");
  EXPECT_EQ(ran.exit.cause, ExitCause::exited);
  EXPECT_EQ(ran.exit.code, 0);
  EXPECT_EQ(story.sandbox().driver(), options().driver);
}

TEST_P(DriverCommands, Output_is_bytes_and_not_text) {
  BoxStory story(options());
  const auto box = story.open();
  EXPECT_EQ(story.run(*box, sh(R"(printf 'a\000b\377\n')")).out, std::string("a\0b\xff\n", 5));
}

// The user's and the system's time in what a shell's `times` prints first: "0m0.250000s 0m0.010000s".
int64_t own_cpu_ms(const std::string& times) {
  std::istringstream words(times);
  double seconds = 0;
  for (int i = 0; i < 2; ++i) {
    double minutes = 0;
    double rest = 0;
    char letter = 0;
    words >> minutes >> letter >> rest >> letter;
    seconds += 60 * minutes + rest;
  }
  return static_cast<int64_t>(seconds * 1000);
}

TEST_P(DriverCommands, An_exit_tells_how_and_what_it_cost) {
  BoxStory story(options());
  const auto box = story.open();
  const Ran three = story.run(*box, sh("i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; times; exit 3"));
  EXPECT_EQ(three.exit.cause, ExitCause::exited);
  EXPECT_EQ(three.exit.code, 3);
  const int64_t own_ms = own_cpu_ms(three.out);
  EXPECT_GT(own_ms, 0) << three.out;
  EXPECT_GE(three.exit.cpu_ms, own_ms - 20) << "the shell counts in hundredths, of two figures";
  EXPECT_LE(three.exit.cpu_ms, own_ms + 500) << "all that is left to do is to exit";
  EXPECT_GT(three.exit.memory_bytes_peak, 100'000);
  const Ran killed = story.run(*box, sh("kill -USR1 $$"));
  EXPECT_EQ(killed.exit.cause, ExitCause::killed);
  EXPECT_EQ(killed.exit.code, SIGUSR1);
}

TEST_P(DriverCommands, What_cannot_be_started_says_why) {
  BoxStory story(options());
  const auto box = story.open();
  const Ran program = story.run(*box, {.argv = {"no-such-program"}});
  EXPECT_EQ(program.exit.cause, ExitCause::not_started);
  EXPECT_NE(program.exit.what.find("no-such-program"), std::string::npos) << program.exit.what;
  const Ran directory = story.run(*box, {.argv = {"true"}, .directory = "/no/such/directory"});
  EXPECT_EQ(directory.exit.cause, ExitCause::not_started);
  EXPECT_NE(directory.exit.what.find("/no/such/directory"), std::string::npos) << directory.exit.what;
  EXPECT_EQ(story.run(*box, {.argv = {"/etc/passwd"}}).exit.cause, ExitCause::not_started);
  EXPECT_EQ(story.run(*box, sh("true")).exit.code, 0);
}

TEST_P(DriverCommands, Input_arrives_whole_and_then_ends) {
  BoxStory story(options());
  const auto box = story.open();
  EXPECT_EQ(story.run(*box, {.argv = {"cat"}, .input = "one\ntwo\n"}).out, "one\ntwo\n");
  const std::string big(3 << 20, 'x');
  EXPECT_EQ(story.run(*box, {.argv = {"cat"}, .input = big}).out, big);
  EXPECT_EQ(story.run(*box, {.argv = {"cat"}}).out, "");
  // The pipe is not read: the server must neither wait nor die of SIGPIPE.
  EXPECT_EQ(story.run(*box, {.argv = {"true"}, .input = big}).exit.code, 0);
}

TEST_P(DriverCommands, Kept_input_is_answered_as_it_comes_and_ends_when_told) {
  BoxStory story(options());
  const auto box = story.open();
  Heard heard(story);
  const auto process = box->start({.argv = {"cat"}, .input = "one\n", .keeps_input = true}, heard);
  story.until([&] { return heard.out == "one\n"; }, "the first of it");
  process->write("two\n");
  story.until([&] { return heard.out == "one\ntwo\n"; }, "the second");
  process->write("three\n");
  process->close_input();
  process->write("this is not read");
  story.until([&] { return heard.exit.has_value(); }, "the end");
  EXPECT_EQ(heard.out, "one\ntwo\nthree\n");
  EXPECT_EQ(heard.exit->code, 0);
  EXPECT_EQ(process->unwritten_bytes(), 0U);
  process->write("nor this");
  process->close_input();
}

TEST_P(DriverCommands, Kept_input_waits_here_for_a_slow_reader_and_none_of_it_is_lost) {
  BoxStory story(options());
  const auto box = story.open();
  Heard heard(story);
  // It reads nothing before another command lets it.
  const auto process =
      box->start({.argv = {"bash", "-c", "mkfifo /tmp/go && echo up && read -r go </tmp/go && cat | sha256sum"},
                  .keeps_input = true},
                 heard);
  story.until([&] { return heard.out == "up\n"; }, "the command");
  std::string all;
  for (int i = 0; i < 64; ++i) {
    const std::string piece(100'000, static_cast<char>('a' + i % 26));
    all += piece;
    process->write(piece);
    EXPECT_LE(process->unwritten_bytes(), all.size());
  }
  EXPECT_GT(process->unwritten_bytes(), 0U) << "six megabytes do not fit into a pipe";
  EXPECT_EQ(story.run(*box, sh("echo >/tmp/go")).exit.code, 0);
  process->close_input();
  story.until([&] { return heard.exit.has_value(); }, "the sum");
  EXPECT_EQ(process->unwritten_bytes(), 0U);
  const Ran sum = story.run(*box, {.argv = {"sha256sum"}, .input = all});
  EXPECT_EQ(heard.out, "up\n" + sum.out);
}

TEST_P(DriverCommands, Input_that_a_command_has_closed_is_dropped) {
  BoxStory story(options());
  const auto box = story.open();
  Heard heard(story);
  const auto process =
      box->start({.argv = {"bash", "-c", "exec <&-; echo shut; sleep 1000000.25"}, .keeps_input = true}, heard);
  story.until([&] { return heard.out == "shut\n"; }, "the command");
  process->write(std::string(1 << 20, 'x'));
  story.until([&] { return process->unwritten_bytes() == 0; }, "it to be given up");
  process->write("more");
  EXPECT_EQ(process->unwritten_bytes(), 0U);
  process->stop();
  story.until([&] { return heard.exit.has_value(); }, "the end");
  EXPECT_EQ(heard.exit->cause, ExitCause::stopped);
}

TEST_P(DriverCommands, The_environment_is_the_boxs_and_the_commands_and_nobody_elses) {
  setenv("SLUICE_TEST_CANARY", "must-not-come-in", 1);
  BoxStory story(options());
  const auto box = story.open({.environment = {{"COLOUR", "red"}, {"SHAPE", "round"}}});
  Command command = {.argv = {"env"}, .environment = {{"SHAPE", "square"}, {"TEXT", "a=b\nc"}}};
  const std::string out = "\n" + story.run(*box, command).out;
  EXPECT_NE(out.find("\nCOLOUR=red\n"), std::string::npos) << out;
  EXPECT_NE(out.find("\nSHAPE=square\n"), std::string::npos) << out;
  EXPECT_NE(out.find("\nTEXT=a=b\nc\n"), std::string::npos) << out;
  EXPECT_NE(out.find("\nPATH="), std::string::npos) << out;
  EXPECT_EQ(out.find("CANARY"), std::string::npos) << out;
  unsetenv("SLUICE_TEST_CANARY");
}

TEST_P(DriverCommands, A_command_starts_in_its_directory_as_an_ordinary_user) {
  BoxStory story(options());
  const auto box = story.open();
  EXPECT_EQ(story.run(*box, {.argv = {"pwd"}}).out, "/workspace\n");
  EXPECT_EQ(story.run(*box, sh("mkdir -p a/b")).exit.code, 0);
  EXPECT_EQ(story.run(*box, {.argv = {"pwd"}, .directory = "/workspace/a/b"}).out, "/workspace/a/b\n");
  EXPECT_EQ(story.run(*box, sh("id -u; id -g; cd && touch x && pwd")).out, "1000\n1000\n/home/agent\n");
}

TEST_P(DriverCommands, What_a_command_leaves_behind_does_not_hold_its_exit_back) {
  BoxStory story(options());
  const auto box = story.open();
  const Ran ran = story.run(*box, sh("sleep 9871 & echo first"));
  EXPECT_EQ(ran.out, "first\n");
  EXPECT_EQ(ran.exit.cause, ExitCause::exited);
}

TEST_P(DriverCommands, Many_at_once_do_not_mix) {
  BoxStory story(options());
  const auto box = story.open();
  std::vector<std::unique_ptr<Heard>> heard;
  std::vector<std::unique_ptr<Process>> processes;
  for (int i = 0; i < 30; ++i) {
    heard.push_back(std::make_unique<Heard>(story));
    processes.push_back(
        box->start(sh("echo " + std::to_string(i) + "; cat; exit " + std::to_string(i)), *heard.back()));
  }
  for (int i = 0; i < 30; ++i) {
    story.until([&] { return heard[i]->exit.has_value(); }, "command " + std::to_string(i));
    EXPECT_EQ(heard[i]->out, std::to_string(i) + "\n");
    EXPECT_EQ(heard[i]->exit->code, i);
    EXPECT_EQ(heard[i]->exits, 1);
  }
}

// All of it is a single line, which nothing gathers.
TEST_P(DriverCommands, A_paused_flood_of_a_gigabyte_waits_comes_in_pieces_and_costs_no_memory) {
  constexpr std::size_t all = std::size_t{1} << 30;
  const auto resident = [] {
    long pages = 0;
    std::ifstream("/proc/self/statm") >> pages >> pages;
    return pages * sysconf(_SC_PAGESIZE);
  };
  BoxStory story(options());
  const auto box = story.open();
  Heard heard(story);
  heard.keep_bytes_max = 0;
  const auto process = box->start({.argv = {"head", "-c", std::to_string(all), "/dev/zero"}}, heard);
  story.until([&] { return heard.bytes > 1 << 20; }, "the first of it");
  process->pause(true);
  const size_t at_pause = heard.bytes;
  const long before = resident();
  // Another command's whole life: long enough for a flood to go on.
  EXPECT_EQ(story.run(*box, sh("i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done")).exit.code, 0);
  EXPECT_EQ(heard.bytes, at_pause);
  EXPECT_FALSE(heard.exit);
  process->pause(false);
  story.until([&] { return heard.exit.has_value(); }, "the rest of it", std::chrono::seconds(120));
  EXPECT_EQ(heard.bytes, all);
  EXPECT_LE(heard.piece_bytes_most, 65536U);
  EXPECT_LT(resident() - before, 64L << 20);
}

// S-2: what a sandbox changed is seen from outside, also when it is dead, and the layers never know.
TEST_P(DriverCommands, Layers_are_seen_topmost_first_and_never_written) {
  BoxStory story(options());
  const std::string low =
      story.directory("low", {{"both", "low"}, {"only-low", "low"}, {"sub/deep", "low"}, {"gone", "low"}});
  const std::string top = story.directory("top", {{"both", "top"}});
  const auto box = story.open({.layers = {top, low}});
  EXPECT_EQ(story.run(*box, sh("cat both only-low sub/deep")).out, "toplowlow");
  EXPECT_EQ(story.run(*box, sh("echo changed > both; rm gone; mv sub moved; echo new > fresh")).exit.code, 0);
  EXPECT_EQ(story.run(*box, sh("cat both moved/deep fresh; ls gone 2>/dev/null")).out, "changed\nlownew\n");
  const auto text = [](const std::filesystem::path& path) {
    std::ifstream file(path);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  EXPECT_EQ(text(top + "/both"), "top");
  EXPECT_EQ(text(low + "/both"), "low");
  EXPECT_EQ(text(low + "/gone"), "low");
  EXPECT_EQ(text(low + "/sub/deep"), "low");
  EXPECT_FALSE(std::filesystem::exists(low + "/fresh") || std::filesystem::exists(top + "/fresh"));
}

std::string read_at(int directory, const char* name) {
  const int fd = openat(directory, name, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return "(none)";
  std::string text(100, '\0');
  text.resize(static_cast<size_t>(std::max<ssize_t>(0, read(fd, text.data(), text.size()))));
  ::close(fd);
  return text;
}

TEST_P(DriverCommands, The_workspace_and_its_changes_are_open_also_after_the_end) {
  BoxStory story(options());
  const std::string layer = story.directory("layer", {{"old", "old"}});
  const auto box = story.open({.layers = {layer}});
  EXPECT_EQ(story.run(*box, sh("printf made > made")).exit.code, 0);
  for (const bool is_dead : {false, true}) {
    if (is_dead) story.kill(*box);
    EXPECT_EQ(read_at(box->workspace_fd(), "old"), "old");
    EXPECT_EQ(read_at(box->workspace_fd(), "made"), "made");
    EXPECT_EQ(read_at(box->changes_fd(), "made"), "made");
    EXPECT_EQ(read_at(box->changes_fd(), "old"), "(none)");
  }
}

TEST_P(DriverCommands, What_is_bound_in_is_read_only) {
  BoxStory story(options());
  const std::string skill = story.directory("skill", {{"SKILL.md", "read me"}});
  const auto box = story.open({.binds = {{skill, "/skills/one"}}});
  EXPECT_EQ(story.run(*box, sh("cat /skills/one/SKILL.md")).out, "read me");
  EXPECT_NE(story.run(*box, sh("echo x > /skills/one/SKILL.md")).exit.code, 0);
  EXPECT_NE(story.run(*box, sh("touch /skills/one/new")).exit.code, 0);
  EXPECT_NE(story.run(*box, sh("rm -f /skills/one/SKILL.md")).exit.code, 0);
}

TEST_P(DriverCommands, An_agent_program_lies_elsewhere_on_the_host_and_runs_read_only) {
  std::string pattern = std::filesystem::temp_directory_path() / "sluice-programs-XXXXXX";
  const std::filesystem::path programs = mkdtemp(pattern.data());
  chmod(programs.c_str(), 0755);
  SandboxOptions chosen = options();
  chosen.harness_dir = programs;
  {
    BoxStory story(chosen);
    // Installed while the server runs.
    std::filesystem::create_directory(programs / "tool");
    std::ofstream(programs / "tool/run") << "#!/bin/sh\necho runs\n";
    chmod((programs / "tool/run").c_str(), 0755);
    std::filesystem::create_directory(programs / "other");
    const std::string skill = story.directory("skill", {{"SKILL.md", "read me"}});
    const auto box = story.open({.binds = {{programs / "tool", "/opt/harness/tool"}, {skill, "/skills/one"}}});
    EXPECT_EQ(story.run(*box, {.argv = {"/opt/harness/tool/run"}}).out, "runs\n");
    EXPECT_EQ(story.run(*box, sh("ls /opt/harness /skills")).out, "/opt/harness:\ntool\n\n/skills:\none\n");
    EXPECT_NE(story.run(*box, sh("echo x >> /opt/harness/tool/run || touch /opt/harness/x")).exit.code, 0);
    EXPECT_EQ(story.run(*story.open(), sh("ls /opt/harness")).out, "") << "only who asks for it";
    EXPECT_FALSE(story.try_open({.binds = {{programs / "none", "/opt/harness/none"}}}));
  }
  std::filesystem::remove_all(programs);
}

TEST_P(DriverCommands, A_request_may_not_name_what_lies_outside_the_state_directory) {
  BoxStory story(options());
  for (const std::string& outside :
       {std::string("/etc"), std::string("relative"), story.state_dir().string() + "/../.."}) {
    const auto layer = story.try_open({.layers = {outside}});
    ASSERT_FALSE(layer) << outside;
    EXPECT_EQ(layer.error().kind, ErrorKind::invalid) << layer.error().what;
    const auto bind = story.try_open({.binds = {{outside, "/skills/x"}}});
    ASSERT_FALSE(bind) << outside;
    EXPECT_EQ(bind.error().kind, ErrorKind::invalid) << bind.error().what;
  }
}

INSTANTIATE_TEST_SUITE_P(, DriverCommands, testing::ValuesIn(drivers_here()), driver_name);

}  // namespace driver_command_contract_test
}  // namespace sluice::sandbox
