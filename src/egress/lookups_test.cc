// Whose name is looked up next.
#include "egress/lookups.h"

#include <gtest/gtest.h>

#include <algorithm>
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
  std::shared_ptr<Lifetime> ask(char sandbox, std::string host, std::string tenant = "") {
    auto handle = std::make_shared<Lifetime>();
    lookups.look_up({std::move(tenant), &sandboxes[static_cast<std::size_t>(sandbox - 'a')]}, handle->watch(), host,
                    [this, host](Result<std::vector<Address>> found) {
                      answers.push_back(host + (found ? "" : ": " + found.error().what));
                    });
    handles.push_back(handle);
    return handle;
  }
  void forget(std::shared_ptr<Lifetime>& handle) {
    std::erase(handles, handle);
    handle.reset();
  }

  world::FakeLoop loop;
  SlowWorkers workers;
  std::vector<std::string> looked_up, answers;
  Lookups lookups{[this](const std::string& host) -> Result<std::vector<Address>> {
                    looked_up.push_back(host);
                    return std::vector<Address>{};
                  },
                  loop, workers};
  char sandboxes[26] = {};
  std::vector<std::shared_ptr<Lifetime>> handles;
};

using Names = std::vector<std::string>;

TEST_F(LookupsTest, One_sandbox_has_one_name_looked_up_at_a_time) {
  for (int i = 0; i < 60; ++i) ask('a', "slow" + std::to_string(i));
  EXPECT_EQ(workers.jobs.size(), 1U);
  ask('b', "quick");
  EXPECT_EQ(workers.jobs.size(), 2U) << "another sandbox does not wait for it";
  workers.finish(1);
  EXPECT_EQ(answers, Names{"quick"});
}

TEST_F(LookupsTest, Sandboxes_take_turns_when_all_threads_are_at_work) {
  for (char sandbox = 'a'; sandbox < 'a' + static_cast<char>(lookups_at_once_max); ++sandbox) {
    for (int i = 0; i < 3; ++i) ask(sandbox, std::string(1, sandbox) + std::to_string(i));
  }
  ask('z', "late");
  EXPECT_EQ(workers.jobs.size(), std::size_t{lookups_at_once_max});
  workers.finish();
  EXPECT_EQ(answers, Names{"a0"});
  for (int i = 0; i < 7; ++i) workers.finish();
  EXPECT_EQ(looked_up.size(), 8U);
  workers.finish();
  EXPECT_EQ(answers.back(), "late") << "it was the next one when the first thread was free";
}

TEST_F(LookupsTest, A_tenant_with_many_sandboxes_leaves_threads_to_the_others) {
  for (char sandbox = 'a'; sandbox < 'y'; ++sandbox) {
    for (int i = 0; i < 30; ++i) ask(sandbox, "slow", "many");
  }
  EXPECT_EQ(workers.jobs.size(), std::size_t{lookups_of_tenant_max});
  ask('z', "quick", "one");
  ASSERT_EQ(workers.jobs.size(), std::size_t{lookups_of_tenant_max + 1}) << "it waits for none of them";
  workers.finish(lookups_of_tenant_max);
  EXPECT_EQ(answers, Names{"quick"});
}

TEST_F(LookupsTest, Tenants_take_turns_and_then_the_sandboxes_of_each) {
  for (char tenant : {'x', 'y'}) {
    for (char sandbox = 'a'; sandbox < 'e'; ++sandbox) ask(sandbox, "busy", std::string(1, tenant));
  }
  ASSERT_EQ(workers.jobs.size(), std::size_t{lookups_at_once_max});
  for (int i = 0; i < 2; ++i) {
    for (char sandbox = 'f'; sandbox < 'h'; ++sandbox) {
      ask(sandbox, std::string("x-") + sandbox + std::to_string(i), "x");
    }
  }
  ask('h', "late", "z");
  for (int i = 0; i < 3; ++i) workers.finish();
  EXPECT_EQ(looked_up.size(), 3U);
  for (int i = 0; i < lookups_at_once_max; ++i) workers.finish();
  const auto at = [&](const char* host) { return std::ranges::find(looked_up, host) - looked_up.begin(); };
  EXPECT_LT(at("late"), at("x-f1")) << "the tenant that came last is served before the second turn of another";
  EXPECT_LT(at("x-g0"), at("x-f1")) << "and each sandbox before the second turn of another";
}

TEST_F(LookupsTest, A_lookup_without_an_answer_is_given_up_after_two_seconds) {
  ask('a', "silent", "one");
  ask('a', "next", "one");
  loop.advance({lookup_ms_max - 1});
  EXPECT_TRUE(answers.empty());
  loop.advance({1});
  EXPECT_EQ(answers, Names{"silent: the name servers do not answer"});
  EXPECT_EQ(workers.jobs.size(), 1U) << "its thread is still the sandbox's";
  workers.finish();
  workers.finish();
  EXPECT_EQ(answers.back(), "next");
  EXPECT_EQ(answers.size(), 2U) << "a late answer is not reported";
}

TEST_F(LookupsTest, Who_gave_up_leaves_the_queue) {
  ask('a', "first");
  auto given_up = ask('a', "given up");
  ask('a', "last");
  forget(given_up);
  workers.finish();
  workers.finish();
  EXPECT_EQ(looked_up, (Names{"first", "last"}));
  EXPECT_EQ(answers, (Names{"first", "last"}));
}

TEST_F(LookupsTest, What_is_found_for_one_that_gave_up_is_not_told) {
  auto given_up = ask('a', "given up");
  forget(given_up);
  workers.finish();
  EXPECT_TRUE(answers.empty());
}

TEST_F(LookupsTest, A_sandbox_waits_for_a_bounded_number_of_names) {
  for (std::size_t i = 0; i < lookups_waiting_max + 1; ++i) ask('a', "name");
  ask('a', "one more");
  ask('b', "other");
  loop.settle();
  EXPECT_EQ(answers, Names{"one more: this sandbox has too many names looked up at once"});
  EXPECT_EQ(workers.jobs.size(), 2U);
}

}  // namespace lookups_test
}  // namespace sluice::egress
