// What runs get from the server's own disk, and leave there.
#include "app/storeroom.h"

#include <gtest/gtest.h>

#include "files/fake_contents.h"
#include "store/simulated_store.h"
#include "world/fake_world.h"

namespace sluice::app {
namespace storeroom_test {

class StoreroomTest : public testing::Test {
 protected:
  StoreroomTest() { run.id.ulid.bytes[15] = run.tenant_id.ulid.bytes[15] = 1; }
  ~StoreroomTest() override {
    supplies.reset();
    disk.hold_answers(false);
    loop.settle();
  }
  void read(std::string_view bytes) {
    supplies->file({.name = "a.txt", .sha256 = contents.put(bytes).take()},
                   [this](Result<std::string> got) { heard.push_back(got ? got.value() : got.error().what); });
    loop.settle();
  }
  void keep() {
    supplies->take_assets({{"a.txt", "A"}, {"b.txt", "B"}}, "",
                          [this](const Result<std::vector<harness::KeptAsset>>& kept) {
                            heard.push_back(kept ? std::to_string(kept.value().size()) : kept.error().what);
                          });
    loop.settle();
  }

  world::FakeLoop loop;
  world::FakeEntropy entropy;
  world::IdSource ids{loop, entropy};
  world::FakeLog log;
  world::FakeWorkers disk_workers{loop};
  world::SharedWorkers workers{disk_workers, {}};
  store::SimulatedDatabase disk;
  store::SimulatedStore store{disk, loop};
  files::FakeContents contents;
  HouseStoreroom storeroom{{store, contents, workers, loop, ids, log}, {.answer_ms_max = 300'000}};
  model::Run run;
  std::shared_ptr<harness::Supplies> supplies = storeroom.supplies_for(run);
  std::vector<std::string> heard;
};

TEST_F(StoreroomTest, A_run_hears_in_time_that_the_disk_does_not_give_a_file) {
  disk_workers.answered_until_held = 0;
  read("1,2");
  loop.advance({299'999});
  EXPECT_TRUE(heard.empty());
  loop.advance({1});
  ASSERT_EQ(heard, std::vector<std::string>{"reading it took longer than 300 s"});
  disk_workers.release();
  loop.settle();
  EXPECT_EQ(heard.size(), 1u) << "one answer to one question";
  read("1,2");
  EXPECT_EQ(heard.back(), "1,2");
  loop.advance({300'000});
  EXPECT_EQ(heard.size(), 2u);
}

TEST_F(StoreroomTest, A_run_hears_in_time_that_the_disk_does_not_give_a_skill) {
  disk_workers.answered_until_held = 0;
  supplies->skill_bundle({.id = "skl_1", .name = "counting", .sha256 = contents.put("bundle").take()},
                         [this](const Result<std::string>& got) { heard.push_back(got ? "" : got.error().what); });
  loop.advance({300'000});
  EXPECT_EQ(heard, std::vector<std::string>{"reading it took longer than 300 s"});
}

TEST_F(StoreroomTest, Files_that_the_disk_does_not_keep_in_time_are_not_kept_later) {
  disk_workers.answered_until_held = 0;
  keep();
  loop.advance({300'000});
  EXPECT_EQ(heard, std::vector<std::string>{"keeping them took longer than 300 s"});
  disk_workers.release();
  loop.settle();
  EXPECT_TRUE(contents.kept.empty());
  EXPECT_EQ(disk.write_count(), 0);
  EXPECT_EQ(heard.size(), 1u);
}

TEST_F(StoreroomTest, A_run_hears_in_time_that_the_store_does_not_record_its_files) {
  disk.hold_answers(true);
  keep();
  loop.advance({300'000});
  EXPECT_EQ(heard, std::vector<std::string>{"keeping them took longer than 300 s"});
  disk.hold_answers(false);
  loop.settle();
  EXPECT_EQ(heard.size(), 1u);
}

TEST_F(StoreroomTest, A_run_that_is_gone_hears_nothing_and_its_files_are_not_kept) {
  disk_workers.answered_until_held = 0;
  read("1,2");
  keep();
  supplies.reset();
  disk_workers.release();
  loop.advance({300'000});
  EXPECT_TRUE(heard.empty());
  EXPECT_EQ(contents.kept.size(), 1u) << "what was read";
}

}  // namespace storeroom_test
}  // namespace sluice::app
