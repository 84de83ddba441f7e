// What happens when a sandbox session fails, is stopped, or is dropped.
#include "runner/session_fixture.h"

namespace sluice::sessions {
namespace session_fault_test {

using namespace runner;

using model::EventKind;
using model::Slug;
using sandbox::ExitCause;
using sandbox::FakeResult;
using Bodies = std::vector<std::string>;

FakeResult hanging(sandbox::FakeBox&, const sandbox::Command&) { return {.hangs = true}; }

TEST_F(SessionTest, When_no_box_can_be_opened_the_run_and_its_step_fail_and_say_why) {
  sandbox->open_fails_with = Error{ErrorKind::overloaded, "too many boxes"};
  begin("$ ls");
  expect_problem(Slug::sandbox_failed, "too many boxes");
  ASSERT_EQ(steps().size(), 2u);
  EXPECT_NE(steps()[1].find(R"("status":"failed","error":"No sandbox could be opened: too many boxes.")"),
            std::string::npos);
}

TEST_F(SessionTest, When_the_box_is_lost_its_step_fails_and_the_run_too) {
  script = hanging;
  begin("say Hm.\n$ ls");
  box().lose("the kernel took it");
  loop.settle();
  expect_problem(Slug::sandbox_failed, "The sandbox went away: the kernel took it.");
  ASSERT_EQ(steps().size(), 2u);
  EXPECT_NE(steps()[1].find(R"("error":"the sandbox went away: the kernel took it")"), std::string::npos);
  EXPECT_TRUE(layers().empty());
}

TEST_F(SessionTest, When_the_box_is_lost_between_two_calls_the_run_fails_at_once) {
  begin("$ ls\nsleep 1000\n$ ls");
  box().lose("gone");
  loop.settle();
  expect_problem(Slug::sandbox_failed, "gone");
}

TEST_F(SessionTest, Stopping_does_not_wait_for_a_box_that_is_still_being_opened) {
  sandbox->hold_opens = true;
  begin("$ ls");
  bool gone = false;
  work->stop([&] { gone = true; });
  work.reset();
  loop.settle();
  EXPECT_TRUE(gone);
  EXPECT_EQ(sandbox->given_up, 1);
}

TEST_F(SessionTest, A_box_whose_end_cannot_be_proven_fails_the_run) {
  sandbox->kill_fails_with = Error{ErrorKind::unavailable, "waited 30 s for its processes to end"};
  begin("write kept.txt: no");
  expect_problem(Slug::sandbox_failed, "The sandbox could not be ended: waited 30 s for its processes to end.");
  EXPECT_TRUE(layers().empty()) << "something could still write there";
}

// A disk or a tenant decides how long it takes, and the run ends all the same.
TEST_F(SessionTest, A_run_whose_workspace_is_not_kept_in_time_fails_and_leaves_nothing) {
  std::vector<std::string> late;
  for (int answered = 0; answered < 3; ++answered) {
    heard = {};
    script = [&](sandbox::FakeBox& box, const sandbox::Command&) {
      put(box.workspace() + "/kept.txt", "no");
      put(box.changes() + "/kept.txt", "no");
      workers.answered_until_held = answered;
      return FakeResult{};
    };
    begin("$ work");
    if (heard.is_over()) continue;  // fewer jobs than that
    pass(options.sessions.keep_ms_max - 1);
    EXPECT_FALSE(heard.is_over());
    pass(1);
    ASSERT_TRUE(heard.problem);
    EXPECT_EQ(model::entry_of(heard.problem->slug).name, model::entry_of(Slug::writeback_failed).name);
    EXPECT_NE(heard.problem->detail.find("took longer than 300 s"), std::string::npos) << heard.problem->detail;
    late.push_back(heard.problem->detail);
    work.reset();
    EXPECT_GT(workers.held(), 0u);
    workers.release();
    loop.settle();
    EXPECT_TRUE(layers().empty()) << "what comes late is not kept: " << layers().front();
    expect_nothing_left();
  }
  ASSERT_GE(late.size(), 2u);
  EXPECT_NE(late[0].find("comparing the workspace with what it was took"), std::string::npos) << late[0];
  EXPECT_NE(late[1].find("copying the workspace took"), std::string::npos) << late[1];
}

TEST_F(SessionTest, A_run_that_waits_for_its_workspace_can_be_stopped_and_the_work_on_it_stops_too) {
  script = [&](sandbox::FakeBox& box, const sandbox::Command&) {
    put(box.changes() + "/kept.txt", "no");
    workers.answered_until_held = 0;
    return FakeResult{};
  };
  begin("$ work");
  ASSERT_FALSE(heard.is_over());
  bool gone = false;
  work->stop([&] { gone = true; });
  work.reset();
  loop.settle();
  EXPECT_TRUE(gone) << "whatever its workers do";
  workers.release();
  loop.settle();
  EXPECT_TRUE(layers().empty());
  expect_nothing_left();
}

// S-10
TEST_F(SessionTest, Stopping_kills_the_box_and_is_over_when_that_is_proven) {
  script = hanging;
  begin("write kept.txt: no\n$ serve");
  const auto event_count = heard.events.size();
  sandbox->hold_kills = true;
  bool gone = false;
  work->stop([&] { gone = true; });
  work.reset();
  loop.settle();
  EXPECT_FALSE(gone) << "not before the proof";
  EXPECT_EQ(sandbox->boxes.size(), 1u);
  EXPECT_TRUE(box().killed);
  sandbox->release_kills();
  loop.settle();
  EXPECT_TRUE(gone);
  EXPECT_TRUE(sandbox->boxes.empty());
  EXPECT_EQ(heard.events.size(), event_count) << "nothing more is heard";
  EXPECT_TRUE(layers().empty()) << "and nothing is written back";
  expect_nothing_left();
}

TEST_F(SessionTest, Stopping_is_exact_wherever_the_run_stood) {
  materials.setup_script = "true";
  supplies->wants = true;
  for (int turns = 0; turns < 60; ++turns) {
    heard = {};
    runner = nullptr;
    runner = make_native_runner(options, {client, loop, entropy, log, metrics, sandbox.get(), &watcher, &workers});
    work = runner->dispatch(dispatch_of("write a.txt: " + std::to_string(turns) + "\n$ ls\nsay Done."), heard);
    bool stepped = true;
    for (int i = 0; i < turns && stepped && !heard.is_over(); ++i) stepped = loop.step();
    if (heard.is_over()) break;
    const auto event_count = heard.events.size();
    bool gone = false;
    work->stop([&] { gone = true; });
    EXPECT_FALSE(gone) << "not from inside";
    work.reset();
    loop.settle();
    EXPECT_TRUE(gone) << turns;
    EXPECT_EQ(heard.events.size(), event_count) << turns;
    EXPECT_TRUE(sandbox->boxes.empty()) << turns;
    EXPECT_TRUE(layers().empty()) << turns;
    expect_nothing_left();
  }
  EXPECT_TRUE(heard.usage) << "the run was reported to its end";
}

TEST_F(SessionTest, Dropped_work_is_quiet_and_leaves_nothing_wherever_it_stood) {
  materials.setup_script = "true";
  supplies->wants = true;
  for (std::size_t after = 1; after < 40; ++after) {
    heard = {};
    heard.after_event = [&] {
      if (heard.events.size() == after) work.reset();
    };
    begin("write a.txt: x\n$ ls\nsay Done.");
    loop.settle();
    if (heard.is_over()) break;
    EXPECT_EQ(heard.events.size(), after);
    EXPECT_TRUE(sandbox->boxes.empty()) << after;
    expect_nothing_left();
  }
  EXPECT_TRUE(heard.usage);
}

TEST_F(SessionTest, A_run_whose_time_is_up_is_killed_with_all_it_does) {
  agent.limits.max_runtime_seconds = 2;
  script = hanging;
  begin("$ sleep 60");
  pass(2'000);
  expect_problem(Slug::runtime_exceeded);
  EXPECT_TRUE(sandbox->boxes.empty());
  ASSERT_EQ(steps().size(), 2u) << "a step that began has an end";
}

TEST_F(SessionTest, A_command_ends_when_its_time_is_up_and_the_run_goes_on) {
  script = hanging;
  begin("call bash {\"command\":\"x\",\"timeout_ms\":50}\nsay {{last}}");
  pass(50);
  EXPECT_EQ(heard.text(), "killed because it took longer than 50 ms");
  EXPECT_TRUE(heard.usage);
}

// S-7: the script runs before the model is asked, with the variables, and its words are in the log.
TEST_F(SessionTest, The_setup_script_runs_before_the_first_word) {
  materials.setup_script = "make deps";
  materials.variables = {{"MODE", "test"}};
  script = [this](auto&, auto&) {
    EXPECT_EQ(heard.text(), "");
    return FakeResult{.out = "fetching\n", .takes_ms = 30};
  };
  begin("say Ready.");
  EXPECT_EQ(heard.text(), "") << "the model waits for the script";
  EXPECT_EQ(box().request.environment, (std::map<std::string, std::string>{{"WORKSPACE_DIR", "/workspace"}}));
  pass(30);
  EXPECT_EQ(heard.text(), "Ready.");
  EXPECT_EQ(commands.at(0).argv, (Bodies{"bash", "-e", "-c", "make deps"}));
  EXPECT_EQ(commands.at(0).environment, (std::map<std::string, std::string>{{"MODE", "test"}}));
  EXPECT_EQ(commands.at(0).timeout_ms, options.sessions.setup_timeout_ms);
  EXPECT_NE(heard.all(EventKind::log).find(R"({"level":"info","text":"fetching"})"), std::string::npos);
  EXPECT_EQ(phases(), (Bodies{"sandbox", "setup", "run", "settle"}));
}

TEST_F(SessionTest, A_setup_script_that_fails_ends_the_run_before_the_model_is_asked) {
  materials.setup_script = "false";
  script = [](auto&, auto&) {
    return FakeResult{.err = "no such package\n", .exit = {.cause = ExitCause::exited, .code = 3}};
  };
  begin("say Ready.");
  expect_problem(Slug::setup_failed, "no such package\nexit code 3");
  EXPECT_EQ(heard.text(), "");
  EXPECT_EQ(phases(), (Bodies{"sandbox", "setup"})) << "how long it took is reported also then";
}

// S-7
TEST_F(SessionTest, Without_a_sandbox_a_run_that_needs_one_fails_at_once) {
  runner = make_native_runner(options, {client, loop, entropy, log, metrics});
  const auto fails = [this](dispatch::Materials given) {
    heard = {};
    materials = std::move(given);
    begin("say Hello.");
    expect_problem(Slug::sandbox_failed, "there is none on this server (`sluice doctor` says why)");
    EXPECT_EQ(heard.text(), "");
  };
  fails({.repository = dispatch::RepositoryUse{.id = "rep_1", .url = "https://git.example/app.git"}});
  fails({.skills = {{.id = "skl_1", .name = "counting"}}});
  fails({.setup_script = "true"});
  heard = {};
  materials = {};
  materials.variables = {{"MODE", "test"}};
  begin("say Hello.");
  EXPECT_EQ(heard.text(), "Hello.");
  EXPECT_TRUE(heard.usage);
}

}  // namespace session_fault_test
}  // namespace sluice::sessions
