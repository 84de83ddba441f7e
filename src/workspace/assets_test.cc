// S-12: what comes back from a sandbox, and what does not.
#include <algorithm>

#include "workspace/tree_fixture.h"

namespace sluice::workspace {
namespace assets_test {

class AssetsTest : public TreeTest {
 protected:
  Assets collect(const AssetRules& rules = {}) { return collect_assets(open_directory("").get(), rules).take(); }
  static std::vector<std::string> names_of(const Assets& assets) {
    std::vector<std::string> names;
    for (const auto& file : assets.files) names.push_back(file.name);
    return names;
  }
  using Names = std::vector<std::string>;
};

TEST_F(AssetsTest, S_12_files_come_back_in_the_order_of_their_paths) {
  write("assets/b.txt", "b");
  write("assets/a/z.txt", "z");
  write("other/c.txt", "c");
  const auto assets = collect();
  EXPECT_EQ(names_of(assets), (Names{"z.txt", "b.txt"}));
  EXPECT_EQ(assets.files[0].bytes, "z");
  EXPECT_TRUE(assets.left_out.empty());
}

TEST_F(AssetsTest, Without_a_directory_there_are_none) {
  EXPECT_TRUE(collect().files.empty());
  EXPECT_TRUE(collect().left_out.empty());
}

TEST_F(AssetsTest, S_12_what_was_deleted_is_no_file_and_nothing_to_speak_of) {
  write("assets/a.txt", "a");
  hide("assets/gone.txt");
  EXPECT_EQ(names_of(collect()), (Names{"a.txt"}));
  EXPECT_TRUE(collect().left_out.empty());
  std::filesystem::remove_all(path("assets"));
  hide("assets");
  EXPECT_TRUE(collect().files.empty());
  EXPECT_TRUE(collect().left_out.empty());
}

TEST_F(AssetsTest, S_12_names_are_made_safe) {
  write("assets/a b&c/x y;rm.txt", "");
  write("assets/ä€\xff\n.txt", "");
  write("assets/..hidden.txt", "");
  write("assets/-q.txt", "");
  const auto assets = collect();
  EXPECT_EQ(names_of(assets), (Names{"-q.txt", "hidden.txt", "x_y_rm.txt", "____.txt"}));
}

TEST_F(AssetsTest, S_12_duplicates_are_suffixed) {
  write("assets/a/r.csv", "1");
  write("assets/b/r.csv", "2");
  write("assets/c/R.CSV", "3");
  write("assets/d/r-1.csv", "4");
  EXPECT_EQ(names_of(collect()), (Names{"r.csv", "r-1.csv", "R-2.CSV", "r-1-1.csv"}));
}

TEST_F(AssetsTest, Endless_names_are_shortened_before_their_extension) {
  write("assets/" + std::string(250, 'n') + ".txt", "");
  EXPECT_EQ(names_of(collect()), (Names{std::string(124, 'n') + ".txt"}));
}

TEST_F(AssetsTest, S_12_links_and_what_is_no_plain_file_stay) {
  write("secret.txt", "secret");
  link("assets/l.txt", path("secret.txt"));
  link("assets/d", home);
  SLUICE_CHECK(mkfifo(path("assets/p.txt").c_str(), 0666) == 0);
  const auto assets = collect();
  EXPECT_TRUE(assets.files.empty());
  EXPECT_EQ(assets.left_out,
            (Names{"assets/d is a link; links are not followed", "assets/l.txt is a link; links are not followed",
                   "assets/p.txt is not a plain file"}));
}

TEST_F(AssetsTest, S_12_a_link_in_place_of_the_directory_is_not_followed) {
  write("elsewhere/f.txt", "x");
  link("assets", path("elsewhere"));
  EXPECT_TRUE(collect().files.empty());
  EXPECT_EQ(collect().left_out, (Names{"assets is a link"}));
}

TEST_F(AssetsTest, S_12_only_known_extensions_come_back_in_any_case) {
  write("assets/a.PDF", "");
  write("assets/b.exe", "");
  write("assets/c", "");
  write("assets/d.tar.gz", "");
  write("assets/.env", "");
  const auto assets = collect();
  EXPECT_EQ(names_of(assets), (Names{"a.PDF", "d.tar.gz"}));
  EXPECT_EQ(assets.left_out, (Names{"assets/.env has no extension, and those decide what comes back",
                                    "assets/b.exe has an extension that is not allowed",
                                    "assets/c has no extension, and those decide what comes back"}));
  EXPECT_EQ(names_of(collect({.extensions = {"exe"}})), (Names{"b.exe"}));
}

TEST_F(AssetsTest, S_12_number_and_size_have_limits) {
  for (const auto* name : {"a.txt", "b.txt", "c.txt", "d.txt"}) write(std::string("assets/") + name, "12345");
  const auto few = collect({.count_max = 3});
  EXPECT_EQ(few.files.size(), 3u);
  EXPECT_EQ(few.left_out, (Names{"assets/d.txt is one too many: at most 3 files come back"}));
  EXPECT_EQ(collect({.file_bytes_max = 5}).files.size(), 4u);
  const auto small = collect({.file_bytes_max = 4});
  EXPECT_TRUE(small.files.empty());
  EXPECT_EQ(small.left_out[0], "assets/a.txt is larger than 4 bytes");
  const auto light = collect({.total_bytes_max = 10});
  EXPECT_EQ(light.files.size(), 2u);
  EXPECT_EQ(light.left_out[1], "assets/d.txt does not fit: all files together may have 10 bytes");
}

TEST_F(AssetsTest, S_12_files_that_others_collected_are_held_to_the_same_rules) {
  const auto assets = admit_assets(
      {{"a b.txt", "1"}, {"../../etc/a b.txt", "2"}, {"c:\\x\\run.exe", "3"}, {"", "4"}, {"big.txt", "55555"}},
      {.file_bytes_max = 4});
  EXPECT_EQ(names_of(assets), (Names{"a_b.txt", "a_b-1.txt"}));
  EXPECT_EQ(assets.files[1].bytes, "2");
  EXPECT_EQ(assets.left_out.size(), 3u);
  EXPECT_EQ(admit_assets({{"a.txt", "1"}, {"b.txt", "2"}}, {.count_max = 1}).files.size(), 1u);
}

TEST_F(AssetsTest, A_giant_of_holes_is_not_read) {
  write("assets/g.txt", "x");
  SLUICE_CHECK(truncate(path("assets/g.txt").c_str(), 1LL << 40) == 0);
  EXPECT_EQ(collect().left_out, (Names{"assets/g.txt is larger than 25 MB"}));
}

TEST_F(AssetsTest, The_list_of_what_stayed_has_an_end) {
  for (int i = 0; i < 150; ++i) write("assets/" + std::to_string(i), "");
  const auto assets = collect();
  EXPECT_EQ(assets.left_out.size(), 101u);
  EXPECT_EQ(assets.left_out.back(), "and 50 more were left out");
}

}  // namespace assets_test
}  // namespace sluice::workspace
