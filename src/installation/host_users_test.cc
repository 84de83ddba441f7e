#include "installation/host_users.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "config/config.h"
#include "installation/options.h"
#include "sandbox/sandbox.h"

namespace sluice::installation {
namespace host_users_test {

namespace fs = std::filesystem;

class HostUsers : public testing::Test {
 protected:
  HostUsers() {
    std::string pattern = testing::TempDir() + "host-usersXXXXXX";
    SLUICE_CHECK(mkdtemp(pattern.data()) != nullptr);
    data = pattern;
    fs::create_directories(state());
  }
  ~HostUsers() override { fs::remove_all(data); }

  std::string state() const { return data / "sandbox"; }
  uint32_t chosen(std::vector<std::string> flags = {}) const {
    const auto config = Config::read({std::move(flags), {}});
    SLUICE_CHECK(config);
    return sandbox_options(config.value(), data).host_uid;
  }
  void make_layer(uint32_t owner) const {
    const auto layer = fs::path(state()) / "workspaces/con_1/none/0001";
    fs::create_directories(layer);
    ASSERT_EQ(chown(layer.c_str(), owner, owner), 0);
  }

  fs::path data;
};

TEST_F(HostUsers, A_new_data_directory_has_user_ids_that_useradd_never_assigns) {
  constexpr uint32_t sub_uid_max = 600'100'000;  // of login.defs
  EXPECT_GT(chosen(), sub_uid_max);
  EXPECT_EQ(chosen(), sandbox::host_uid_default);
  EXPECT_LT(uint64_t{chosen()} + 65'536, uint64_t{1} << 31);
}

TEST_F(HostUsers, A_data_directory_keeps_the_user_ids_that_it_was_created_with) {
  ASSERT_TRUE(note_host_uid(state(), 300'000));
  EXPECT_EQ(chosen(), 300'000u);
  ASSERT_TRUE(note_host_uid(state(), 400'000)) << "it is written once";
  EXPECT_EQ(chosen(), 300'000u);
  EXPECT_EQ(chosen({"--sandbox.host_uid", "500000"}), 500'000u) << "the operator's word comes first";
}

TEST_F(HostUsers, A_data_directory_of_an_earlier_version_keeps_the_owners_of_its_workspaces) {
  if (geteuid() != 0) return;  // only root gives files to others
  make_layer(host_uid_of_earlier_version);
  EXPECT_EQ(chosen(), host_uid_of_earlier_version);
  ASSERT_TRUE(note_host_uid(state(), chosen()));
  fs::remove_all(fs::path(state()) / "workspaces");
  EXPECT_EQ(chosen(), host_uid_of_earlier_version) << "also when the last of them is gone";
}

TEST_F(HostUsers, A_data_directory_without_workspaces_is_recognised_by_its_group) {
  if (geteuid() != 0) return;  // only root gives files to others
  ASSERT_EQ(chown(state().c_str(), 0, 345'000), 0);
  EXPECT_EQ(chosen(), 345'000u);
  ASSERT_EQ(chown(state().c_str(), 0, 50), 0);
  EXPECT_EQ(chosen(), sandbox::host_uid_default) << "a group of the host is inherited from the directory above";
}

TEST_F(HostUsers, The_earlier_default_is_used_if_only_that_is_mapped) {
  EXPECT_EQ(default_host_uid("         0          0 4294967295\n", 4096), sandbox::host_uid_default);
  EXPECT_EQ(default_host_uid("0 1000000 1000000000\n", 4096), host_uid_of_earlier_version);
  EXPECT_EQ(default_host_uid("0 100000 65536\n", 4096), sandbox::host_uid_default) << "neither is; the trial says so";
  EXPECT_EQ(default_host_uid("0 100000 204096\n", 4096), sandbox::host_uid_default) << "one user too few";
  EXPECT_EQ(default_host_uid("", 4096), sandbox::host_uid_default);
}

TEST_F(HostUsers, Accounts_that_subuid_assigns_a_part_of_the_range_are_named) {
  constexpr std::string_view file =
      "ben:100000:65536\nanna:165536:65536\n# no line\nodd:x:1\nzero:200000:0\n1000:231072:10";
  using Names = std::vector<std::string>;
  EXPECT_EQ(owners_of_range(file, 200'000, 204'096), (Names{"anna (165536 to 231071)"}));
  EXPECT_EQ(owners_of_range(file, 165'535, 165'536), (Names{"ben (100000 to 165535)", "anna (165536 to 231071)"}));
  EXPECT_EQ(owners_of_range(file, 231'081, 231'081), (Names{"1000 (231072 to 231081)"}));
  EXPECT_EQ(owners_of_range(file, sandbox::host_uid_default, sandbox::host_uid_default + 4096), Names());
}

}  // namespace host_users_test
}  // namespace sluice::installation
