#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>

#include <csignal>
#include <functional>
#include <thread>

#include "workspace/tree_fixture.h"

namespace sluice::workspace {
namespace layers_test {

using Tree = std::map<std::string, std::string>;
namespace fs = std::filesystem;

class LayersTest : public TreeTest {
 protected:
  Result<Unit> freeze_changes(TreeLimits limits = {}) {
    return freeze(open_directory("changes").get(), path("frozen"), {}, limits);
  }
  void make_opaque(const std::string& below) {
    make_directory(below);
    SLUICE_CHECK(setxattr(path(below).c_str(), "user.overlay.opaque", "y", 1, 0) == 0);
  }
  bool is_opaque(const std::string& below) {
    char value = 0;
    return getxattr(path(below).c_str(), "user.overlay.opaque", &value, 1) == 1 && value == 'y';
  }
  mode_t mode(const std::string& below) {
    struct stat about{};
    SLUICE_CHECK(lstat(path(below).c_str(), &about) == 0);
    return about.st_mode & 07777;
  }
  // As somebody who is not root; true if it ended well.
  bool as_nobody(const std::function<bool()>& act) {
    if (geteuid() != 0) return act();
    return in_child([&] { return setgid(65534) == 0 && setuid(65534) == 0 && act(); });
  }
  static bool in_child(const std::function<bool()>& act) {
    const pid_t child = fork();
    if (child == 0) _exit(act() ? 0 : 1);
    int status = 0;
    SLUICE_CHECK(waitpid(child, &status, 0) == child);
    return status == 0;
  }
};

TEST_F(LayersTest, Copies_and_diffs_stop_when_nobody_waits_for_them_and_leave_nothing) {
  write("changes/a", "1");
  std::stop_source stop;
  EXPECT_TRUE(freeze_changes({.stop = stop.get_token()})) << "not before";
  stop.request_stop();
  EXPECT_TRUE(remove_tree(path("frozen")));
  const auto frozen = freeze_changes({.stop = stop.get_token()});
  ASSERT_FALSE(frozen);
  EXPECT_NE(frozen.error().what.find("it was stopped"), std::string::npos) << frozen.error().what;
  EXPECT_FALSE(merge({path("changes")}, path("merged"), {}, {.stop = stop.get_token()}));
  EXPECT_FALSE(diff(open_directory("changes").get(), {}, {}, {.stop = stop.get_token()}));
  EXPECT_FALSE(fs::exists(path("frozen")) || fs::exists(path("merged")));
}

TEST_F(LayersTest, A_write_that_stops_half_way_says_why) {
  write("changes/big", std::string(300'000, 'x'));
  const bool said_why = in_child([this] {
    // Like a full disk: the first write is cut short, the second is refused.
    const rlimit most{.rlim_cur = 200'000, .rlim_max = 200'000};
    SLUICE_CHECK(setrlimit(RLIMIT_FSIZE, &most) == 0 && signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
    const auto frozen = freeze_changes();
    return !frozen && frozen.error().what == "write big: File too large";
  });
  EXPECT_TRUE(said_why);
}

TEST_F(LayersTest, A_frozen_layer_is_a_copy_with_what_it_hides) {
  write("changes/a/b", "one");
  write("changes/run", "#!");
  fs::permissions(path("changes/run"), fs::perms(0755));
  link("changes/a/out", "/etc/passwd");
  hide("changes/gone");
  make_directory("changes/empty");
  make_opaque("changes/whole");
  ASSERT_TRUE(freeze_changes());
  EXPECT_EQ(look("frozen"), look("changes"));
  EXPECT_EQ(look("frozen")["gone"], "hidden");
  EXPECT_EQ(look("frozen")["a/out"], "link to /etc/passwd");
  EXPECT_TRUE(is_opaque("frozen/whole"));
  EXPECT_FALSE(is_opaque("frozen/a"));
}

TEST_F(LayersTest, Times_stay_and_dangerous_bits_and_attributes_go) {
  write("changes/f", "x");
  fs::permissions(path("changes/f"), fs::perms(06755));
  SLUICE_CHECK(setxattr(path("changes/f").c_str(), "user.mine", "x", 1, 0) == 0);
  const timespec times[2] = {{1000, 0}, {1000, 5}};
  SLUICE_CHECK(utimensat(AT_FDCWD, path("changes/f").c_str(), times, 0) == 0);
  ASSERT_TRUE(freeze_changes());
  struct stat about{};
  SLUICE_CHECK(stat(path("frozen/f").c_str(), &about) == 0);
  EXPECT_EQ(about.st_mtim.tv_sec, 1000);
  EXPECT_EQ(about.st_mtim.tv_nsec, 5);
  EXPECT_EQ(mode("frozen/f"), 0755u);
  char value = 0;
  EXPECT_LT(getxattr(path("frozen/f").c_str(), "user.mine", &value, 1), 0);
}

TEST_F(LayersTest, Pipes_sockets_and_devices_are_left_out_and_nobody_waits_for_them) {
  write("changes/f", "x");
  SLUICE_CHECK(mkfifo(path("changes/pipe").c_str(), 0666) == 0);
  const OwnedFd socket_fd(socket(AF_UNIX, SOCK_STREAM, 0));
  sockaddr_un address{.sun_family = AF_UNIX};
  path("changes/socket").copy(address.sun_path, sizeof address.sun_path - 1);
  SLUICE_CHECK(bind(socket_fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
  ASSERT_TRUE(freeze_changes());
  EXPECT_EQ(look("frozen"), (Tree{{"f", "file x"}}));
}

TEST_F(LayersTest, Names_are_bytes) {
  const std::string odd = "new\nline \xff\xfe \"q\"";
  write("changes/" + odd, "x");
  ASSERT_TRUE(freeze_changes());
  EXPECT_EQ(read("frozen/" + odd), "x");
}

TEST_F(LayersTest, Hard_links_become_copies) {
  write("changes/a", "x");
  fs::create_hard_link(path("changes/a"), path("changes/b"));
  ASSERT_TRUE(freeze_changes());
  write("frozen/a", "y");
  EXPECT_EQ(read("frozen/b"), "x");
}

TEST_F(LayersTest, A_sparse_giant_costs_what_it_holds) {
  write("changes/giant", "begin");
  SLUICE_CHECK(truncate(path("changes/giant").c_str(), 1LL << 40) == 0);
  ASSERT_TRUE(freeze_changes({.bytes_max = 100'000}));
  EXPECT_EQ(fs::file_size(path("frozen/giant")), 1ull << 40);
  struct stat about{};
  SLUICE_CHECK(stat(path("frozen/giant").c_str(), &about) == 0);
  EXPECT_LT(about.st_blocks, 100);
}

TEST_F(LayersTest, A_file_that_grows_without_end_is_copied_to_where_it_ended_when_we_came) {
  write("changes/log", std::string(100'000, 'a'));
  std::atomic<bool> done{false};
  std::thread writer([&] {
    std::ofstream out(path("changes/log"), std::ios::app);
    while (!done && out.tellp() < 500'000'000) out << std::string(10'000, 'b') << std::flush;
  });
  const auto frozen = freeze_changes({.bytes_max = 1LL << 40});
  done = true;
  writer.join();
  ASSERT_TRUE(frozen);
  EXPECT_LE(fs::file_size(path("frozen/log")), fs::file_size(path("changes/log")));
}

TEST_F(LayersTest, Past_a_limit_nothing_is_left) {
  write("changes/a", "12345");
  write("changes/b/c", "12345");
  EXPECT_TRUE(freeze_changes({.bytes_max = 10, .files_max = 3}));
  EXPECT_TRUE(remove_tree(path("frozen")));
  const auto heavy = freeze_changes({.bytes_max = 9});
  ASSERT_FALSE(heavy);
  EXPECT_EQ(heavy.error().kind, ErrorKind::invalid);
  EXPECT_EQ(heavy.error().what, "the workspace is too large to keep: it holds more than 9 bytes");
  EXPECT_FALSE(freeze_changes({.files_max = 2}));
  EXPECT_EQ(std::distance(fs::directory_iterator(home), {}), 1);
}

TEST_F(LayersTest, A_tree_too_deep_is_refused_and_can_still_be_removed) {
  make_directory("changes");
  OwnedFd at = open_directory("changes");
  for (int i = 0; i < 5000; ++i) {  // far more than a path, or a process' descriptors, can hold
    SLUICE_CHECK(mkdirat(at.get(), "deep", 0755) == 0);
    at = OwnedFd(openat(at.get(), "deep", O_PATH | O_DIRECTORY | O_CLOEXEC));
  }
  const auto frozen = freeze_changes();
  ASSERT_FALSE(frozen);
  EXPECT_NE(frozen.error().what.find("nested more than 128 deep"), std::string::npos);
  EXPECT_TRUE(remove_tree(path("changes")));
  EXPECT_TRUE(fs::is_empty(home));
}

TEST_F(LayersTest, Whoever_forbids_a_tree_to_themselves_does_not_forbid_it_to_us) {
  write("changes/locked/inner/f", "x");
  write("changes/secret", "y");
  SLUICE_CHECK(geteuid() != 0 || ::system(("chown -R 65534:65534 " + home.string()).c_str()) == 0);
  for (const auto* name : {"changes/locked/inner/f", "changes/locked/inner", "changes/locked", "changes/secret"}) {
    SLUICE_CHECK(chmod(path(name).c_str(), 0) == 0);
  }
  EXPECT_TRUE(as_nobody([&] { return bool(freeze_changes()); }));
  EXPECT_EQ(mode("frozen/secret"), 0u);
  EXPECT_EQ(mode("changes/secret"), 0u);
  EXPECT_TRUE(as_nobody([&] { return bool(remove_tree(path("changes"))); }));
  if (geteuid() != 0) {  // only root can look into what is forbidden
    for (const auto* name : {"frozen/locked", "frozen/locked/inner"})
      SLUICE_CHECK(chmod(path(name).c_str(), 0700) == 0);
    for (const auto* name : {"frozen/locked/inner/f", "frozen/secret"})
      SLUICE_CHECK(chmod(path(name).c_str(), 0600) == 0);
  }
  EXPECT_EQ(look("frozen")["locked/inner/f"], "file x");
  EXPECT_EQ(look("frozen")["secret"], "file y");
  EXPECT_TRUE(as_nobody([&] { return bool(remove_tree(path("frozen"))); }));
  EXPECT_TRUE(fs::is_empty(home));
}

TEST_F(LayersTest, As_root_the_copy_belongs_to_whom_it_is_for) {
  write("changes/d/f", "x");
  link("changes/l", "x");
  hide("changes/h");
  ASSERT_TRUE(freeze(open_directory("changes").get(), path("frozen"), {.uid = 4242, .gid = 4343}, {}));
  for (const auto* name : {"", "d", "d/f", "l", "h"}) {
    struct stat about{};
    SLUICE_CHECK(lstat((home / "frozen" / name).c_str(), &about) == 0);
    EXPECT_EQ(about.st_uid, geteuid() == 0 ? 4242u : geteuid()) << name;
  }
}

TEST_F(LayersTest, Merged_layers_read_like_all_of_them) {
  write("low/kept", "low");
  write("low/changed", "low");
  write("low/gone", "low");
  write("low/dir/kept", "low");
  write("low/dir/gone", "low");
  write("low/replaced/old", "low");
  write("low/file-to-dir", "low");
  write("low/dir-to-file/old", "low");
  write("top/changed", "top");
  hide("top/gone");
  hide("top/dir/gone");
  write("top/dir/more", "top");
  make_opaque("top/replaced");
  write("top/replaced/fresh", "top");
  write("top/file-to-dir/f", "top");
  write("top/dir-to-file", "top");
  ASSERT_TRUE(merge({path("top"), path("low")}, path("one"), {}, {}));
  const Tree expected = {{"changed", "file top"},      {"dir", "directory"},          {"dir-to-file", "file top"},
                         {"dir/gone", "hidden"},       {"dir/kept", "file low"},      {"dir/more", "file top"},
                         {"file-to-dir", "directory"}, {"file-to-dir/f", "file top"}, {"gone", "hidden"},
                         {"kept", "file low"},         {"replaced", "directory"},     {"replaced/fresh", "file top"}};
  EXPECT_EQ(look("one"), expected);
  EXPECT_TRUE(is_opaque("one/replaced"));
  EXPECT_TRUE(is_opaque("one/file-to-dir"));  // a file below the merged layers must not shine through
  EXPECT_FALSE(is_opaque("one/dir"));
}

TEST_F(LayersTest, What_came_back_after_it_was_hidden_hides_what_is_below_still) {
  write("low/dir/old", "low");
  hide("middle/dir");
  write("top/dir/fresh", "top");
  ASSERT_TRUE(merge({path("top"), path("middle")}, path("one"), {}, {}));
  EXPECT_TRUE(is_opaque("one/dir"));
  EXPECT_EQ(look("one"), (Tree{{"dir", "directory"}, {"dir/fresh", "file top"}}));
}

TEST_F(LayersTest, A_layer_that_is_missing_is_named) {
  const auto merged = merge({path("nowhere")}, path("one"), {}, {});
  ASSERT_FALSE(merged);
  EXPECT_NE(merged.error().what.find(path("nowhere")), std::string::npos);
}

TEST_F(LayersTest, Removing_what_is_not_there_is_fine_and_links_are_not_followed) {
  EXPECT_TRUE(remove_tree(path("nothing")));
  write("safe/f", "x");
  link("tree/l", path("safe"));
  EXPECT_TRUE(remove_tree(path("tree")));
  EXPECT_EQ(read("safe/f"), "x");
}

}  // namespace layers_test
}  // namespace sluice::workspace
