// What kept workspaces take of the disk.
#include "sessions/layer_bytes.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "base/check.h"

namespace sluice::sessions {
namespace layer_bytes_test {

namespace fs = std::filesystem;

class LayerBytesTest : public testing::Test {
 protected:
  LayerBytesTest() {
    std::string pattern = testing::TempDir() + "bytesXXXXXX";
    SLUICE_CHECK(mkdtemp(pattern.data()) != nullptr);
    state = pattern;
    conversation.ulid.bytes[0] = 1;
    home = state / "workspaces" / conversation.text() / "none";
  }
  ~LayerBytesTest() override { fs::remove_all(state); }

  void write(const fs::path& path, std::size_t bytes) {
    fs::create_directories(path.parent_path());
    std::ofstream(path) << std::string(bytes, 'x');
  }

  fs::path state, home;
  model::ConversationId conversation;
};

constexpr int64_t mib = 1024 * 1024;

TEST_F(LayerBytesTest, A_layer_counts_its_blocks_and_each_of_its_names) {
  write(home / "0001/deep/down/large", 2 * mib);
  for (int i = 0; i < 100; ++i) write(home / "0001" / ("empty" + std::to_string(i)), 0);
  const auto bytes = layer_bytes(home / "0001");
  EXPECT_GE(bytes, 2 * mib + 100 * 1024);
  EXPECT_LT(bytes, 3 * mib);
}

TEST_F(LayerBytesTest, Links_count_as_links_and_are_not_followed) {
  write(state / "elsewhere", 2 * mib);
  fs::create_directories(home / "0001");
  fs::create_symlink(state / "elsewhere", home / "0001/link");
  fs::create_directory_symlink(state, home / "0001/all");
  EXPECT_LT(layer_bytes(home / "0001"), mib);
}

TEST_F(LayerBytesTest, A_workspace_has_all_layers_of_the_conversation_but_no_drafts) {
  write(home / "0001/a", mib);
  write(home / "0002/b", mib);
  write(home.parent_path() / "another-repository/0001/c", mib);
  write(home / "run.part/d", mib);
  EXPECT_GE(workspace_bytes(home), 3 * mib);
  EXPECT_LT(workspace_bytes(home), 4 * mib);
  const auto with_draft = workspace_bytes_with(home, {home / "run.part", home / "0003"});
  EXPECT_GE(with_draft, 4 * mib);
  const auto in_place = workspace_bytes_with(home, {home / "run.part", home / "0002"});
  EXPECT_EQ(in_place, with_draft - layer_bytes(home / "0002")) << "it takes the place of that one";
}

TEST_F(LayerBytesTest, All_workspaces_are_found_with_what_they_take) {
  write(home / "0001/a", mib);
  write(state / "workspaces/of-run/held", mib);
  const auto found = list_workspaces(state);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].conversation, conversation);
  EXPECT_EQ(found[0].bytes, workspace_bytes(home));
  EXPECT_TRUE(list_workspaces(state / "nowhere").empty());
}

TEST_F(LayerBytesTest, A_workspace_that_is_set_aside_is_gone_and_is_removed_at_the_latest_when_a_server_starts) {
  EXPECT_EQ(set_workspace_aside(state, conversation), std::nullopt);
  for (int i = 0; i < 2; ++i) {
    write(home / "0001/a", 1);
    const auto aside = set_workspace_aside(state, conversation);
    ASSERT_TRUE(aside);
    EXPECT_TRUE(fs::exists(fs::path(*aside) / "none/0001/a"));
    EXPECT_FALSE(fs::exists(home));
  }
  EXPECT_EQ(set_aside_unkept(state).size(), 2U);
  EXPECT_TRUE(list_workspaces(state).empty());
}

}  // namespace layer_bytes_test
}  // namespace sluice::sessions
