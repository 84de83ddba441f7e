#include "workspace/news_gathering.h"

#include <gtest/gtest.h>

namespace sluice::workspace {
namespace news_gathering_test {

using Kind = FileNews::Kind;

class NewsGatheringTest : public testing::Test {
 protected:
  void note(Kind kind, const std::string& path, int64_t now_us = 0) { gathering.note(kind, path, 0, now_us); }
  std::string take() {
    std::string out;
    for (const auto& news : gathering.take())
      out += (out.empty() ? "" : ", ") + std::string(news.name()) + " " + news.path;
    return out;
  }
  NewsGathering gathering{20'000, 3};
};

TEST_F(NewsGatheringTest, A_path_is_told_once_for_what_it_comes_to) {
  note(Kind::created, "a");
  note(Kind::changed, "b");
  note(Kind::changed, "a");
  note(Kind::changed, "b");
  EXPECT_EQ(take(), "create a, change b");
  EXPECT_EQ(take(), "");
}

TEST_F(NewsGatheringTest, What_went_and_came_back_changed) {
  note(Kind::deleted, "a");
  note(Kind::created, "a");
  EXPECT_EQ(take(), "change a");
  note(Kind::changed, "a");
  note(Kind::deleted, "a");
  EXPECT_EQ(take(), "delete a");
}

TEST_F(NewsGatheringTest, What_came_and_went_in_no_time_is_not_told_and_what_may_have_stayed_is) {
  note(Kind::created, "a");
  note(Kind::deleted, "a", 20'000);
  EXPECT_EQ(take(), "");
  note(Kind::created, "a");
  note(Kind::deleted, "a", 20'001);
  EXPECT_EQ(take(), "create a, delete a");
  note(Kind::created, "a");
  note(Kind::deleted, "a");
  note(Kind::created, "a");
  EXPECT_EQ(take(), "create a");
}

TEST_F(NewsGatheringTest, Too_many_paths_end_in_one_overflow) {
  for (const auto* path : {"a", "b", "c", "d", "e"}) note(Kind::created, path);
  note(Kind::changed, "f");
  EXPECT_EQ(take(), "create a, create b, create c, overflow ");
  note(Kind::changed, "f");
  EXPECT_EQ(take(), "change f");
}

TEST_F(NewsGatheringTest, Names_that_are_no_text_become_text) {
  note(Kind::created, "\xc3\xa4/\xff\xc3.txt");
  EXPECT_EQ(take(), "create \xc3\xa4/\xef\xbf\xbd\xef\xbf\xbd.txt");
}

}  // namespace news_gathering_test
}  // namespace sluice::workspace
