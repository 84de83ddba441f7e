// H-4: what happens to the files of a workspace is seen from outside, all of it.
#include <algorithm>
#include <functional>
#include <set>
#include <thread>

#include "base/bytes.h"
#include "workspace/tree_fixture.h"
#include "workspace/watched_tree.h"

namespace sluice::workspace {
namespace watcher_test {

namespace fs = std::filesystem;
using Kind = FileNews::Kind;

class WatcherTest : public TreeTest {
 protected:
  WatcherTest() {
    make_directory("w");
    root = open_directory("w");
  }

  void watch(WatchRules rules = {}) {
    watching = watcher
                   ->watch(root.get(), std::move(rules),
                           [this](std::vector<FileNews> some) {
                             for (auto& one : some) news.push_back(std::move(one));
                             if (on_news) on_news();
                           })
                   .take();
  }
  // Runs the loop until it holds; a test that waits for nothing fails after a minute.
  void run_until(const std::function<bool()>& holds) {
    if (holds()) return;
    bool timed_out = false;
    const world::Timer limit = reactor->after({60'000}, [&] {
      timed_out = true;
      reactor->stop();
    });
    on_news = [&] {
      if (holds()) reactor->stop();
    };
    reactor->run();
    on_news = nullptr;
    EXPECT_FALSE(timed_out) << news.size() << " news";
  }
  // Lets the loop turn until nothing is under way.
  void run_a_while(int64_t ms) {
    const world::Timer end = reactor->after({ms}, [&] { reactor->stop(); });
    reactor->run();
  }
  std::set<std::string> paths(Kind kind) const {
    std::set<std::string> out;
    for (const auto& one : news) {
      if (one.kind == kind) out.insert(one.path);
    }
    return out;
  }
  std::string story() {
    std::string out;
    for (const auto& one : std::exchange(news, {})) {
      out += (out.empty() ? "" : ", ") + std::string(one.name()) + (one.path.empty() ? "" : " ") + one.path;
    }
    return out;
  }
  std::string settled() {
    watching->settle();
    return story();
  }

  std::unique_ptr<world::Reactor> reactor = world::make_reactor().take();
  world::Metrics metrics;
  std::unique_ptr<Watcher> watcher = make_watcher(*reactor, metrics).take();
  OwnedFd root;
  std::vector<FileNews> news;
  std::function<void()> on_news;
  std::unique_ptr<Watching> watching;
};

TEST_F(WatcherTest, H_4_files_are_told_as_they_come_change_and_go) {
  write("w/old", "x");
  watch();
  write("w/d/fresh", "x");
  run_until([&] { return news.size() == 1; });
  EXPECT_EQ(story(), "create d/fresh");
  write("w/d/fresh", "y");
  write("w/old", "y");
  run_until([&] { return news.size() == 2; });
  EXPECT_EQ(story(), "change d/fresh, change old");
  fs::remove(path("w/d/fresh"));
  run_until([&] { return !news.empty(); });
  EXPECT_EQ(story(), "delete d/fresh");
}

TEST_F(WatcherTest, What_was_there_at_the_start_is_no_news) {
  write("w/a/b/c", "x");
  watch();
  EXPECT_EQ(settled(), "");
  write("w/a/b/c", "y");
  EXPECT_EQ(settled(), "change a/b/c");
}

TEST_F(WatcherTest, Saving_by_renaming_over_a_file_is_a_change) {
  write("w/f", "x");
  watch();
  run_a_while(1);
  write("w/f.tmp", "y");
  fs::rename(path("w/f.tmp"), path("w/f"));
  watching->settle();
  EXPECT_EQ(paths(Kind::changed), (std::set<std::string>{"f"}));
  EXPECT_FALSE(paths(Kind::created).contains("f"));
}

TEST_F(WatcherTest, A_draft_on_its_way_to_another_name_is_no_news) {
  watch();
  write("w/.sluice-edit-1", "one");
  fs::rename(path("w/.sluice-edit-1"), path("w/a"));
  EXPECT_EQ(settled(), "create a");
}

TEST_F(WatcherTest, Links_are_files_and_are_not_followed) {
  write("outside/f", "x");
  watch();
  link("w/l", path("outside"));
  EXPECT_EQ(settled(), "create l");
  write("outside/g", "x");
  EXPECT_EQ(settled(), "");
}

TEST_F(WatcherTest, H_4_nested_directories_made_without_a_pause_lose_nothing) {
  watch();
  std::set<std::string> expected;
  for (int i = 0; i < 300; ++i) {
    std::string at = "n" + std::to_string(i);
    for (int depth = 0; depth < 5; ++depth) {
      write("w/" + at + "/f", "x");
      expected.insert(at + "/f");
      at += "/d";
    }
  }
  run_until([&] { return paths(Kind::created).size() == expected.size(); });
  EXPECT_EQ(paths(Kind::created), expected);
  EXPECT_EQ(news.size(), expected.size());
}

TEST_F(WatcherTest, H_4_nested_directories_made_by_another_thread_lose_nothing) {
  watch();
  std::thread writer([this] {
    for (int i = 0; i < 300; ++i) write("w/n" + std::to_string(i) + "/a/b/c/d/f", "x");
  });
  run_until([&] { return paths(Kind::created).size() == 300; });
  writer.join();
  EXPECT_EQ(news.size() - paths(Kind::changed).size(), 300u);
}

TEST_F(WatcherTest, H_4_thousands_of_files_are_all_told) {
  for (int d = 0; d < 20; ++d) make_directory("w/d" + std::to_string(d));
  watch();
  const auto name = [](int i) { return "d" + std::to_string(i % 20) + "/f" + std::to_string(i); };
  for (int i = 0; i < 2000; ++i) write("w/" + name(i), "x");
  run_until([&] { return paths(Kind::created).size() == 2000; });
  news.clear();
  for (int i = 0; i < 2000; ++i) write("w/" + name(i), "y");
  run_until([&] { return paths(Kind::changed).size() == 2000; });
  EXPECT_TRUE(paths(Kind::created).empty());
  news.clear();
  for (int i = 0; i < 2000; ++i) fs::remove(path("w/" + name(i)));
  run_until([&] { return paths(Kind::deleted).size() == 2000; });
  EXPECT_EQ(news.size(), 2000u);
}

TEST_F(WatcherTest, A_burst_of_changes_of_one_file_is_told_once) {
  watch({.gather_ms = 1000});
  for (int i = 0; i < 500; ++i) write("w/f", std::string(static_cast<std::size_t>(i), 'x'));
  EXPECT_EQ(settled(), "create f");
}

TEST_F(WatcherTest, Ignored_directories_are_not_watched_anywhere) {
  write("w/.git/old", "x");
  watch();
  write("w/.git/HEAD", "x");
  write("w/a/node_modules/m/f", "x");
  write("w/a/f", "x");
  write("w/b/.git", "a file of that name");
  watching->settle();
  EXPECT_EQ(paths(Kind::created), (std::set<std::string>{"a/f", "b/.git"}));
  EXPECT_EQ(news.size(), 2u);
}

TEST_F(WatcherTest, Directories_that_move_take_their_files_along) {
  write("w/a/deep/f", "x");
  watch();
  fs::rename(path("w/a"), path("w/b"));
  watching->settle();
  EXPECT_EQ(paths(Kind::deleted), (std::set<std::string>{"a/deep/f"}));
  EXPECT_EQ(paths(Kind::created), (std::set<std::string>{"b/deep/f"}));
  story();
  write("w/b/deep/f", "y");
  write("w/b/deep/g", "y");
  EXPECT_EQ(settled(), "change b/deep/f, create b/deep/g");
  fs::rename(path("w/b"), path("away"));
  watching->settle();
  EXPECT_EQ(paths(Kind::deleted), (std::set<std::string>{"b/deep/f", "b/deep/g"}));
  story();
  write("away/deep/f", "z");
  EXPECT_EQ(settled(), "");
  fs::rename(path("away"), path("w/back"));
  watching->settle();
  EXPECT_EQ(paths(Kind::created), (std::set<std::string>{"back/deep/f", "back/deep/g"}));
}

TEST_F(WatcherTest, A_directory_removed_and_made_again_is_still_watched) {
  write("w/d/f", "x");
  watch();
  for (int i = 0; i < 20; ++i) {
    fs::remove_all(path("w/d"));
    write("w/d/f", "x");
  }
  EXPECT_EQ(settled(), "change d/f");
  write("w/d/g", "x");
  EXPECT_EQ(settled(), "create d/g");
}

TEST_F(WatcherTest, Names_that_are_no_text_are_told_as_text) {
  watch();
  write("w/\xff\xfe/caf\xe9\n", "x");
  watching->settle();
  ASSERT_EQ(news.size(), 1u);
  EXPECT_TRUE(is_utf8(news[0].path));
}

TEST_F(WatcherTest, More_directories_than_allowed_are_an_overflow_and_the_others_are_still_told) {
  for (const auto* name : {"w/a/f", "w/b/f", "w/c/f"}) write(name, "x");
  watch({.directories_max = 3});
  EXPECT_EQ(settled(), "overflow");
  for (const auto* name : {"w/f", "w/a/f", "w/b/f", "w/c/f"}) write(name, "y");
  watching->settle();
  EXPECT_EQ(news.size(), 3u);
}

TEST_F(WatcherTest, Workspaces_with_many_directories_share_the_watches_and_leave_some_to_the_next) {
  watcher = make_watcher(*reactor, metrics, {.all = 40, .of_each_at_least = 2}).take();
  for (const auto* tree : {"w", "v"}) {
    for (int i = 0; i < 60; ++i) make_directory(std::string(tree) + "/d" + std::to_string(i));
  }
  make_directory("u/d");
  const auto& watched = metrics.gauge("sluice_watched_directories", "");
  watch();
  EXPECT_EQ(watched.value(), 20) << "one may have half of them";
  EXPECT_EQ(settled(), "overflow");
  const OwnedFd second_root = open_directory("v");
  auto second = watcher->watch(second_root.get(), {}, [](const auto&) {}).take();
  EXPECT_EQ(watched.value(), 30);
  const OwnedFd third_root = open_directory("u");
  std::vector<std::string> heard;
  auto third = watcher
                   ->watch(third_root.get(), {},
                           [&](const std::vector<FileNews>& some) {
                             for (const auto& one : some) heard.push_back(one.path);
                           })
                   .take();
  write("u/d/f", "x");
  third->settle();
  EXPECT_EQ(heard, std::vector<std::string>{"d/f"});
}

TEST_F(WatcherTest, A_workspace_has_its_first_watches_whatever_others_have) {
  watcher = make_watcher(*reactor, metrics, {.all = 0, .of_each_at_least = 2}).take();
  for (const auto* name : {"w/a/f", "w/b/f"}) write(name, "x");
  watch();
  EXPECT_EQ(metrics.gauge("sluice_watched_directories", "").value(), 2);
  EXPECT_EQ(settled(), "overflow");
}

TEST_F(WatcherTest, The_end_of_a_watch_does_not_wait_until_a_tree_without_end_is_looked_at) {
  watcher = make_watcher(*reactor, metrics, {.all = 0, .of_each_at_least = 2}).take();
  for (int i = 0; i < 14'000; ++i) make_directory("w/d" + std::to_string(i));
  watch();
  const auto& overflows = metrics.counter("sluice_file_news_overflows_total", "");
  EXPECT_EQ(overflows.value(), 1u) << "not all have a watch";
  watching->settle();
  EXPECT_EQ(overflows.value(), 2u) << "not all were looked at";
  watching->settle();
  EXPECT_EQ(overflows.value(), 2u);
}

TEST_F(WatcherTest, More_news_than_allowed_are_an_overflow) {
  watch({.gather_ms = 10'000, .pending_max = 10});
  for (int i = 0; i < 20; ++i) write("w/f" + std::to_string(i), "x");
  watching->settle();
  EXPECT_EQ(news.size(), 11u);
  EXPECT_EQ(news.back().kind, Kind::overflow);
  story();
  write("w/later", "x");
  EXPECT_EQ(settled(), "create later");
}

TEST_F(WatcherTest, H_4_an_overflow_of_the_kernel_is_told_and_nothing_later_is_lost) {
  write("w/gone", "x");
  watch();
  int limit = 16384;
  std::ifstream("/proc/sys/fs/inotify/max_queued_events") >> limit;
  const std::string noisy[2] = {path("w/noise-a"), path("w/noise-b")};
  for (const auto& name : noisy) std::ofstream(name) << "x";
  for (int i = 0; i <= limit; ++i) SLUICE_CHECK(truncate(noisy[i % 2].c_str(), i) == 0);
  write("w/unseen/deep/f", "x");  // the kernel says nothing of it
  fs::remove(path("w/gone"));
  watching->settle();
  EXPECT_EQ(std::count_if(news.begin(), news.end(), [](const auto& one) { return one.kind == Kind::overflow; }), 1);
  EXPECT_TRUE(paths(Kind::created).contains("unseen/deep/f"));
  EXPECT_TRUE(paths(Kind::deleted).contains("gone"));
  story();
  write("w/unseen/deep/g", "x");
  EXPECT_EQ(settled(), "create unseen/deep/g");
}

TEST_F(WatcherTest, A_tree_too_large_for_one_turn_is_watched_in_the_next_ones) {
  for (int i = 0; i < 1000; ++i) write("w/d" + std::to_string(i) + "/f", "x");
  watch();
  // Most of the directories were not looked at yet, and they change already.
  std::set<std::string> expected;
  for (int i = 0; i < 1000; ++i) {
    write("w/d" + std::to_string(i) + "/g", "x");
    expected.insert("d" + std::to_string(i) + "/g");
  }
  const auto all_told = [&] {
    const auto created =
        paths(Kind::created);  // and perhaps what was written just before, by the same tick of the clock
    return std::includes(created.begin(), created.end(), expected.begin(), expected.end());
  };
  run_until(all_told);
  story();
  write("w/d999/f", "y");
  EXPECT_EQ(settled(), "change d999/f");
}

TEST_F(WatcherTest, Workspaces_do_not_hear_of_each_other) {
  make_directory("v");
  const OwnedFd other_root = open_directory("v");
  std::vector<std::string> heard;
  watch();
  auto other = watcher
                   ->watch(other_root.get(), {},
                           [&](std::vector<FileNews> some) {
                             for (auto& one : some) heard.push_back(one.path);
                           })
                   .take();
  write("v/b", "x");
  write("w/a", "x");
  EXPECT_EQ(settled(), "create a");
  EXPECT_TRUE(heard.empty());
  other->settle();
  EXPECT_EQ(heard, (std::vector<std::string>{"b"}));
}

TEST_F(WatcherTest, Two_may_watch_the_same_workspace_and_one_may_go) {
  std::vector<std::string> heard;
  watch();
  auto other =
      watcher->watch(root.get(), {}, [&](std::vector<FileNews> some) { heard.push_back(some[0].path); }).take();
  write("w/d/a", "x");
  other->settle();
  EXPECT_EQ(heard, (std::vector<std::string>{"d/a"}));
  other.reset();
  write("w/d/b", "x");
  EXPECT_EQ(settled(), "create d/a, create d/b");
}

TEST_F(WatcherTest, The_listener_may_drop_the_watch) {
  auto dropped = watcher->watch(root.get(), {}, nullptr).take();
  dropped = watcher
                ->watch(root.get(), {},
                        [&](std::vector<FileNews>) {
                          dropped.reset();
                          reactor->stop();
                        })
                .take();
  write("w/f", "x");
  run_a_while(10'000);
  EXPECT_EQ(dropped, nullptr);
}

TEST_F(WatcherTest, Dropping_a_watch_gives_its_directories_back) {
  write("w/a/b/f", "x");
  watch();
  EXPECT_NE(metrics.to_text().find("sluice_watched_directories 3"), std::string::npos);
  watching.reset();
  EXPECT_NE(metrics.to_text().find("sluice_watched_directories 0"), std::string::npos);
  write("w/a/b/f", "y");
  run_a_while(30);
  EXPECT_TRUE(news.empty());
}

}  // namespace watcher_test
}  // namespace sluice::workspace
