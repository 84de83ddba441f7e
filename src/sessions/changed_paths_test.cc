#include "sessions/changed_paths.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/check.h"
#include "base/fd.h"
#include "workspace/workspace.h"

namespace sluice::sessions {
namespace changed_paths_test {

namespace fs = std::filesystem;
using Paths = std::vector<std::string>;

class ChangedPaths : public testing::Test {
 protected:
  ChangedPaths() {
    std::string pattern = testing::TempDir() + "changedXXXXXX";
    SLUICE_CHECK(mkdtemp(pattern.data()) != nullptr);
    home = pattern;
    fd = OwnedFd(open(home.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  }
  ~ChangedPaths() override { EXPECT_TRUE(workspace::remove_tree(home)); }

  void put(const std::string& path) const {
    fs::create_directories((home / path).parent_path());
    std::ofstream(home / path) << "x";
  }
  // Nothing that was done before is in the tick of the mark. The clock that ticks may lag behind the one by which a
  // kernel stamps files that somebody looks at, so it is waited for.
  ChangeMark marked() const {
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    auto mark = mark_changes(fd.get());
    while (std::pair(mark.at.tv_sec, mark.at.tv_nsec) <= std::pair(now.tv_sec, now.tv_nsec)) {
      mark = mark_changes(fd.get());
    }
    return mark;
  }
  Paths changed(const ChangeMark& mark) const { return changed_since(fd.get(), mark); }

  fs::path home;
  OwnedFd fd;
};

TEST_F(ChangedPaths, Are_none_where_nothing_was_done_since) {
  EXPECT_EQ(changed(mark_changes(fd.get())), Paths{}) << "not even in a fresh tree";
  put("a/b/c.txt");
  EXPECT_EQ(changed(marked()), Paths{});
}

TEST_F(ChangedPaths, Are_those_that_were_made_changed_and_taken_out_of) {
  put("old/kept.txt");
  put("old/gone.txt");
  put("old/changed.txt");
  put("emptied/gone.txt");
  const auto mark = marked();
  std::ofstream(home / "old/changed.txt") << "y";
  fs::create_directories(home / "made/deep");
  fs::create_symlink("/", home / "made/link");
  fs::remove(home / "emptied/gone.txt");
  EXPECT_EQ(changed(mark), (Paths{"emptied", "made/deep", "made/link", "old/changed.txt"}));
}

TEST_F(ChangedPaths, At_the_top_it_is_seen_when_something_goes) {
  put("gone.txt");
  put("kept.txt");
  const auto mark = marked();
  fs::remove(home / "gone.txt");
  EXPECT_EQ(changed(mark), Paths{"."});
}

TEST_F(ChangedPaths, Are_not_too_many_nor_too_long) {
  const auto mark = marked();
  put(std::string(200, 'd') + "/" + std::string(200, 'f'));
  EXPECT_EQ(changed(mark), Paths{std::string(200, 'd') + "..."});
  for (int i = 0; i < 20; ++i) put(std::to_string(i));
  EXPECT_EQ(changed(mark).size(), changed_paths_max);
}

}  // namespace changed_paths_test
}  // namespace sluice::sessions
