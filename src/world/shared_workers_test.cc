// Whose job is begun next.
#include "world/shared_workers.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace sluice::world {
namespace shared_workers_test {

// Each job takes until the test says that it is done.
class SlowWorkers final : public Workers {
 public:
  void run(Callback<void()> work, Callback<void()> then) override {
    work();
    under_way.push_back(std::move(then));
  }
  void finish(std::size_t index = 0) {
    auto then = std::move(under_way[index]);
    under_way.erase(under_way.begin() + static_cast<std::ptrdiff_t>(index));
    then();
  }
  std::vector<Callback<void()>> under_way;
};

class SharedWorkersTest : public testing::Test {
 public:
  static Ulid party(char letter) {
    Ulid id;
    id.bytes[0] = static_cast<uint8_t>(letter);
    return id;
  }
  // "a1" is a job of a's.
  void ask(const std::string& job) {
    shared->of(party(job[0])).run([this, job] { begun.push_back(job); }, [this, job] { done.push_back(job); });
  }

  using Jobs = std::vector<std::string>;
  SlowWorkers pool;
  std::optional<SharedWorkers> shared{std::in_place, pool, SharedWorkers::Options{.at_once_max = 3, .of_party_max = 2}};
  Jobs begun, done;
};

TEST_F(SharedWorkersTest, One_tenants_long_jobs_leave_a_thread_for_another_tenants_short_one) {
  for (int i = 1; i <= 6; ++i) ask("a" + std::to_string(i));
  EXPECT_EQ(begun, (Jobs{"a1", "a2"}));
  ask("b1");
  EXPECT_EQ(begun, (Jobs{"a1", "a2", "b1"})) << "at once, although four jobs were asked for before it";
}

TEST_F(SharedWorkersTest, Tenants_take_turns_where_all_threads_are_busy) {
  for (const auto* job : {"a1", "a2", "a3", "a4", "b1", "b2", "c1"}) ask(job);
  EXPECT_EQ(begun, (Jobs{"a1", "a2", "b1"}));
  pool.finish(0);  // a1; b had its turn just now, c had none
  EXPECT_EQ(begun.back(), "a3");
  pool.finish(0);  // a2
  EXPECT_EQ(begun.back(), "b2");
  pool.finish(0);  // b1
  EXPECT_EQ(begun.back(), "c1");
  pool.finish(0);  // a3
  EXPECT_EQ(begun.back(), "a4");
}

TEST_F(SharedWorkersTest, A_tenants_jobs_are_begun_in_their_order_and_each_is_answered) {
  for (const auto* job : {"a1", "a2", "a3"}) ask(job);
  pool.finish(1);
  pool.finish(0);
  pool.finish(0);
  EXPECT_EQ(begun, (Jobs{"a1", "a2", "a3"}));
  EXPECT_EQ(done, (Jobs{"a2", "a1", "a3"}));
}

TEST_F(SharedWorkersTest, What_waits_is_counted_for_each_tenant) {
  for (const auto* job : {"a1", "a2", "a3", "a4", "b1"}) ask(job);
  EXPECT_EQ(shared->waiting(party('a')), 2U);
  EXPECT_EQ(shared->waiting(party('b')), 0U);
  pool.finish();
  EXPECT_EQ(shared->waiting(party('a')), 1U);
}

TEST_F(SharedWorkersTest, A_job_may_ask_for_the_next_one_when_it_is_done) {
  shared->of(party('a')).run([] {}, [this] { ask("a2"); });
  pool.finish();
  EXPECT_EQ(begun, Jobs{"a2"});
}

TEST_F(SharedWorkersTest, What_comes_back_after_the_end_is_dropped) {
  for (const auto* job : {"a1", "a2", "a3"}) ask(job);
  shared.reset();
  pool.finish();
  pool.finish();
  EXPECT_EQ(begun, (Jobs{"a1", "a2"}));
  EXPECT_TRUE(done.empty());
}

}  // namespace shared_workers_test
}  // namespace sluice::world
