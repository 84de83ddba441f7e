#include <sys/xattr.h>

#include <random>
#include <set>

#include "base/bytes.h"
#include "workspace/tree_fixture.h"

namespace sluice::workspace {
namespace diff_test {

namespace fs = std::filesystem;

class DiffTest : public TreeTest {
 protected:
  DiffTest() {
    make_directory("low");
    make_directory("changes");
  }
  // H-5
  Diff changes(DiffLimits limits = {}, const Layers& more = {}) {
    Layers below = {path("low")};
    below.insert(below.end(), more.begin(), more.end());
    return diff(open_directory("changes").get(), below, {".git", "node_modules"}, limits).take();
  }
  std::string text() { return changes().text; }
  void make_opaque(const std::string& below) {
    make_directory(below);
    SLUICE_CHECK(setxattr(path(below).c_str(), "user.overlay.opaque", "y", 1, 0) == 0);
  }
};

TEST_F(DiffTest, H_5_changed_files_read_as_git_writes_them) {
  write("low/d/f", "one\ntwo\nthree\n");
  write("changes/d/f", "one\n2\nthree\n");
  EXPECT_EQ(text(),
            "diff --git a/d/f b/d/f\nindex 4cb29ea..f04eb26 100644\n--- a/d/f\n+++ b/d/f\n"
            "@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n");
}

TEST_F(DiffTest, Files_come_and_go) {
  write("low/gone", "x\n");
  hide("changes/gone");
  write("changes/fresh", "no end");
  write("changes/empty", "");
  EXPECT_EQ(text(),
            "diff --git a/empty b/empty\nnew file mode 100644\nindex 0000000..e69de29\n"
            "diff --git a/fresh b/fresh\nnew file mode 100644\nindex 0000000..d514c78\n--- /dev/null\n+++ b/fresh\n"
            "@@ -0,0 +1 @@\n+no end\n\\ No newline at end of file\n"
            "diff --git a/gone b/gone\ndeleted file mode 100644\nindex 587be6b..0000000\n--- a/gone\n+++ /dev/null\n"
            "@@ -1 +0,0 @@\n-x\n");
  EXPECT_EQ(changes().file_count, 3);
}

TEST_F(DiffTest, What_was_only_copied_up_is_left_out) {
  write("low/d/f", "same");
  write("changes/d/f", "same");
  write("low/giant", std::string(3 << 20, 'x'));
  write("changes/giant", std::string(3 << 20, 'x'));
  hide("changes/never-was");
  EXPECT_EQ(text(), "");
}

TEST_F(DiffTest, Modes_and_links_are_changes) {
  write("low/run", "#!\n");
  write("changes/run", "#!\n");
  fs::permissions(path("changes/run"), fs::perms(0755));
  link("low/l", "there");
  link("changes/l", "here");
  EXPECT_EQ(text(),
            "diff --git a/l b/l\nindex c78ee1a..60aecbd 120000\n--- a/l\n+++ b/l\n@@ -1 +1 @@\n-there\n"
            "\\ No newline at end of file\n+here\n\\ No newline at end of file\n"
            "diff --git a/run b/run\nold mode 100644\nnew mode 100755\n");
}

TEST_F(DiffTest, A_link_is_never_followed) {
  write("secret", "secret\n");
  write("low/f", "x\n");
  link("changes/f", path("secret"));
  link("changes/d", home);
  EXPECT_EQ(text().find("+secret"), std::string::npos);
  EXPECT_NE(text().find("deleted file mode 100644"), std::string::npos);
  EXPECT_NE(text().find("new file mode 120000"), std::string::npos);
}

TEST_F(DiffTest, Directories_that_went_are_told_file_by_file) {
  write("low/d/e/f", "1\n");
  write("low/d/g", "2\n");
  hide("changes/d");
  write("low/o/old", "3\n");
  write("low/o/deep/old", "4\n");
  make_opaque("changes/o");
  write("changes/o/deep/fresh", "5\n");
  write("low/turned/f", "6\n");
  write("changes/turned", "7\n");
  const auto all = changes();
  EXPECT_EQ(all.file_count, 7);
  for (const auto* line : {"--- a/d/e/f", "--- a/d/g", "--- a/o/old", "--- a/o/deep/old", "+++ b/o/deep/fresh",
                           "--- a/turned/f", "+++ b/turned\n"}) {
    EXPECT_NE(all.text.find(line), std::string::npos) << line;
  }
}

TEST_F(DiffTest, Several_layers_below_are_one_tree) {
  write("base/a", "base\n");
  write("base/b", "base\n");
  write("base/c", "base\n");
  write("low/a", "low\n");
  hide("low/b");
  write("changes/a", "mine\n");
  write("changes/b", "mine\n");
  write("changes/c", "mine\n");
  const std::string all = changes({}, {path("base")}).text;
  EXPECT_NE(all.find("-low\n+mine"), std::string::npos);
  EXPECT_NE(all.find("--- /dev/null\n+++ b/b"), std::string::npos);
  EXPECT_NE(all.find("-base\n+mine"), std::string::npos);
}

TEST_F(DiffTest, Binary_files_are_named) {
  write("low/b", std::string("a\0b", 3));
  write("changes/b", std::string("a\0c", 3));
  write("changes/latin", "caf\xe9\n");
  const std::string all = text();
  EXPECT_NE(all.find("Binary files a/b and b/b differ\n"), std::string::npos);
  EXPECT_NE(all.find("Binary files /dev/null and b/latin differ\n"), std::string::npos);
  EXPECT_TRUE(is_utf8(all));
}

TEST_F(DiffTest, Odd_names_are_quoted_as_git_does) {
  write("changes/a\"\\\n\t\x01\xc3\xa4\xff", "x\n");
  write("changes/with blank", "x\n");
  EXPECT_NE(
      text().find("diff --git \"a/a\\\"\\\\\\n\\t\\001\\303\\244\\377\" \"b/a\\\"\\\\\\n\\t\\001\\303\\244\\377\"\n"),
      std::string::npos)
      << text();
  EXPECT_NE(text().find("+++ b/with blank\t\n"), std::string::npos);
}

TEST_F(DiffTest, Ignored_directories_are_left_out_wherever_they_are) {
  write("changes/.git/config", "x");
  write("changes/d/node_modules/m/f", "x");
  write("low/gone/node_modules/f", "x");
  hide("changes/gone");
  write("changes/sub/.git", "gitdir: elsewhere");
  EXPECT_EQ(text(), "");
  write("changes/node_modules", "a file of that name\n");
  EXPECT_EQ(changes().file_count, 1);
}

TEST_F(DiffTest, What_does_not_fit_is_named_and_said) {
  for (int i = 0; i < 10; ++i) write("changes/f" + std::to_string(i), std::string(1000, 'x') + "\n");
  const auto few = changes({.bytes_max = 5000});
  EXPECT_TRUE(few.cut);
  EXPECT_LE(few.text.size(), 5000u);
  EXPECT_NE(few.text.find("Binary files /dev/null and b/f4 differ\n"), std::string::npos) << few.text;
  EXPECT_TRUE(few.text.ends_with("what did not fit is only named, or missing.\n"));
  const auto fewer = changes({.files_max = 3});
  EXPECT_TRUE(fewer.cut);
  EXPECT_EQ(fewer.file_count, 3);
  const auto large = changes({.file_bytes_max = 1000});
  EXPECT_FALSE(large.cut);
  EXPECT_EQ(large.text.find("xxx"), std::string::npos);
  EXPECT_FALSE(changes().cut);
}

TEST_F(DiffTest, Pipes_and_giants_hold_nobody_up) {
  SLUICE_CHECK(mkfifo(path("changes/pipe").c_str(), 0666) == 0);
  for (const auto* name : {"low/giant", "changes/giant"}) {
    write(name, "x");
    SLUICE_CHECK(truncate(path(name).c_str(), 1LL << 40) == 0);
  }
  EXPECT_EQ(text(), "diff --git a/giant b/giant\nBinary files a/giant and b/giant differ\n");
}

// Trees made by chance, and what `git apply` makes of the difference.
class AppliedDiff : public DiffTest, public testing::WithParamInterface<unsigned> {
 protected:
  unsigned pick(unsigned below) { return static_cast<unsigned>(chance_()) % below; }
  std::string some_name() { return std::string(1, "abcde"[pick(5)]) + (pick(6) == 0 ? " ä\"" : ""); }
  std::string some_text() {
    std::string out;
    for (unsigned lines = pick(30); lines > 0; --lines) out += std::string(1 + pick(5), "xyz"[pick(3)]) + "\n";
    if (pick(4) == 0) out += "no end";
    return out;
  }
  void put_something(const std::string& at) {
    fs::create_directories(fs::path(path(at)).parent_path());
    if (pick(6) == 0) return fs::create_symlink("nowhere-" + some_name(), path(at));
    write(at, some_text());
    if (pick(4) == 0) fs::permissions(path(at), fs::perms(0755));
  }
  // A name below `root` at which something may be put: no file stands on the way.
  std::string some_path(const std::string& root) {
    std::string at = root;
    for (unsigned depth = pick(3); depth > 0; --depth) {
      const std::string next = at + "/" + some_name();
      const auto type = fs::symlink_status(path(next)).type();
      if (type != fs::file_type::not_found && type != fs::file_type::directory) break;
      at = next;
    }
    return at + "/" + some_name();
  }
  static fs::file_type type_of(const std::string& at) {
    std::error_code none;  // below a link that leads in a circle there is nothing
    return fs::symlink_status(at, none).type();
  }
  static bool is_directory(const std::string& at) { return type_of(at) == fs::file_type::directory; }
  static bool is_there(const std::string& at) {
    return type_of(at) != fs::file_type::not_found && type_of(at) != fs::file_type::none;
  }

  // What an overlay would have in its upper layer after `want` was made of `low`.
  void record(const std::string& below) {
    std::set<std::string> names;
    for (const auto* tree : {"low", "want"}) {
      if (!is_directory(path(tree + below))) continue;
      for (const auto& entry : fs::directory_iterator(path(tree + below))) names.insert(entry.path().filename());
    }
    for (const auto& name : names) {
      const std::string at = below + "/" + name;
      const std::string low = path("low" + at), want = path("want" + at), up = path("changes" + at);
      if (!is_there(want)) {
        hide("changes" + at);
      } else if (is_directory(want)) {
        fs::create_directory(up);
        const bool opaque = is_directory(low) ? pick(3) == 0 : is_there(low);
        if (opaque) make_opaque("changes" + at);
        record(at);
      } else {
        fs::copy(want, up, fs::copy_options::copy_symlinks);
      }
    }
  }

  std::mt19937 chance_{GetParam()};
};

TEST_P(AppliedDiff, By_git_gives_the_tree_that_was_made) {
  for (int i = 0; i < 15; ++i) {
    const std::string at = some_path("low");
    if (!is_there(path(at))) put_something(at);
  }
  fs::copy(path("low"), path("want"), fs::copy_options::recursive | fs::copy_options::copy_symlinks);
  for (int i = 0; i < 15; ++i) {
    const std::string at = some_path("want");
    fs::remove_all(path(at));
    if (pick(3) != 0) put_something(at);
  }
  record("");
  const auto all = changes();
  write("patch", all.text);
  fs::copy(path("low"), path("applied"), fs::copy_options::recursive | fs::copy_options::copy_symlinks);
  if (all.file_count > 0) {
    const std::string command =
        "cd '" + path("applied") + "' && git init -q . && git apply --whitespace=nowarn ../patch";
    ASSERT_EQ(std::system(command.c_str()), 0) << all.text;
    fs::remove_all(path("applied/.git"));
  }
  auto applied = look("applied"), want = look("want");
  const auto is_directory_entry = [](const auto& entry) { return entry.second == "directory"; };
  std::erase_if(applied, is_directory_entry);  // git knows no empty ones
  std::erase_if(want, is_directory_entry);
  EXPECT_EQ(applied, want) << all.text;
}

INSTANTIATE_TEST_SUITE_P(Seeds, AppliedDiff, testing::Range(1u, 41u));

}  // namespace diff_test
}  // namespace sluice::workspace
