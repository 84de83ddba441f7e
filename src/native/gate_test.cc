// A run that needs a human waits, with its box or without, and goes on where it stood: I-14, I-16, I-17, I-21.
#include "native/loop_checkpoint.h"
#include "runner/gate_fixture.h"

namespace sluice::native {
namespace gate_test {

using namespace runner;

using model::EventKind;
using model::ItemKind;
using model::Slug;
using model::Subject;
using Bodies = std::vector<std::string>;

INSTANTIATE_TEST_SUITE_P(Placements, GateTest, testing::Values(Placement::pooled, Placement::sticky),
                         name_of_placement);

// I-14, I-16, I-17
TEST_P(GateTest, I_14_A_run_waits_for_a_secret_and_continues_knowing_its_alias_only) {
  begin(
      "put Starting the reconciliation. \n"
      "need CRM_API_KEY: API key for the CRM system because The CRM lookup requires a credential that is not on file "
      "for this conversation.\n"
      "put Reconciled 14 invoices against the CRM using {{secret:CRM_API_KEY}}.");
  ASSERT_TRUE(heard.gate);
  EXPECT_EQ(heard.gate->reason, "The CRM lookup requires a credential that is not on file for this conversation.");
  EXPECT_EQ(heard.gate->items,
            (std::vector<model::RequestedItem>{
                {.kind = ItemKind::secret, .description = "API key for the CRM system", .alias = "CRM_API_KEY"}}));
  EXPECT_EQ(heard.bodies(EventKind::text), (Bodies{"Starting the reconciliation. "}));
  approve({{.alias = "CRM_API_KEY", .value = "example-value"}});
  EXPECT_EQ(heard.bodies(EventKind::text),
            (Bodies{"Starting the reconciliation. ",
                    "Reconciled 14 invoices against the CRM using {{secret:CRM_API_KEY}}."}));
  ASSERT_TRUE(heard.usage);
  ASSERT_EQ(steps().size(), 2u) << "one step, that ran while the human thought";
  EXPECT_NE(steps()[1].find(R"("id":"step_1","name":"request_secret","status":"succeeded","result":"Approved. )"),
            std::string::npos);
  expect_nothing_left();
}

// I-21
TEST_P(GateTest, I_21_The_workspace_is_kept_and_the_diff_covers_the_whole_run) {
  supplies->wants = true;
  begin(
      "write a.txt: one\nwrite assets/r.txt: x\nask May I?\nread a.txt\nsay {{last}}\nwrite b.txt: two\nask More?\n"
      "read b.txt\nsay {{last}} {{last}}\ncall list {}");
  approve();
  ASSERT_TRUE(heard.gate) << "a run may wait several times";
  approve();
  ASSERT_TRUE(heard.usage) << (heard.problem ? heard.problem->detail : "");
  EXPECT_EQ(heard.text(), "one\ntwo two");
  const auto diffs = heard.bodies(EventKind::diff);
  ASSERT_EQ(diffs.size(), 1u);
  EXPECT_NE(diffs[0].find("+one"), std::string::npos) << diffs[0];
  EXPECT_NE(diffs[0].find("+two"), std::string::npos) << diffs[0];
  ASSERT_TRUE(supplies->taken);
  EXPECT_EQ(supplies->taken->size(), 1u);
  EXPECT_EQ(supplies->text, "one\ntwo two");
  EXPECT_EQ(layers(), (Bodies{"0001"})) << "what was held meanwhile is gone";
}

TEST_P(GateTest, What_was_changed_counts_also_when_no_tool_is_used_after_the_wait) {
  begin("write a.txt: one\nask May I?\nsay Done.");
  approve();
  ASSERT_TRUE(heard.usage);
  EXPECT_EQ(heard.bodies(EventKind::diff).size(), 1u);
  EXPECT_EQ(layers(), (Bodies{"0001"}));
  heard = {};
  begin("read a.txt\nsay {{last}}");
  EXPECT_EQ(heard.text(), "one");
}

TEST_P(GateTest, A_run_that_fails_after_its_wait_leaves_the_workspace_as_it_was) {
  begin("write a.txt: before");
  heard = {};
  begin("write a.txt: after\nask May I?\nread a.txt\nfail 400 no");
  approve();
  expect_problem(Slug::model_error);
  EXPECT_EQ(layers(), (Bodies{"0001"}));
  heard = {};
  begin("read a.txt\nsay {{last}}");
  EXPECT_EQ(heard.text(), "before");
}

TEST_P(GateTest, A_run_that_is_denied_leaves_the_workspace_as_it_was) {
  begin("write a.txt: before");
  heard = {};
  begin("write a.txt: after\nask May I?\nsay Never.");
  ASSERT_TRUE(heard.gate);
  if (keeps_box) work->stop([] {});
  work.reset();
  runner->forget_parked(last.run, last.conversation);
  loop.settle();
  EXPECT_EQ(layers(), (Bodies{"0001"}));
  EXPECT_TRUE(sandbox->boxes.empty());
}

TEST_P(GateTest, After_the_servers_death_another_resumes_from_the_checkpoint) {
  begin("write a.txt: one\nask May I?\nread a.txt\nsay {{last}}");
  ASSERT_TRUE(heard.gate);
  const auto checkpoint = std::exchange(heard.gate, std::nullopt)->checkpoint;
  work.reset();
  runner.reset();
  loop.settle();
  EXPECT_TRUE(sandbox->boxes.empty());
  runner =
      make_native_runner(options, {client, loop, entropy, log, metrics, sandbox.get(), &watcher, &workers, egress});
  go_on_from(checkpoint);
  ASSERT_TRUE(heard.usage) << (heard.problem ? heard.problem->detail : "");
  EXPECT_EQ(heard.text(), "one");
  EXPECT_EQ(heard.bodies(EventKind::diff).size(), 1u);
  EXPECT_EQ(layers(), (Bodies{"0001"}));
}

TEST_P(GateTest, The_time_of_a_run_does_not_pass_while_it_waits) {
  agent.limits.max_runtime_seconds = 10;
  begin("sleep 6000\nask May I?\nsleep 3000\nsay Done.\nsleep 2000\nsay Never.");
  pass(6'000);
  ASSERT_TRUE(heard.gate);
  pass(3'600'000);
  approve();
  pass(3'000);
  EXPECT_EQ(heard.text(), "Done.");
  pass(1'000);
  expect_problem(Slug::runtime_exceeded);
}

TEST_P(GateTest, Filler_stops_while_it_waits_and_continues_afterwards) {
  options.filler = {.phrases = {"One.", "Two.", "Three."}, .first_ms = 100, .every_ms = 100};
  auto dispatch = dispatch_of("sleep 150\nask May I?\nsleep 150\nput Done.");
  dispatch.filler = true;
  begin(std::move(dispatch));
  pass(150);
  ASSERT_TRUE(heard.gate);
  pass(10'000);
  approve();
  pass(150);
  EXPECT_EQ(heard.bodies(EventKind::filler), (Bodies{"One. ", "Two. "}));
  EXPECT_TRUE(heard.usage);
}

TEST_P(GateTest, Steps_and_rounds_go_on_where_they_were) {
  use_provider();
  client.answer(answer_of(said("Hm.") + called("request_approval") + stopped(5, 5)));
  client.answer(answer_of(said("Done.") + stopped(7, 7)));
  begin("Go.");
  pass(0);
  EXPECT_EQ(heard.gate_count, 0) << "its arguments lack a reason";
  EXPECT_EQ(heard.text(), "Hm.\n\nDone.");
  EXPECT_EQ(heard.usage, (model::Usage{12, 12}));
}

// ── what may be asked ──

TEST_P(GateTest, Approvals_are_asked_in_the_agent_s_words) {
  begin(
      "call request_approval {\"reason\":\"It is late.\",\"items\":[{\"description\":\"a\"},{\"description\":\"b\"}],"
      "\"expires_in_seconds\":60}\nsay {{last}}");
  ASSERT_TRUE(heard.gate);
  EXPECT_EQ(heard.gate->reason, "It is late.");
  EXPECT_EQ(heard.gate->items, (std::vector<model::RequestedItem>{{.description = "a"}, {.description = "b"}}));
  EXPECT_EQ(heard.gate->lifetime_seconds, 60);
  approve();
  EXPECT_EQ(heard.text(), "Approved.");
  EXPECT_EQ(sandbox->opened, 0);
}

TEST_P(GateTest, There_is_no_such_tool_where_no_approval_can_be_asked_for) {
  may_ask = false;
  begin("ask May I?\nsay {{last}}");
  EXPECT_EQ(heard.text(), "There is no tool named request_approval. Go on without it.");
}

TEST_P(GateTest, A_secret_on_file_is_not_asked_for) {
  secrets->replace({{.alias = "TOKEN", .value = "very-hidden"}});
  begin("need TOKEN: it\nsay {{last}}");
  EXPECT_TRUE(heard.text().starts_with("{{secret:TOKEN}} is on file: write {{secret:TOKEN}}")) << heard.text();
  EXPECT_EQ(heard.gate_count, 0);
}

TEST_P(GateTest, Arguments_that_make_no_sense_are_said_so) {
  const std::pair<const char*, const char*> cases[] = {
      {"call request_approval {}", "request_approval needs the argument \"reason\"."},
      {"call request_approval {\"reason\":\"\"}", "reason must not be empty."},
      {"call request_approval {\"reason\":1}", "reason must be of type string, not integer."},
      {"call request_approval {\"reason\":\"x\",\"why\":1}", "request_approval has no argument \"why\"."},
      {"call request_approval {\"reason\":\"x\",\"items\":[1]}",
       "Each of items must be an object with a description, a string, and nothing else."},
      {"call request_approval {\"reason\":\"x\",\"action\":\"y\",\"items\":[]}", "Give items or action, not both."},
      {"call request_approval {\"reason\":\"x\",\"expires_in_seconds\":0}",
       "expires_in_seconds must be from 1 to 2592000."},
      {"call request_secret {\"alias\":\"token\",\"description\":\"x\"}",
       "alias must be upper-case letters, digits and _, beginning with a letter, at most 64 characters."},
      {"call request_secret {\"alias\":\"TOKEN\",\"description\":\"x\",\"hosts\":[1]}", "hosts must be strings."},
  };
  for (const auto& [line, words] : cases) {
    heard = {};
    begin(std::string(line) + "\nsay {{last}}");
    EXPECT_EQ(heard.text(), words);
    EXPECT_TRUE(heard.usage);
  }
}

// ── policy ──

TEST_P(GateTest, What_the_policy_denies_is_refused_in_words) {
  forbid(Subject::tool, "glob", "no looking around");
  forbid(Subject::command, "rm *");
  forbid(Subject::file, "/workspace/.env");
  const std::pair<const char*, const char*> cases[] = {
      {"call glob {\"pattern\":\"*\"}", "refused by policy: no looking around"},
      {"$ rm -rf x", "refused by policy: the rule on \"rm *\""},
      {"read sub/../.env", "refused by policy: the rule on \"/workspace/.env\""},
      {"call list {\"path\":\".env\"}", "refused by policy: the rule on \"/workspace/.env\""},
      {"call grep {\"pattern\":\"x\",\"path\":\".env\"}", "refused by policy: the rule on \"/workspace/.env\""},
  };
  for (const auto& [line, words] : cases) {
    heard = {};
    begin(std::string(line) + "\nsay {{last}}");
    EXPECT_EQ(heard.text(), words) << line;
  }
  EXPECT_EQ(sandbox->opened, 0);
}

TEST_P(GateTest, What_the_policy_asks_about_is_done_once_a_human_agreed) {
  ask_about(Subject::command, "deploy*", "Deployments are serious.");
  script = [](auto&, auto&) { return sandbox::FakeResult{.out = "deployed"}; };
  begin("$ deploy now\nsay {{last}}");
  ASSERT_TRUE(heard.gate);
  EXPECT_EQ(heard.gate->reason, "Deployments are serious.");
  EXPECT_EQ(heard.gate->items, (std::vector<model::RequestedItem>{
                                   {.description = "Run: deploy now",
                                    .call = model::ClientCall{"step_1", "bash", R"({"command":"deploy now"})"}}}));
  EXPECT_TRUE(commands.empty());
  approve();
  EXPECT_EQ(heard.text(), "deployed");
  EXPECT_EQ(commands.size(), 1u);
}

TEST_P(GateTest, What_needs_approval_is_refused_where_none_can_be_asked_for) {
  may_ask = false;
  ask_about(Subject::tool, "bash");
  begin("$ ls\nsay {{last}}");
  EXPECT_TRUE(heard.text().starts_with("refused by policy: a human would have to be asked")) << heard.text();
}

// ── checkpoints ──

TEST_P(GateTest, A_checkpoint_that_cannot_be_read_interrupts_the_run_in_words) {
  begin("ask May I?");
  ASSERT_TRUE(heard.gate);
  const auto good = std::exchange(heard.gate, std::nullopt)->checkpoint;
  auto other = good;
  other.replace(other.find("\"version\":1"), 11, "\"version\":9");
  for (const std::string& bad : {std::string("{"), std::string("{}"), other, good.substr(0, good.size() / 2)}) {
    heard = {};
    go_on_from(bad);
    expect_problem(Slug::run_interrupted, "its checkpoint cannot be read");
  }
}

TEST_P(GateTest, A_run_whose_changes_are_gone_is_interrupted_and_does_nothing) {
  begin("write a.txt: one\nask May I?\n$ ls");
  ASSERT_TRUE(heard.gate);
  const auto checkpoint = std::exchange(heard.gate, std::nullopt)->checkpoint;
  work.reset();
  runner->forget_parked(last.run, last.conversation);
  loop.settle();
  go_on_from(checkpoint);
  expect_problem(Slug::run_interrupted, "what the run changed before it waited is gone");
  EXPECT_TRUE(commands.empty());
}

TEST_P(GateTest, The_next_server_learns_for_which_runs_something_is_kept) {
  begin("write a.txt: one\nask May I?\nwrite b.txt: two\nask More?");
  approve();
  ASSERT_TRUE(heard.gate) << "it has waited twice";
  work.reset();
  runner.reset();
  loop.settle();
  runner =
      make_native_runner(options, {client, loop, entropy, log, metrics, sandbox.get(), &watcher, &workers, egress});
  EXPECT_EQ(parked(), (std::vector<dispatch::ParkedRun>{{last.run, last.conversation}}));
  runner->forget_parked(last.run, last.conversation);
  EXPECT_TRUE(parked().empty());
}

TEST_F(GateStory, What_cannot_be_listed_or_is_no_runs_own_is_not_kept) {
  begin("write a.txt: one\nask May I?");
  ASSERT_TRUE(heard.gate);
  auto other = last.conversation;
  const auto workspaces = home + "/state/workspaces/";
  const auto run = last.run.text();
  other.ulid.bytes[15] = 9;
  put(workspaces + other.text(), "a file where a directory should be");
  other.ulid.bytes[15] = 8;
  for (const auto* name : {"0001/x", "run_1.0000.held1/x", "notes.0000.held1/x"}) {
    put(workspaces + other.text() + "/none/" + name, "");
  }
  put(workspaces + other.text() + "/none/" + run + ".part/x", "");
  put(workspaces + other.text() + "/rep_1", "another file");
  put(workspaces + "of-" + run + "/" + run + ".0000.held1/x", "");
  EXPECT_EQ(parked(), (std::vector<dispatch::ParkedRun>{{last.run, last.conversation}}));
}

TEST_F(GateStory, What_a_run_held_is_stale_once_another_run_changed_the_workspace) {
  begin("write a.txt: one\nask May I?\nread a.txt");
  ASSERT_TRUE(heard.gate);
  const auto checkpoint = heard.gate->checkpoint;
  const auto parked = last;
  EXPECT_EQ(layers(), (Bodies{parked.run.text() + ".0000.held1"}));
  heard = {};
  begin("read a.txt\nsay {{last}}\nwrite b.txt: two");
  EXPECT_EQ(heard.text(), "a.txt: no such file") << "no other conversation may see what it held";
  EXPECT_EQ(layers(), (Bodies{"0001", parked.run.text() + ".0000.held1"}));
  heard = {};
  begin("read b.txt");
  EXPECT_EQ(layers(), (Bodies{"0001"}));
  heard = {};
  last = parked;
  go_on_from(checkpoint);
  expect_problem(Slug::run_interrupted, "what the run changed before it waited is gone");
}

TEST_F(GateStory, A_box_that_is_opened_again_is_set_up_again_quietly) {
  materials.setup_script = "make deps";
  script = [](auto&, auto&) { return sandbox::FakeResult{.out = "fetching"}; };
  begin("ask May I?\n$ ls");
  EXPECT_EQ(commands.size(), 1u);
  approve();
  EXPECT_TRUE(heard.usage);
  ASSERT_EQ(commands.size(), 3u);
  EXPECT_EQ(commands[1].argv[3], "make deps");
  const auto logs = heard.bodies(EventKind::log);
  EXPECT_EQ(std::ranges::count_if(logs, [](const auto& body) { return body.find("fetching") != body.npos; }), 1);
}

TEST(LoopCheckpoint, Says_the_same_after_it_was_read) {
  LoopCheckpoint checkpoint;
  checkpoint.turns = {{.role = model::Role::assistant,
                       .text = "Hm.",
                       .calls = {{"call_1", "bash", R"({"command":"x"})"}, {"call_2", "bash", "{}"}}}};
  checkpoint.calls = {.calls = checkpoint.turns[0].calls,
                      .results = {{"call_1", "out", true}},
                      .step_id = "step_2",
                      .step_used_ms = 7,
                      .asked = Asked::secret,
                      .items = {{.kind = ItemKind::secret, .description = "d", .alias = "A", .hosts = {"h"}}},
                      .host = "h",
                      .may_run_again = false};
  checkpoint.session = {{"run_x.0001.held1"}, "Use tabs.", true, {"a.example"}};
  checkpoint.usage = {3, 4};
  const auto text = to_json(checkpoint);
  const auto read = checkpoint_from_json(text);
  ASSERT_TRUE(read) << read.error().what;
  EXPECT_EQ(to_json(read.value()), text);
}

// I-21
TEST_F(GateStory, I_21_The_same_story_has_the_same_events_under_both_placements) {
  ask_about(Subject::command, "deploy*");
  const auto emit = [this](bool sticky) {
    keeps_box = sticky;
    run_count = 0;
    heard = {};
    begin("think Hm.\nsay One.\nwrite a.txt: 1\nneed TOKEN: it\nwrite b.txt: 2\n$ deploy\nsay {{last}}");
    approve({{.alias = "TOKEN", .value = "very-hidden"}});
    approve();
    EXPECT_TRUE(heard.usage);
    return events();
  };
  script = [](auto&, auto&) { return sandbox::FakeResult{.out = "sent very-hidden"}; };
  const auto pooled = emit(false);
  work.reset();
  runner.reset();
  loop.settle();
  EXPECT_TRUE(workspace::remove_tree(home + "/state"));
  secrets = std::make_shared<vault::Secrets>();
  EXPECT_EQ(emit(true), pooled);
}

}  // namespace gate_test
}  // namespace sluice::native
