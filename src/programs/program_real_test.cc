// A real process in a real box that speaks a real protocol: H-1, H-3, H-5.
#include "runner/real_session_fixture.h"

namespace sluice::programs {
namespace program_real_test {

using namespace runner;

using model::EventKind;

class ProgramReal : public RealSession {
 protected:
  ProgramReal() {
    const auto folder = std::filesystem::path(state_dir) / "acp";
    std::filesystem::create_directories(folder);
    std::filesystem::copy(std::filesystem::path(__FILE__).parent_path() / "testdata" / "acp_agent.py", folder);
    std::filesystem::permissions(folder, std::filesystem::perms(0755));
    std::filesystem::permissions(folder / "acp_agent.py", std::filesystem::perms(0644));
    options.programs.find = [folder](const std::string&) { return ProgramOptions::Place{"", folder}; };
  }

  // To its end, or to a gate.
  void begin(std::string prompt, std::string checkpoint = {}) {
    heard.events.clear();
    heard.usage.reset();
    heard.problem.reset();
    dispatch::Dispatch dispatch;
    if (checkpoint.empty()) ++run_count;
    dispatch.run.ulid.bytes[15] = run_count;
    dispatch.conversation.ulid.bytes[15] = 1;
    dispatch.agent.kit.agent_type = "acp";
    dispatch.agent.kit.command = command;
    dispatch.agent.model = {.provider = "offline", .name = "offline"};
    dispatch.agent.limits.max_runtime_seconds = 60;
    dispatch.agent.policy = policy;
    dispatch.may_ask = true;
    dispatch.prompt = std::move(prompt);
    dispatch.checkpoint = std::move(checkpoint);
    if (!runner) {
      runner = make_native_runner(
          options, {*client, *reactor, entropy, log, metrics, sandbox.get(), watcher.get(), workers.get()});
    }
    waiting.stop = [this] { reactor->stop(); };
    work = runner->dispatch(std::move(dispatch), waiting);
    reactor->run();
  }

  // Stops the reactor at a gate too.
  struct Waiting final : dispatch::DispatchListener {
    explicit Waiting(HeardDispatch& to) : heard(to) {}
    void on_event(model::RunEvent event) override { heard.on_event(std::move(event)); }
    void on_finished(model::Usage usage) override { heard.on_finished(usage); }
    void on_failed(model::Problem problem) override { heard.on_failed(std::move(problem)); }
    void on_gate(dispatch::Gate gate) override {
      heard.on_gate(std::move(gate));
      stop();
    }
    HeardDispatch& heard;
    std::function<void()> stop;
  };

  model::Policy policy;
  std::vector<std::string> command = {"python3", "/opt/harness/acp/acp_agent.py"};
  Waiting waiting{heard};
};

TEST_F(ProgramReal, H_1_H_3_A_turn_in_a_real_box_and_the_next_one_with_its_session) {
  begin("say Hello. \nremember blue\nrun echo hi > a.txt; cat a.txt\nsay Done.");
  ASSERT_FALSE(heard.problem) << heard.problem->detail;
  EXPECT_EQ(heard.text(), "Hello. Done.");
  EXPECT_TRUE(was_told(EventKind::custom, R"({"name":"acp.session-id","value":{"sessionId":"tiny-1"}})"));
  EXPECT_TRUE(was_told(EventKind::step, R"("status":"succeeded","result":"hi)"));
  EXPECT_TRUE(was_told(EventKind::diff, "+hi"));
  EXPECT_FALSE(was_told(EventKind::diff, ".sluice"));
  EXPECT_FALSE(was_told(EventKind::file, ".sluice"));
  begin("recall");
  ASSERT_FALSE(heard.problem) << heard.problem->detail;
  EXPECT_EQ(heard.text(), "blue");
}

TEST_F(ProgramReal, H_5_A_permission_waits_without_the_process_and_is_answered_when_the_call_comes_again) {
  policy = {{.effect = model::Effect::ask, .subject = model::Subject::command, .pattern = "touch *"}};
  begin("run touch b.txt");
  ASSERT_TRUE(heard.gate) << (heard.problem ? heard.problem->detail : "");
  EXPECT_EQ(heard.gate->items[0].description, "Run: touch b.txt");
  EXPECT_FALSE(was_told(EventKind::diff, "b.txt"));
  const auto gate = *std::exchange(heard.gate, std::nullopt);
  begin("run touch b.txt", gate.checkpoint);
  ASSERT_FALSE(heard.problem) << heard.problem->detail;
  EXPECT_TRUE(was_told(EventKind::step, R"("id":"step_1","name":"execute","status":"succeeded")"));
  EXPECT_EQ(heard.bodies(EventKind::step).size(), 1u) << "it was reported as running before the wait";
  EXPECT_TRUE(was_told(EventKind::diff, "b.txt"));
}

TEST_F(ProgramReal, H_5_What_the_policy_denies_does_not_happen) {
  policy = {{.effect = model::Effect::deny, .subject = model::Subject::command, .pattern = "touch *"}};
  begin("run touch b.txt\nsay Well.");
  ASSERT_FALSE(heard.problem) << heard.problem->detail;
  EXPECT_TRUE(was_told(EventKind::step, R"("status":"failed")"));
  EXPECT_FALSE(was_told(EventKind::diff, "b.txt"));
}

TEST_F(ProgramReal, Nonsense_and_a_line_of_50_MB_do_not_keep_a_turn_from_its_end) {
  begin("say One. \nbabble\nflood 50000000\nsay Two.");
  ASSERT_FALSE(heard.problem) << heard.problem->detail;
  EXPECT_EQ(heard.text(), "One. Two.");
}

TEST_F(ProgramReal, One_that_exits_0_without_a_result_has_failed_in_words) {
  begin("say One.\nvanish 0");
  ASSERT_TRUE(heard.problem);
  EXPECT_NE(heard.problem->detail.find("exited with code 0"), std::string::npos) << heard.problem->detail;
}

TEST_F(ProgramReal, What_it_leaves_behind_does_not_outlive_its_run) {
  begin("fork 3600\nsay Done.");
  ASSERT_FALSE(heard.problem) << heard.problem->detail;
  EXPECT_EQ(heard.text(), "Done.");
}

TEST_F(ProgramReal, One_that_is_not_there_has_failed_in_words) {
  command = {"/opt/harness/acp/no-such-agent"};
  begin("say Hello.");
  ASSERT_TRUE(heard.problem);
  EXPECT_EQ(heard.problem->slug, model::Slug::agent_failed) << heard.problem->detail;
  EXPECT_NE(heard.problem->detail.find("could not be started"), std::string::npos) << heard.problem->detail;
}

}  // namespace program_real_test
}  // namespace sluice::programs
