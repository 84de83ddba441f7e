// The whole way with nothing faked but the model.
#include "runner/real_session_fixture.h"

namespace sluice::sessions {
namespace session_real_test {

using namespace runner;

using model::EventKind;

TEST_F(RealSession, Every_tool_does_what_it_says) {
  run("write notes/a.txt: hello\nedit notes/a.txt: hello -> goodbye\nread notes/a.txt\nsay read {{last}}\n"
      "call grep {\"pattern\":\"GOOD.ye\",\"ignore_case\":true}\nsay grep {{last}}\n"
      "call glob {\"pattern\":\"**/*.txt\"}\nsay glob {{last}}\n"
      "call list {\"path\":\"notes\"}\nsay list {{last}}\n"
      "$ pwd; echo $WORKSPACE_DIR; cat notes/a.txt; echo oops >&2; exit 3\nsay bash {{last}}\n"
      "read missing.txt\nsay {{last}}");
  EXPECT_TRUE(heard.text().starts_with("read goodbye\n")) << heard.text();
  EXPECT_NE(heard.text().find("notes/a.txt:1:goodbye"), std::string::npos) << heard.text();
  EXPECT_NE(heard.text().find("list a.txt\t7"), std::string::npos) << heard.text();
  EXPECT_NE(heard.text().find("bash /workspace\n/workspace\ngoodbye"), std::string::npos) << heard.text();
  EXPECT_NE(heard.text().find("oops\n"), std::string::npos) << heard.text();
  EXPECT_NE(heard.text().find("exit code 3"), std::string::npos) << heard.text();
  EXPECT_NE(heard.text().find("missing.txt"), std::string::npos) << heard.text();
}

// H-4, H-5
TEST_F(RealSession, Files_are_told_live_and_the_diff_at_the_end) {
  run("write a.txt: one\n$ mkdir -p deep/er; echo two > deep/er/b.txt; echo three >> a.txt\nedit a.txt: one -> uno");
  EXPECT_TRUE(was_told(EventKind::file, R"("type":"create","path":"a.txt")"));
  EXPECT_TRUE(was_told(EventKind::file, R"("type":"create","path":"deep/er/b.txt")")) << heard.all(EventKind::file);
  EXPECT_FALSE(was_told(EventKind::file, ".sluice-edit-")) << "how a file is written is not reported";
  ASSERT_EQ(heard.bodies(EventKind::diff).size(), 1u);
  EXPECT_TRUE(was_told(EventKind::diff, "+uno"));
  EXPECT_TRUE(was_told(EventKind::diff, "+two"));
}

TEST_F(RealSession, The_next_run_finds_what_the_last_one_left) {
  run("write a.txt: one\nwrite gone.txt: x");
  run("$ rm gone.txt\n$ cat a.txt\nsay {{last}}");
  EXPECT_EQ(heard.text(), "one");
  run("$ ls\nsay {{last}}");
  EXPECT_EQ(heard.text(), "a.txt");
}

TEST_F(RealSession, The_setup_script_and_the_variables_are_there) {
  materials.variables = {{"GREETING", "salut"}};
  materials.setup_script = "echo \"$GREETING\" > hi.txt\nfalse || true\n";
  run("read hi.txt\nsay {{last}}");
  EXPECT_EQ(heard.text(), "salut");
}

TEST_F(RealSession, What_runs_in_the_background_ends_with_the_run) {
  run("call bash {\"command\":\"echo up; exec sleep 600\",\"background\":true}\n$ echo beside\nsay {{last}}");
  EXPECT_EQ(heard.text(), "beside");
}

TEST_F(RealSession, A_flood_is_cut_and_the_run_goes_on) {
  run("$ head -c 50000000 /dev/zero | tr '\\0' y\nsay ok {{last}}");
  EXPECT_TRUE(was_told(EventKind::output, "output cut: more than 4194304 bytes"));
  EXPECT_NE(heard.text().find("bytes left out"), std::string::npos);
}

}  // namespace session_real_test
}  // namespace sluice::sessions
