#include "sandbox/shim_tools.h"

#include <gtest/gtest.h>

#include "sandbox/box_story_fixture.h"

namespace sluice::sandbox {
namespace shim_tools_test {

class ShimTools : public testing::Test {
 protected:
  Ran run(std::vector<std::string> argv, std::string input = "") {
    return story.run(*box, {.argv = std::move(argv), .input = std::move(input)});
  }
  Ran edit(const std::string& path, const std::string& before, const std::string& after, const char* all = "0") {
    return run({"@edit", path, all}, std::to_string(before.size()) + "\n" + before + after);
  }
  std::string text(const std::string& path) { return story.run(*box, {.argv = {"cat", path}}).out; }

  BoxStory story;
  const std::unique_ptr<Box> box = story.open();
};

TEST_F(ShimTools, Write_makes_directories_and_replaces_plain_files_only) {
  EXPECT_EQ(run({"@write", "a/b/c.txt"}, "hello").out, "5\n");
  EXPECT_EQ(text("a/b/c.txt"), "hello");
  story.run(*box, sh("chmod 755 a/b/c.txt; ln -s c.txt a/b/link; mkfifo a/pipe"));
  EXPECT_EQ(run({"@write", "/workspace/a/b/c.txt"}, "again").exit.code, 0);
  EXPECT_EQ(story.run(*box, sh("stat -c %a a/b/c.txt; ls -A a/b")).out, "755\nc.txt\nlink\n") << "no draft is left";

  for (const std::string path : {"a/b/link", "a/pipe", "a/b"}) {
    const Ran refused = run({"@write", path}, "x");
    EXPECT_EQ(refused.exit.code, 1) << path;
    EXPECT_TRUE(refused.err.starts_with(path + ": ")) << refused.err;
  }
  EXPECT_EQ(text("a/b/c.txt"), "again");
  EXPECT_EQ(run({"@write", "/usr/x"}, "x").exit.code, 1);
}

TEST_F(ShimTools, Read_gives_the_lines_asked_for_and_says_what_it_cuts) {
  story.run(*box,
            sh("seq 1 5000 > n; head -c 5000 /dev/zero | tr '\\0' x > long; printf 'a\\0b' > binary; mkfifo pipe"));
  EXPECT_EQ(run({"@read", "n", "3", "2"}).out, "3\n4\n");
  EXPECT_EQ(run({"@read", "n", "3", "2"}).err, "n goes on after line 4\n");
  EXPECT_EQ(run({"@read", "n", "4999", "0"}).out, "4999\n5000\n");
  EXPECT_EQ(run({"@read", "long", "1", "0"}).out.size(), 2001U);
  EXPECT_EQ(run({"@read", "pipe", "1", "0"}).err, "pipe: not a plain file\n");
  EXPECT_EQ(run({"@read", ".", "1", "0"}).err, ".: is a directory\n");
  EXPECT_EQ(run({"@read", "nothing", "1", "0"}).err, "nothing: No such file or directory\n");
  EXPECT_EQ(run({"@read", "binary", "1", "0"}).exit.code, 1);
}

TEST_F(ShimTools, Edit_replaces_what_is_there_once) {
  run({"@write", "f"}, "one two\ntwo three\n");
  EXPECT_EQ(edit("f", "one", "1").out, "1\n");
  EXPECT_EQ(text("f"), "1 two\ntwo three\n");
  const Ran twice = edit("f", "two", "2");
  EXPECT_EQ(twice.exit.code, 1);
  EXPECT_NE(twice.err.find("2 times"), std::string::npos) << twice.err;
  EXPECT_EQ(edit("f", "two", "2", "1").out, "2\n");
  EXPECT_EQ(text("f"), "1 2\n2 three\n");
  EXPECT_EQ(edit("f", "four", "4").err, "f: the text to replace is not in it\n");
  EXPECT_EQ(edit("f", "", "4").exit.code, 1);
  EXPECT_EQ(edit("nothing", "a", "b").exit.code, 1);
  EXPECT_EQ(run({"@edit", "f", "0"}, "999\nshort").exit.code, 1);
  EXPECT_EQ(edit("f", "2\n2", "").out, "1\n") << "over lines, and to nothing";
  EXPECT_EQ(text("f"), "1  three\n");
}

TEST_F(ShimTools, Glob_finds_files_latest_first) {
  story.run(*box,
            sh("mkdir -p src/deep/er .git node_modules; for f in src/a.h src/b.cc src/deep/er/c.cc top.cc .git/x.cc "
               "node_modules/y.cc; do touch $f; done; touch -d '2030-01-01' src/b.cc; touch -d '2029-01-01' top.cc; "
               "ln -s /usr/include out"));
  EXPECT_EQ(run({"@glob", "**/*.cc", ""}).out, "src/b.cc\ntop.cc\nsrc/deep/er/c.cc\n");
  EXPECT_EQ(run({"@glob", "*.cc", "src"}).out, "src/b.cc\n");
  EXPECT_EQ(run({"@glob", "src/*.{h,cc}", "."}).out, "src/b.cc\nsrc/a.h\n");
  EXPECT_EQ(run({"@glob", "*", "nowhere"}).exit.code, 1);
  story.run(*box, sh("mkdir many; cd many; seq 1 1200 | xargs touch"));
  const Ran many = run({"@glob", "*", "many"});
  EXPECT_EQ(std::count(many.out.begin(), many.out.end(), '\n'), 1000);
  EXPECT_EQ(many.err, "1000 of 1200 files are shown\n");
}

TEST_F(ShimTools, Grep_finds_lines) {
  story.run(*box,
            sh("mkdir -p d .git; printf 'Foo\\nbar foo\\n' > d/a.txt; echo foo > d/b.md; printf 'foo\\0' > d/bin; "
               "echo foo > .git/c"));
  EXPECT_EQ(run({"@grep", "fo+", "."}).out, "d/a.txt:2:bar foo\nd/b.md:1:foo\n");
  EXPECT_EQ(run({"@grep", "^foo$", ".", "*.txt", "i"}).out, "d/a.txt:1:Foo\n");
  EXPECT_EQ(run({"@grep", "foo", "d", "", "l"}).out, "d/a.txt\nd/b.md\n");
  EXPECT_EQ(run({"@grep", "foo", "d/a.txt"}).out, "d/a.txt:2:bar foo\n");
  EXPECT_EQ(run({"@grep", "nowhere", "."}).exit.code, 0);
  EXPECT_EQ(run({"@grep", "(", "."}).exit.code, 1);
  story.run(*box, sh("yes foo | head -n 3000 > many"));
  EXPECT_EQ(run({"@grep", "foo", "many"}).err, "only the first 1000 are shown\n");
}

TEST_F(ShimTools, List_tells_what_is_what) {
  story.run(*box, sh("mkdir dir; printf abc > file; ln -s file link"));
  EXPECT_EQ(run({"@list", ""}).out, "dir/\nfile\t3\nlink -> file\n");
  EXPECT_EQ(run({"@list", "nowhere"}).exit.code, 1);
}

TEST_F(ShimTools, Want_their_arguments_and_are_no_other) {
  EXPECT_EQ(run({"@read", "x"}).err, "@read needs 3 arguments\n");
  EXPECT_EQ(run({"@nothing"}).exit.cause, ExitCause::not_started);
}

}  // namespace shim_tools_test
}  // namespace sluice::sandbox
