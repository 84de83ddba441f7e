// The same story, with a misfortune at every write: the disk that fails, and the server that dies.
#include <algorithm>

#include "flow/flows_fixture.h"

namespace sluice::flow {
namespace crash_test {

using net::FakeAnswer;

const std::string story = definition_of(
    agents_block("draft", "Write.") +
        R"(,{"id":"long","type":"condition","left":"{{blocks.draft.response}}",)"
        R"("op":"contains","right":"rain"},)" +
        http_block("send", "PUT", R"(,"body":"{{blocks.draft.response}}")") + "," + agents_block("sorry", "No.") +
        R"(,{"id":"sum","type":"inference","prompt":"Sum up {{blocks.send.response}}"})",
    R"({"from":"draft","to":"long"},{"from":"long","to":"send","when":true},)"
    R"({"from":"long","to":"sorry","when":false},{"from":"send","to":"sum"},{"from":"sorry","to":"sum"})",
    R"(,"outputs":{"text":"{{blocks.sum.response}}"})");

class CrashTest : public FlowsTest {
 protected:
  // The agent answers its requests once, as far as the server lives to receive the answer. False if there was no
  // request.
  bool answer() {
    const auto job = dispatcher.jobs.empty() ? nullptr : dispatcher.jobs.back();
    if (job == nullptr || job->listener == nullptr || job == answered_) return false;
    answered_ = job;
    const auto& work = job->dispatch;
    asked_.push_back(work.prompt);
    if (work.told_text.empty()) {
      job->listener->on_event({model::EventKind::text, loop.now(), work.prompt == "Write." ? "It rains." : "Wet."});
      loop.settle();
    }
    if (job->listener != nullptr) job->listener->on_finished({});
    loop.settle();
    return true;
  }
  // Lets time pass, and the agent answer, until the run is over.
  void play(const model::WorkflowRun& run) {
    for (int i = 0; i < 100 && status_of(run) == "running"; ++i) {
      if (!answer()) loop.advance({1'000});
    }
  }
  void expect_the_end(const model::WorkflowRun& run, const std::string& when) {
    const auto over = stored(run);
    EXPECT_EQ(over.status, model::WorkflowRunStatus::succeeded) << when << (over.error ? over.error->message : "");
    EXPECT_EQ(over.outputs, R"({"text":"Wet."})") << when;
    // What was asked is asked again only where the answer had not been written.
    asked_.erase(std::unique(asked_.begin(), asked_.end()), asked_.end());
    EXPECT_EQ(asked_, (std::vector<std::string>{"Write.", "Sum up sent"})) << when;
    EXPECT_EQ(text_of_lines(lines_of(run)),
              "run.started, block.started draft, block.line draft, block.finished draft succeeded, block.started long, "
              "block.finished long succeeded, block.started send, block.finished send succeeded, block.finished sorry "
              "skipped, block.started sum, block.line sum, block.finished sum succeeded, run.finished succeeded")
        << when;
    asked_.clear();
  }
  model::WorkflowRun the_unfinished_run() {
    model::WorkflowRun found;
    store::unfinished_workflow_runs(store->database(), [&](const Result<std::vector<model::WorkflowRun>>& runs) {
      ASSERT_TRUE(runs && runs.value().size() == 1);
      found = runs.value()[0];
    });
    loop.settle();
    return found;
  }
  void offer_answers() {
    for (int i = 0; i < 10; ++i) client.answer(FakeAnswer::whole(200, "sent"));
  }

  std::vector<std::string> asked_;
  std::shared_ptr<engine::ScriptedDispatcher::Job> answered_;
};

class FaultTest : public CrashTest, public testing::WithParamInterface<store::Fault> {};

INSTANTIATE_TEST_SUITE_P(Faults, FaultTest,
                         testing::Values(store::Fault::before_write, store::Fault::after_write, store::Fault::full));

TEST_P(FaultTest, Every_write_may_fail_and_the_story_ends_the_same) {
  dispatcher.resumable = true;
  for (int n = 0;; ++n) {
    const auto when = "write " + std::to_string(n);
    const auto workflow = keep(story, when);
    offer_answers();
    const auto run = start_ok(workflow);
    const int before = disk.write_count();
    disk.fail_write(n, GetParam());
    play(run);
    expect_the_end(run, when);
    if (disk.write_count() - before > n) continue;
    EXPECT_GT(n, 8) << "the story is over before this write";
    return;
  }
}

TEST_F(CrashTest, The_server_may_die_after_every_write_and_the_story_ends_the_same) {
  dispatcher.resumable = true;
  for (int n = 0;; ++n) {
    const auto when = "death after write " + std::to_string(n);
    const auto workflow = keep(story, when);
    offer_answers();
    const int before = disk.write_count();
    // The write succeeds, but its outcome is not reported, because the server is dead by then.
    disk.fail_write(n, store::Fault::after_write);
    const auto outcome = start(workflow);
    const auto* begun = std::get_if<model::WorkflowRun>(&outcome);
    const auto run = begun != nullptr ? *begun : the_unfinished_run();
    while (disk.write_count() - before <= n && status_of(run) == "running" && answer()) {
    }
    const bool died = disk.write_count() - before > n;
    restart();
    play(run);
    expect_the_end(run, when);
    if (died) continue;
    EXPECT_GT(n, 8) << "the story is over before this write";
    return;
  }
}

TEST_F(CrashTest, A_run_is_made_once_although_its_server_died_between_naming_and_making_it) {
  const auto workflow = keep(definition_of(agents_block("a", "x")));
  // start_run and block.started are written; the run's acceptance is not.
  disk.fail_write(2, store::Fault::before_write);
  const auto run = start_ok(workflow);
  EXPECT_TRUE(dispatcher.jobs.empty());
  const auto named = stored(run).blocks[0].run_id;
  restart();
  ASSERT_EQ(dispatcher.jobs.size(), 1U);
  EXPECT_EQ(last_dispatch().run, named);
  EXPECT_EQ(stored(run).blocks[0].run_id, named);
  agent_answers("Done.");
  EXPECT_EQ(status_of(run), "succeeded");
}

TEST_F(CrashTest, A_crash_between_cancelling_a_run_and_writing_so_still_cancels_the_workflow) {
  const auto run = start_ok(definition_of(agents_block("a", "x")));
  const auto block_run = stored_run({.id = *stored(run).blocks[0].run_id});
  close_flows();  // it hears nothing of what follows
  EXPECT_EQ(cancel(block_run), 1U);
  restart();
  EXPECT_EQ(status_of(run), "cancelled");
}

TEST_F(CrashTest, A_run_whose_journal_is_damaged_does_not_keep_others_from_going_on) {
  const auto good = start_ok(keep(definition_of(agents_block("a", "x")), "good"));
  const auto bad = start_ok(keep(definition_of(agents_block("a", "x")), "bad"));
  auto damaged = stored(bad);
  store::append_to_workflow_run(store->database(), {damaged, {"not an event"}},
                                [](const Result<model::WorkflowRun>& done) { ASSERT_TRUE(done); });
  loop.settle();
  dispatcher.resumable = true;
  restart();
  for (const auto& job : dispatcher.jobs) {
    if (job->listener != nullptr) job->listener->on_finished({});
  }
  loop.settle();
  EXPECT_EQ(status_of(good), "succeeded");
  EXPECT_EQ(status_of(bad), "running");
}

}  // namespace crash_test
}  // namespace sluice::flow
