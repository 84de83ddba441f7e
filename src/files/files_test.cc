#include "files/files.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "base/bytes.h"
#include "base/check.h"
#include "base/digest.h"
#include "files/upkeep.h"

namespace sluice::files {
namespace files_test {

namespace fs = std::filesystem;

class ContentsTest : public testing::Test {
 protected:
  ContentsTest() {
    std::string pattern = testing::TempDir() + "contentsXXXXXX";
    SLUICE_CHECK(mkdtemp(pattern.data()) != nullptr);
    home = pattern;
    open();
  }
  ~ContentsTest() override { fs::remove_all(home); }

  void open() { contents = open_directory(home / "contents").take(); }
  std::string put(std::string_view bytes) { return contents->put(bytes).take(); }
  ErrorKind refusal_of(std::string_view name) const {
    const auto got = contents->get(name);
    return got.error().kind;
  }
  fs::path file_of(const std::string& sha256) const {
    return home / "contents" / sha256.substr(0, 2) / sha256.substr(2);
  }
  std::size_t count_files() const {
    std::size_t count = 0;
    for (const auto& entry : fs::recursive_directory_iterator(home)) count += entry.is_regular_file() ? 1 : 0;
    return count;
  }

  fs::path home;
  std::unique_ptr<Contents> contents;
};

TEST_F(ContentsTest, What_was_put_is_got_by_its_digest) {
  const std::string bytes("a\0b\xff", 4);
  const std::string sha256_hex = put(bytes);
  EXPECT_EQ(sha256_hex, to_hex(sha256(bytes)));
  EXPECT_EQ(contents->get(sha256_hex).take(), bytes);
}

TEST_F(ContentsTest, Nothing_is_a_content_too) {
  EXPECT_EQ(put(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(contents->get("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855").take(), "");
}

TEST_F(ContentsTest, The_same_content_is_kept_once) {
  EXPECT_EQ(put("same"), put("same"));
  EXPECT_EQ(count_files(), 1u);
}

TEST_F(ContentsTest, It_survives_the_process) {
  const std::string sha256_hex = put("kept");
  open();
  EXPECT_EQ(contents->get(sha256_hex).take(), "kept");
}

TEST_F(ContentsTest, What_an_interrupted_put_left_is_swept) {
  const std::string sha256_hex = put("kept");
  std::ofstream(home / "contents" / "unfinished" / "17") << "half";
  open();
  EXPECT_EQ(count_files(), 1u);
  EXPECT_EQ(contents->get(sha256_hex).take(), "kept");
}

TEST_F(ContentsTest, Names_that_are_no_digest_are_not_found) {
  for (const auto* name :
       {"", "../../etc/passwd", "AB", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b85G"}) {
    EXPECT_EQ(refusal_of(name), ErrorKind::not_found) << name;
  }
  EXPECT_EQ(refusal_of(std::string(64, 'a')), ErrorKind::not_found);
}

TEST_F(ContentsTest, A_damaged_content_is_told_and_mended_by_putting_it_again) {
  const std::string sha256_hex = put("precious");
  std::ofstream(file_of(sha256_hex)) << "damaged!";
  EXPECT_EQ(refusal_of(sha256_hex), ErrorKind::corrupt);
  EXPECT_EQ(put("precious"), sha256_hex);
  EXPECT_EQ(contents->get(sha256_hex).take(), "precious");
}

TEST_F(ContentsTest, A_put_that_fails_leaves_nothing) {
  rlimit before{};
  SLUICE_CHECK(getrlimit(RLIMIT_FSIZE, &before) == 0);
  const rlimit small{.rlim_cur = 1000, .rlim_max = before.rlim_max};
  const auto was = signal(SIGXFSZ, SIG_IGN);
  SLUICE_CHECK(setrlimit(RLIMIT_FSIZE, &small) == 0);
  const auto refused = contents->put(std::string(2000, 'x'));
  SLUICE_CHECK(setrlimit(RLIMIT_FSIZE, &before) == 0);
  signal(SIGXFSZ, was);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::unavailable);
  EXPECT_EQ(count_files(), 0u);
}

TEST_F(ContentsTest, Many_threads_may_put_at_once) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([this] {
      for (int i = 0; i < 20; ++i) EXPECT_TRUE(contents->put("content " + std::to_string(i)));
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(count_files(), 20u);
}

TEST_F(ContentsTest, Whoever_only_looks_leaves_alone_what_is_being_put) {
  const std::string sha256_hex = put("kept");
  std::ofstream(home / "contents" / "unfinished" / "17") << "half";
  const auto looking = look_into_directory(home / "contents").take();
  EXPECT_EQ(looking->get(sha256_hex).take(), "kept");
  EXPECT_TRUE(fs::exists(home / "contents" / "unfinished" / "17"));
  EXPECT_FALSE(look_into_directory(home / "missing"));
  EXPECT_FALSE(fs::exists(home / "missing"));
}

TEST_F(ContentsTest, Only_what_is_old_and_nobody_uses_is_swept) {
  const auto used = put("used");
  const auto old = put("old");
  const auto fresh = put("fresh");
  const auto day_ago = fs::file_time_type::clock::now() - std::chrono::hours(25);
  for (const auto& name : {used, old}) fs::last_write_time(file_of(name), day_ago);
  const auto counted = count_unused(home / "contents", {86'400'000}, [&](std::string_view sha256_hex) {
                         return sha256_hex == used;
                       }).take();
  EXPECT_EQ(counted.count, 1);
  EXPECT_EQ(counted.bytes, 3);
  EXPECT_TRUE(fs::exists(file_of(old)));
  const auto swept = sweep_directory(home / "contents", {86'400'000}, [&](std::string_view sha256_hex) {
                       return sha256_hex == used;
                     }).take();
  EXPECT_EQ(swept.count, 1);
  EXPECT_EQ(swept.bytes, 3);
  EXPECT_TRUE(fs::exists(file_of(used)));
  EXPECT_FALSE(fs::exists(file_of(old)));
  EXPECT_TRUE(fs::exists(file_of(fresh)));
  EXPECT_EQ(sweep_directory(home / "missing", {0}, [](std::string_view) { return false; }).take().count, 0);
}

TEST_F(ContentsTest, A_place_that_cannot_be_made_is_an_error_that_names_it) {
  const auto opened = open_directory(home / "missing" / "contents");
  ASSERT_FALSE(opened);
  EXPECT_NE(opened.error().what.find("missing/contents"), std::string::npos);
}

}  // namespace files_test
}  // namespace sluice::files
