// What runs get from the server's own disk, and leave there.
#include "app/materials.h"

#include <gtest/gtest.h>

#include "files/fake_contents.h"
#include "store/simulated_store.h"
#include "world/fake_world.h"

namespace sluice::app {
namespace materials_test {

class RunMaterialsTest : public testing::Test {
 protected:
  RunMaterialsTest() { run.id.ulid.bytes[15] = run.tenant_id.ulid.bytes[15] = 1; }
  ~RunMaterialsTest() override {
    supplies.reset();
    disk.hold_answers(false);
    loop.settle();
  }
  void read(std::string_view bytes) {
    supplies->file({.name = "a.txt", .sha256 = contents.put(bytes).take()},
                   [this](Result<std::string> got) { answers.push_back(got ? got.value() : got.error().what); });
    loop.settle();
  }
  void keep() {
    supplies->take_assets({{"a.txt", "A"}, {"b.txt", "B"}}, "",
                          [this](const Result<std::vector<dispatch::KeptAsset>>& kept) {
                            answers.push_back(kept ? std::to_string(kept.value().size()) : kept.error().what);
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
  RunMaterials materials{{store, contents, workers, loop, ids, log}, {.answer_ms_max = 300'000}};
  model::Run run;
  std::shared_ptr<dispatch::Supplies> supplies = materials.supplies_for(run);
  std::vector<std::string> answers;
};

TEST_F(RunMaterialsTest, A_run_gets_an_error_at_the_deadline_if_a_file_cannot_be_read) {
  disk_workers.answered_until_held = 0;
  read("1,2");
  loop.advance({299'999});
  EXPECT_TRUE(answers.empty());
  loop.advance({1});
  ASSERT_EQ(answers, std::vector<std::string>{"reading it took longer than 300 s"});
  disk_workers.release();
  loop.settle();
  EXPECT_EQ(answers.size(), 1u) << "one answer to one question";
  read("1,2");
  EXPECT_EQ(answers.back(), "1,2");
  loop.advance({300'000});
  EXPECT_EQ(answers.size(), 2u);
}

TEST_F(RunMaterialsTest, A_run_gets_an_error_at_the_deadline_if_a_skill_cannot_be_read) {
  disk_workers.answered_until_held = 0;
  supplies->skill_bundle({.id = "skl_1", .name = "counting", .sha256 = contents.put("bundle").take()},
                         [this](const Result<std::string>& got) { answers.push_back(got ? "" : got.error().what); });
  loop.advance({300'000});
  EXPECT_EQ(answers, std::vector<std::string>{"reading it took longer than 300 s"});
}

TEST_F(RunMaterialsTest, Files_that_are_not_kept_before_the_deadline_are_not_kept_later) {
  disk_workers.answered_until_held = 0;
  keep();
  loop.advance({300'000});
  EXPECT_EQ(answers, std::vector<std::string>{"keeping them took longer than 300 s"});
  disk_workers.release();
  loop.settle();
  EXPECT_TRUE(contents.kept.empty());
  EXPECT_EQ(disk.write_count(), 0);
  EXPECT_EQ(answers.size(), 1u);
}

TEST_F(RunMaterialsTest, A_run_gets_an_error_at_the_deadline_if_its_files_are_not_recorded) {
  disk.hold_answers(true);
  keep();
  loop.advance({300'000});
  EXPECT_EQ(answers, std::vector<std::string>{"keeping them took longer than 300 s"});
  disk.hold_answers(false);
  loop.settle();
  EXPECT_EQ(answers.size(), 1u);
}

TEST_F(RunMaterialsTest, A_run_that_has_ended_gets_no_answer_and_its_files_are_not_kept) {
  disk_workers.answered_until_held = 0;
  read("1,2");
  keep();
  supplies.reset();
  disk_workers.release();
  loop.advance({300'000});
  EXPECT_TRUE(answers.empty());
  EXPECT_EQ(contents.kept.size(), 1u) << "what was read";
}

// The files that a run hands back come into the store, also where the store has to be asked more than once.
class ReturnedFilesTest : public testing::Test {
 protected:
  ReturnedFilesTest() {
    store::create_tenant(store_.database(), tenant_,
                         {.id = ids_.make<model::AgentId>(), .tenant_id = tenant_.id, .is_default = true},
                         [](const Result<Unit>& made) { ASSERT_TRUE(made); });
    loop_.settle();
    supplies_ = materials_.supplies_for(run_);
  }

  void return_files() {
    supplies_->take_assets({{"a.txt", "one"}, {"b.txt", "two"}}, "",
                           [this](Result<std::vector<dispatch::KeptAsset>> kept) { kept_ = std::move(kept); });
    loop_.settle();
  }
  // As the store has it, what was answered.
  std::string name_of(const dispatch::KeptAsset& asset) {
    std::string name;
    store::file(store_.database(), tenant_.id, *model::FileId::parse(asset.id),
                [&](const Result<model::RunFile>& found) {
                  ASSERT_TRUE(found);
                  name = found.value().name;
                });
    loop_.settle();
    return name;
  }
  void expect_kept() {
    ASSERT_TRUE(kept_ && *kept_);
    ASSERT_EQ(kept_->value().size(), 2U);
    EXPECT_EQ(name_of(kept_->value()[0]), "a.txt");
    EXPECT_EQ(name_of(kept_->value()[1]), "b.txt");
  }

  world::FakeLoop loop_;
  world::FakeEntropy entropy_;
  world::IdSource ids_{loop_, entropy_};
  world::FakeLog log_;
  world::FakeWorkers pool_{loop_};
  world::SharedWorkers workers_{pool_, {}};
  files::FakeContents contents_;
  store::SimulatedDatabase disk_;
  store::SimulatedStore store_{disk_, loop_};
  model::Tenant tenant_{.id = ids_.make<model::TenantId>(), .name = "t"};
  model::Run run_{.id = ids_.make<model::RunId>(), .tenant_id = tenant_.id};
  RunMaterials materials_{{store_, contents_, workers_, loop_, ids_, log_}, {.answer_ms_max = 60'000}};
  std::shared_ptr<dispatch::Supplies> supplies_;
  std::optional<Result<std::vector<dispatch::KeptAsset>>> kept_;
};

TEST_F(ReturnedFilesTest, The_files_of_a_run_wait_for_space_on_the_disk) {
  contents_.full = true;
  return_files();
  loop_.advance({10'000});
  EXPECT_FALSE(kept_);
  contents_.full = false;
  disk_.fail_write(0, store::Fault::full);
  disk_.fail_write(1, store::Fault::full);
  loop_.advance({2'000});
  expect_kept();
}

TEST_F(ReturnedFilesTest, A_write_of_unknown_outcome_is_repeated_and_keeps_each_file_once) {
  for (const auto fault : {store::Fault::before_write, store::Fault::after_write}) {
    kept_.reset();
    disk_.fail_write(0, fault);
    return_files();
    EXPECT_FALSE(kept_);
    store_.reopen([](const Result<Unit>& opened) { ASSERT_TRUE(opened); });
    loop_.advance({500});
    expect_kept();
  }
}

TEST_F(ReturnedFilesTest, Files_that_the_store_refuses_until_the_deadline_fail_without_details_of_the_database) {
  for (int n = 0; n < 1'000; ++n) disk_.fail_write(n, store::Fault::full);
  return_files();
  loop_.advance({59'000});
  EXPECT_FALSE(kept_);
  loop_.advance({2'000});
  ASSERT_TRUE(kept_ && !*kept_);
  EXPECT_EQ(kept_->error().what, "keeping them took longer than 60 s");
}

TEST_F(ReturnedFilesTest, No_attempt_is_repeated_for_a_run_that_has_ended) {
  disk_.fail_write(0, store::Fault::full);
  return_files();
  const int written = disk_.write_count();
  supplies_.reset();
  loop_.advance({60'000});
  EXPECT_EQ(disk_.write_count(), written);
  EXPECT_FALSE(kept_);
}

}  // namespace materials_test
}  // namespace sluice::app
