// Whose name is looked up next.
#include "egress/lookups.h"

#include <gtest/gtest.h>

#include <utility>

#include "world/fake_world.h"

namespace sluice::egress {
namespace lookups_test {

// Each lookup takes until the test says that its name was found.
class SlowWorkers final : public world::Workers {
 public:
  void run(Callback<void()> work, Callback<void()> then) override {
    jobs.emplace_back(std::move(work), std::move(then));
  }
  void finish(std::size_t index = 0) {
    auto job = std::move(jobs[index]);
    jobs.erase(jobs.begin() + static_cast<std::ptrdiff_t>(index));
    job.first();
    job.second();
  }
  std::vector<std::pair<Callback<void()>, Callback<void()>>> jobs;
};

class LookupsTest : public testing::Test {
 public:
  // As if for a connection that is wanted until the handle goes.
  std::shared_ptr<int> ask(char sandbox, std::string host) {
    auto handle = std::make_shared<int>();
    lookups.look_up(&sandboxes[static_cast<std::size_t>(sandbox - 'a')], handle, host,
                    [this, host](Result<std::vector<Address>> found) {
                      told.push_back(host + (found ? "" : ": " + found.error().what));
                    });
    handles.push_back(handle);
    return handle;
  }
  void forget(std::shared_ptr<int>& handle) {
    std::erase(handles, handle);
    handle.reset();
  }

  world::FakeLoop loop;
  SlowWorkers workers;
  std::vector<std::string> looked_up, told;
  Lookups lookups{[this](const std::string& host) -> Result<std::vector<Address>> {
                    looked_up.push_back(host);
                    return std::vector<Address>{};
                  },
                  loop, workers};
  char sandboxes[26] = {};
  std::vector<std::shared_ptr<int>> handles;
};

using Names = std::vector<std::string>;

TEST_F(LookupsTest, One_sandbox_has_one_name_looked_up_at_a_time) {
  for (int i = 0; i < 60; ++i) ask('a', "slow" + std::to_string(i));
  EXPECT_EQ(workers.jobs.size(), 1U);
  ask('b', "quick");
  EXPECT_EQ(workers.jobs.size(), 2U) << "another sandbox does not wait for it";
  workers.finish(1);
  EXPECT_EQ(told, Names{"quick"});
}

TEST_F(LookupsTest, Sandboxes_take_turns_when_all_threads_are_at_work) {
  for (char sandbox = 'a'; sandbox < 'a' + static_cast<char>(lookups_at_once_max); ++sandbox) {
    for (int i = 0; i < 3; ++i) ask(sandbox, std::string(1, sandbox) + std::to_string(i));
  }
  ask('z', "late");
  EXPECT_EQ(workers.jobs.size(), std::size_t{lookups_at_once_max});
  workers.finish();
  EXPECT_EQ(told, Names{"a0"});
  for (int i = 0; i < 7; ++i) workers.finish();
  EXPECT_EQ(looked_up.size(), 8U);
  workers.finish();
  EXPECT_EQ(told.back(), "late") << "it was the next one when the first thread was free";
}

TEST_F(LookupsTest, Who_gave_up_leaves_the_queue) {
  ask('a', "first");
  auto given_up = ask('a', "given up");
  ask('a', "last");
  forget(given_up);
  workers.finish();
  workers.finish();
  EXPECT_EQ(looked_up, (Names{"first", "last"}));
  EXPECT_EQ(told, (Names{"first", "last"}));
}

TEST_F(LookupsTest, What_is_found_for_one_that_gave_up_is_not_told) {
  auto given_up = ask('a', "given up");
  forget(given_up);
  workers.finish();
  EXPECT_TRUE(told.empty());
}

TEST_F(LookupsTest, A_sandbox_waits_for_a_bounded_number_of_names) {
  for (std::size_t i = 0; i < lookups_waiting_max + 1; ++i) ask('a', "name");
  ask('a', "one more");
  ask('b', "other");
  loop.settle();
  EXPECT_EQ(told, Names{"one more: this sandbox has too many names looked up at once"});
  EXPECT_EQ(workers.jobs.size(), 2U);
}

}  // namespace lookups_test
}  // namespace sluice::egress
