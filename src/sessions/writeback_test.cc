// What a run leaves behind: the diff, files for the user, and its conversation's workspace.
#include <fcntl.h>
#include <sys/stat.h>

#include <fstream>

#include "runner/session_fixture.h"
#include "sessions/layers.h"

namespace sluice::sessions {
namespace writeback_test {

using namespace runner;

using model::EventKind;
using model::Slug;
using sandbox::FakeResult;
using Bodies = std::vector<std::string>;

// H-5
TEST_F(SessionTest, All_that_the_run_changed_is_told_once_it_is_over) {
  begin("write notes.txt: hello\nsay Done.");
  const auto diffs = heard.bodies(EventKind::diff);
  ASSERT_EQ(diffs.size(), 1u);
  EXPECT_TRUE(diffs[0].starts_with(R"({"path":".","diff":")")) << diffs[0];
  EXPECT_NE(diffs[0].find("+hello"), std::string::npos) << diffs[0];
  EXPECT_TRUE(heard.usage);
}

TEST_F(SessionTest, H_5_the_diff_is_all_that_was_changed_since_the_conversation_began_after_each_run_that_leaves_one) {
  begin("write notes.txt: hello\nwrite gone.txt: x");
  heard = {};
  begin("write more.txt: world");
  ASSERT_EQ(heard.bodies(EventKind::diff).size(), 1u);
  auto diff = heard.bodies(EventKind::diff)[0];
  EXPECT_NE(diff.find("+hello"), std::string::npos) << diff;
  EXPECT_NE(diff.find("+world"), std::string::npos) << diff;
  heard = {};
  begin("read notes.txt");
  ASSERT_EQ(heard.bodies(EventKind::diff).size(), 1u) << "also after one that changed nothing";
  EXPECT_EQ(heard.bodies(EventKind::diff)[0], diff);
}

TEST_F(SessionTest, H_5_what_the_run_alone_changed_is_told_beside_a_diff_that_has_more_in_it) {
  begin("write notes.txt: hello\nwrite more.txt: x");
  EXPECT_TRUE(heard.bodies(EventKind::custom).empty()) << "the diff is the run's own";
  heard = {};
  begin("$ ls");
  EXPECT_EQ(heard.bodies(EventKind::custom), (Bodies{R"({"name":"sluice.run-diff","value":{"diff":""}})"}));
  EXPECT_EQ(heard.bodies(EventKind::diff).size(), 1u);
  heard = {};
  begin("write notes.txt: goodbye");
  const auto own = heard.all(EventKind::custom);
  EXPECT_TRUE(own.starts_with(R"({"name":"sluice.run-diff","value":{"diff":"diff --git a/notes.txt b/notes.txt\n)"))
      << own;
  EXPECT_NE(own.find("-hello"), std::string::npos) << own;
  EXPECT_NE(own.find("+goodbye"), std::string::npos) << own;
  EXPECT_EQ(own.find("more.txt"), std::string::npos) << own;
}

TEST_F(SessionTest, H_5_the_diff_is_told_without_a_sandbox_after_a_run_that_only_talks) {
  begin("say Hello.");
  EXPECT_TRUE(heard.bodies(EventKind::diff).empty()) << "there is no workspace yet";
  heard = {};
  begin("write notes.txt: hello");
  heard = {};
  begin("write more.txt: x");
  const auto diff = heard.bodies(EventKind::diff);
  ASSERT_EQ(diff.size(), 1u);
  const auto opened = sandbox->opened;
  heard = {};
  begin("say Goodbye.");
  EXPECT_TRUE(heard.usage);
  EXPECT_EQ(heard.text(), "Goodbye.");
  EXPECT_EQ(heard.bodies(EventKind::diff), diff);
  EXPECT_EQ(heard.bodies(EventKind::custom), (Bodies{R"({"name":"sluice.run-diff","value":{"diff":""}})"}))
      << "the run itself changed nothing";
  EXPECT_EQ(sandbox->opened, opened);
  EXPECT_TRUE(phases().empty());
}

TEST_F(SessionTest, H_5_a_run_that_only_talks_ends_well_where_the_workspace_cannot_be_compared) {
  begin("write notes.txt: hello");
  std::filesystem::remove_all(home + "/state/workspaces/" + dispatch_conversation().text() + "/none/0001");
  std::ofstream(home + "/state/workspaces/" + dispatch_conversation().text() + "/none/0001") << "no directory";
  heard = {};
  begin("say Goodbye.");
  EXPECT_TRUE(heard.usage);
  EXPECT_TRUE(heard.bodies(EventKind::diff).empty());
  EXPECT_NE(heard.all(EventKind::log).find("There is no diff: "), std::string::npos);
}

TEST_F(SessionTest, H_5_a_run_that_is_stopped_while_its_workspace_is_compared_tells_nothing_more) {
  begin("write notes.txt: hello");
  heard = {};
  workers.answered_until_held = 0;
  begin("say Goodbye.");
  EXPECT_FALSE(heard.is_over());
  work->stop([] {});
  work.reset();
  workers.release();
  loop.settle();
  EXPECT_FALSE(heard.usage);
  EXPECT_TRUE(heard.bodies(EventKind::diff).empty());
}

TEST_F(SessionTest, H_5_a_run_that_only_talks_waits_no_longer_for_its_diff_than_others) {
  begin("write notes.txt: hello");
  heard = {};
  workers.answered_until_held = 0;
  begin("say Goodbye.");
  pass(options.sessions.keep_ms_max - 1);
  EXPECT_FALSE(heard.is_over());
  pass(1);
  EXPECT_TRUE(heard.usage);
  EXPECT_NE(heard.all(EventKind::log).find("took longer than 300 s"), std::string::npos);
  work.reset();
  workers.release();
  loop.settle();
  EXPECT_TRUE(heard.bodies(EventKind::diff).empty());
}

TEST_F(SessionTest, A_run_that_changed_nothing_tells_no_diff_and_leaves_no_layer) {
  begin("$ ls");
  EXPECT_TRUE(heard.usage);
  EXPECT_TRUE(heard.bodies(EventKind::diff).empty());
  EXPECT_FALSE(std::filesystem::exists(home + "/state/workspaces"));
}

TEST_F(SessionTest, The_next_run_of_the_conversation_goes_on_with_the_workspace) {
  begin("write notes.txt: hello");
  EXPECT_EQ(layers(), (Bodies{"0001"}));
  heard = {};
  begin("read notes.txt\nsay {{last}}\nwrite more.txt: x");
  EXPECT_EQ(heard.text(), "hello");
  EXPECT_EQ(layers(), (Bodies{"0001", "0002"}));
  heard = {};
  auto other = dispatch_of("read notes.txt\nsay {{last}}");
  other.conversation.ulid.bytes[15] = 2;
  begin(std::move(other));
  EXPECT_EQ(heard.text(), "notes.txt: no such file") << "another conversation has another workspace";
}

TEST_F(SessionTest, A_run_that_fails_leaves_the_workspace_as_it_was) {
  begin("write notes.txt: before");
  heard = {};
  begin("write notes.txt: after\nfail 400 no");
  expect_problem(Slug::model_error);
  EXPECT_EQ(layers(), (Bodies{"0001"}));
  heard = {};
  begin("read notes.txt\nsay {{last}}");
  EXPECT_EQ(heard.text(), "before");
}

TEST_F(SessionTest, What_a_run_made_is_not_kept_where_its_tenant_would_have_more_than_its_quota) {
  options.sessions.tenant_workspaces_bytes_max = 1024 * 1024;
  begin("write notes.txt: hello");
  EXPECT_TRUE(heard.usage);
  heard = {};
  begin("write large.txt: " + std::string(1'100'000, 'x'));
  expect_problem(Slug::writeback_failed);
  EXPECT_NE(heard.problem->detail.find("may have 1 MiB (sandbox.tenant_workspaces_mib)"), std::string::npos)
      << heard.problem->detail;
  EXPECT_EQ(layers(), (Bodies{"0001"})) << "nothing is left of it";
  heard = {};
  begin("write more.txt: x");
  EXPECT_TRUE(heard.usage) << "there is room for less";
  EXPECT_EQ(layers(), (Bodies{"0001", "0002"}));
}

TEST_F(SessionTest, A_tenant_that_has_its_quota_of_workspaces_gets_no_sandbox_until_one_of_them_is_removed) {
  options.sessions.tenant_workspaces_bytes_max = 10 * 1024 * 1024;
  begin("write notes.txt: hello");
  model::ConversationId other;
  other.ulid.bytes[15] = 2;
  runner->count_workspace({other, 20 * 1024 * 1024}, last.agent.tenant_id);
  heard = {};
  begin("write more.txt: x");
  expect_problem(Slug::sandbox_failed);
  EXPECT_TRUE(heard.problem->detail.starts_with("No sandbox was opened: the workspaces of this tenant"))
      << heard.problem->detail;
  runner->remove_workspace(other);
  heard = {};
  begin("write more.txt: x");
  EXPECT_TRUE(heard.usage);
}

TEST_F(SessionTest, The_workspace_of_a_conversation_is_removed_when_that_is_over_and_counts_no_more) {
  begin("write notes.txt: hello");
  loop.settle();
  auto& gauge = metrics.gauge("sluice_workspace_bytes", "");
  EXPECT_GT(gauge.value(), 0);
  runner->remove_workspace(dispatch_conversation());
  loop.settle();
  EXPECT_EQ(gauge.value(), 0);
  EXPECT_TRUE(std::filesystem::is_empty(home + "/state/workspaces"));
}

TEST_F(SessionTest, A_workspace_that_is_nobody_s_is_gone_after_the_run) {
  auto dispatch = dispatch_of("write notes.txt: hello");
  dispatch.conversation = {};
  begin(std::move(dispatch));
  EXPECT_TRUE(heard.usage);
  EXPECT_EQ(heard.bodies(EventKind::diff).size(), 1u);
  work.reset();
  loop.settle();
  EXPECT_FALSE(std::filesystem::exists(home + "/state/workspaces"));
}

TEST_F(SessionTest, A_workspace_that_is_nobody_s_is_gone_after_a_crash_too) {
  const auto where = home + "/state/workspaces/";
  put(where + "of-run_x/0001/a", "1");
  put(where + "gone-of-run_y/0001/a", "1");
  put(where + "con_z/none/0001/a", "1");
  begin("say Hello.");
  EXPECT_TRUE(heard.usage);
  EXPECT_FALSE(std::filesystem::exists(where + "of-run_x"));
  EXPECT_FALSE(std::filesystem::exists(where + "gone-of-run_x"));
  EXPECT_FALSE(std::filesystem::exists(where + "gone-of-run_y"));
  EXPECT_EQ(contents(where + "con_z/none/0001/a"), "1");
}

TEST_F(SessionTest, A_run_that_fails_leaves_no_empty_directories) {
  begin("write notes.txt: x\nfail 400 no");
  expect_problem(Slug::model_error);
  EXPECT_FALSE(std::filesystem::exists(home + "/state/workspaces"));
  heard = {};
  script = [](auto& box, auto&) {
    // What no layer can hold.
    SLUICE_CHECK(mkfifo((box.changes() + "/pipe").c_str(), 0600) == 0);
    return FakeResult{};
  };
  begin("$ mkfifo pipe");
  EXPECT_TRUE(heard.usage);
  EXPECT_TRUE(std::filesystem::is_empty(home + "/state/workspaces"));
}

TEST_F(SessionTest, Many_layers_become_one_and_the_workspace_is_the_same) {
  for (int i = 1; i <= 22; ++i) {
    heard = {};
    begin("write file" + std::to_string(i) + ": " + std::to_string(i));
    ASSERT_TRUE(heard.usage) << i << (heard.problem ? heard.problem->detail : "");
  }
  EXPECT_EQ(layers(), (Bodies{"0021.whole", "0022"}));
  heard = {};
  begin("read file1\nsay {{last}}\nread file21\nsay {{last}}\nread file22\nsay {{last}}");
  EXPECT_EQ(heard.text(), "1\n21\n22");
}

TEST_F(SessionTest, H_5_the_repository_that_diffs_begin_from_outlives_the_layers_that_became_one) {
  const auto where = home + "/rep_1";
  const auto write = [&](const std::string& path, const std::string& bytes) {
    std::filesystem::create_directories(std::filesystem::path(where + "/" + path).parent_path());
    std::ofstream(where + "/" + path) << bytes;
  };
  write("0001/kept.txt", "same\n");
  write("0001/changed.txt", "before\n");
  write("0001/gone.txt", "was here\n");
  write("0021.whole/kept.txt", "same\n");
  write("0021.whole/changed.txt", "after\n");
  write("../now/new.txt", "new\n");
  for (const bool is_put_away : {false, true}) {
    LayerWork work{.changes_fd = -1, .home = where, .below = {where + "/0021.whole"}, .mark = "run", .owner = {}};
    if (is_put_away) work.below = read_layers(where).take();
    ASSERT_EQ(work.below, (workspace::Layers{where + "/0021.whole"}));
    EXPECT_EQ(std::filesystem::exists(where + "/base"), is_put_away);
    const OwnedFd changes(open((home + "/now").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    const auto diff = workspace::diff(since_then(work, changes.get()), at_first(work), {}, {});
    ASSERT_TRUE(diff) << diff.error().what;
    const auto& text = diff.value().text;
    for (const auto* line : {"-before", "+after", "-was here", "+new"}) {
      EXPECT_NE(text.find(line), std::string::npos) << line << "\n" << text;
    }
    EXPECT_EQ(text.find("kept.txt"), std::string::npos) << text;
    EXPECT_EQ(diff.value().file_count, 3);
  }
}

TEST_F(SessionTest, What_a_broken_off_run_left_is_cleared_away) {
  begin("write a: 1");
  const auto where = home + "/state/workspaces/" + dispatch_conversation().text() + "/none";
  put(where + "/run_x.part/a", "half");
  put(where + "/run_y.part.Xy12ab/a", "less");
  heard = {};
  begin("read a\nsay {{last}}");
  EXPECT_EQ(heard.text(), "1");
  EXPECT_EQ(layers(), (Bodies{"0001"}));
}

// S-12
TEST_F(SessionTest, Files_under_assets_are_handed_back_with_the_answer) {
  supplies->wants = true;
  begin("write assets/report.txt: fine\nsay Here it is.\nwrite assets/odd.exe: x\nsay Bye.");
  ASSERT_TRUE(heard.usage);
  ASSERT_TRUE(supplies->taken);
  ASSERT_EQ(supplies->taken->size(), 1u);
  EXPECT_EQ(supplies->taken->at(0).name, "report.txt");
  EXPECT_EQ(supplies->taken->at(0).bytes, "fine");
  EXPECT_EQ(supplies->text, "Here it is.\nBye.");
  EXPECT_NE(heard.all(EventKind::log).find("Not handed back: "), std::string::npos);
  EXPECT_EQ(phases(), (Bodies{"sandbox", "run", "writeback", "settle"}));
  EXPECT_NE(heard.all(EventKind::log).find("Returned 1 file.\""), std::string::npos) << heard.all(EventKind::log);
}

TEST_F(SessionTest, Files_that_an_earlier_run_wrote_are_not_handed_back_again) {
  supplies->wants = true;
  begin("write assets/report.txt: fine");
  ASSERT_TRUE(supplies->taken);
  EXPECT_EQ(supplies->taken->size(), 1u);
  heard = {};
  begin("read assets/report.txt\nsay {{last}}\nwrite assets/more.txt: x");
  EXPECT_EQ(heard.text(), "fine") << "it is still there";
  ASSERT_EQ(supplies->taken->size(), 1u);
  EXPECT_EQ(supplies->taken->at(0).name, "more.txt");
}

TEST_F(SessionTest, Files_that_nobody_wants_are_not_handed_back) {
  begin("write assets/report.txt: fine");
  EXPECT_TRUE(heard.usage);
  EXPECT_FALSE(supplies->taken);
}

TEST_F(SessionTest, A_run_whose_files_cannot_be_handed_back_fails_and_keeps_nothing) {
  supplies->wants = true;
  supplies->take_fails = true;
  begin("write assets/report.txt: fine");
  expect_problem(Slug::writeback_failed, "the store is full");
  EXPECT_TRUE(layers().empty());
}

TEST_F(SessionTest, A_workspace_that_cannot_be_kept_fails_the_run) {
  // A file where the directory of workspaces should be.
  put(home + "/state/workspaces", "");
  begin("$ ls");
  expect_problem(Slug::sandbox_failed, "The workspace cannot be read");
}

TEST(LayerShelf, A_repository_s_id_can_lead_nowhere) {
  dispatch::Dispatch dispatch;
  dispatch.conversation.ulid.bytes[15] = 1;
  dispatch.materials.repository = {.id = "../../etc"};
  const auto home = layer_home("/state", dispatch);
  EXPECT_TRUE(home.starts_with("/state/workspaces/con_")) << home;
  EXPECT_EQ(home.find(".."), std::string::npos) << home;
}

}  // namespace writeback_test
}  // namespace sluice::sessions
