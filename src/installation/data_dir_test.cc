#include "installation/data_dir.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>

namespace sluice::installation {
namespace data_dir_test {

class DataDirTest : public testing::Test {
 protected:
  void SetUp() override {
    char path[] = "/tmp/sluice_data_dir_test_XXXXXX";
    root = mkdtemp(path);
  }
  void TearDown() override { std::filesystem::remove_all(root); }
  static mode_t mode_of(const std::string& path) {
    struct stat info{};
    return stat(path.c_str(), &info) == 0 ? info.st_mode & 0777u : 0;
  }
  std::string root;
};

TEST_F(DataDirTest, The_data_directory_and_its_new_parents_are_private) {
  const auto data = DataDir::open(root + "/a/b");
  ASSERT_TRUE(data);
  EXPECT_EQ(mode_of(root + "/a/b"), 0700u);
  EXPECT_EQ(data.value().file("x"), data.value().path() + "/x");
}

TEST_F(DataDirTest, A_data_directory_belongs_to_one_server_at_a_time) {
  {
    const auto first = DataDir::open(root);
    ASSERT_TRUE(first);
    const auto second = DataDir::open(root);
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().kind, ErrorKind::conflict);
    EXPECT_NE(second.error().what.find("is in use by another server"), std::string::npos);
  }
  EXPECT_TRUE(DataDir::open(root));
}

TEST_F(DataDirTest, A_private_file_is_complete_and_private_and_leaves_no_draft) {
  const auto path = root + "/f";
  ASSERT_TRUE(write_private_file(path, "one"));
  ASSERT_TRUE(write_private_file(path, "two"));
  EXPECT_EQ(mode_of(path), 0600u);
  const auto content = read_small_file(path);
  ASSERT_TRUE(content);
  EXPECT_EQ(content.value(), "two");
  EXPECT_FALSE(std::filesystem::exists(path + ".tmp"));
}

TEST_F(DataDirTest, A_file_that_is_missing_is_not_an_error_and_one_that_cannot_be_written_is) {
  const auto content = read_small_file(root + "/none");
  ASSERT_TRUE(content);
  EXPECT_FALSE(content.value());
  EXPECT_FALSE(write_private_file(root + "/no/such/dir", "x"));
}

}  // namespace data_dir_test
}  // namespace sluice::installation
