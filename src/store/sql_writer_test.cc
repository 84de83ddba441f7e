// What the writer commits together, and whose turn it is.
#include "store/sql_writer.h"

#include "store/sqlite_fixture.h"

namespace sluice::store {
namespace sql_writer_test {

// Does a turn when the test says so, by a clock that the works move.
class SteppedExecutor final : public Executor {
 public:
  explicit SteppedExecutor(int64_t& now_us, Callback<bool()>*& turn) : now_us_(now_us) { turn = &turn_; }
  void start(Callback<bool()> turn) override { turn_ = std::move(turn); }
  void notify() override {}
  bool may_wait() const override { return false; }
  void finish() override {
    while (turn_()) {
    }
  }
  int64_t now_us() const override { return now_us_; }

 private:
  int64_t& now_us_;
  Callback<bool()> turn_;
};

class WriterTest : public SqliteFiles {
 public:
  // A write that takes so long.
  class TimedWork final : public Work {
   public:
    TimedWork(WriterTest& test, std::string name, int64_t us) : test_(test), name_(std::move(name)), us_(us) {}
    Class work_class() const override { return Class::boundary; }
    void attempt(Connection&) override {
      test_.written.push_back(name_);
      test_.now_us += us_;
    }
    void fail(Error error) override { refusal_ = std::move(error); }
    void answer() override { (refusal_ ? test_.refused : test_.answered).push_back(name_); }

   private:
    WriterTest& test_;
    std::string name_;
    int64_t us_;
    std::optional<Error> refusal_;
  };
  using Names = std::vector<std::string>;

  WriterTest() {
    side = SqliteWriteSide::open({.path = path}, metrics).take();
    writer.emplace(*side, poster, metrics, [this] { return std::make_unique<SteppedExecutor>(now_us, turn); });
  }
  void submit(const std::string& name, model::TenantId tenant, int64_t us) {
    writer->submit(std::make_unique<TimedWork>(*this, name, us), tenant.ulid);
  }
  void submit_many(std::string_view prefix, int count, model::TenantId tenant, int64_t us) {
    for (int i = 1; i <= count; ++i) submit(std::string(prefix) + std::to_string(i), tenant, us);
  }
  // The works of the next group.
  Names group() {
    written.clear();
    EXPECT_TRUE((*turn)());
    loop_.settle();
    return written;
  }
  static Names many(std::string_view prefix, int from, int to) {
    Names names;
    for (int i = from; i <= to; ++i) names.push_back(std::string(prefix) + std::to_string(i));
    return names;
  }

  static constexpr int64_t ms = 1'000;
  int64_t now_us = 0;
  Callback<bool()>* turn = nullptr;
  Names written;
  Names answered;
  Names refused;
  const model::TenantId engine{};  // its own journals are in no tenant's lane
  const model::TenantId a = make_id<model::TenantId>();
  const model::TenantId b = make_id<model::TenantId>();
  std::unique_ptr<SqliteWriteSide> side;
  LoopPoster poster{loop_};
  std::optional<Writer> writer;
};

TEST_F(WriterTest, What_waits_is_committed_in_one_group_while_it_is_quick) {
  submit_many("e", 900, engine, 0);
  submit_many("a", 900, a, 0);
  EXPECT_EQ(group().size(), 1'800U);
  EXPECT_EQ(metrics.counter("sluice_store_commits_total", "").value(), 1U);
  EXPECT_FALSE((*turn)());
}

TEST_F(WriterTest, A_group_ends_after_twenty_milliseconds_of_work_and_the_rest_waits_in_its_order) {
  submit_many("a", 5, a, 9 * ms);
  EXPECT_EQ(group(), many("a", 1, 3));
  EXPECT_EQ(answered, many("a", 1, 3)) << "they do not wait for the others";
  EXPECT_EQ(group(), many("a", 4, 5));
}

TEST_F(WriterTest, A_work_that_takes_longer_than_a_group_may_is_done_alone) {
  submit_many("a", 2, a, 100 * ms);
  EXPECT_EQ(group(), (Names{"a1"}));
  EXPECT_EQ(group(), (Names{"a2"}));
}

TEST_F(WriterTest, Another_tenants_record_waits_for_one_of_a_tenant_that_has_eighty_waiting) {
  submit_many("a", 80, a, 15 * ms);
  submit("b1", b, 0);
  EXPECT_EQ(group(), (Names{"a1", "b1", "a2"}));
  submit("b2", b, 0);
  EXPECT_EQ(group(), (Names{"a3", "b2", "a4"})) << "what was put back keeps its turn and its order";
}

TEST_F(WriterTest, Journals_go_before_the_records_that_a_tenant_has_waiting) {
  submit_many("a", 80, a, 15 * ms);
  EXPECT_EQ(group(), (Names{"a1", "a2"}));
  submit_many("e", 3, engine, ms);
  EXPECT_EQ(group(), (Names{"e1", "e2", "e3", "a3", "a4"}));
}

TEST_F(WriterTest, Journals_that_never_end_leave_a_tenant_a_turn_in_every_second_group) {
  submit_many("e", 8, engine, 10 * ms);
  submit_many("a", 2, a, 30 * ms);
  EXPECT_EQ(group(), (Names{"e1", "e2"}));
  EXPECT_EQ(group(), (Names{"a1"}));
  EXPECT_EQ(group(), (Names{"e3", "e4"}));
  EXPECT_EQ(group(), (Names{"a2"}));
  EXPECT_EQ(group(), (Names{"e5", "e6"}));
}

TEST_F(WriterTest, A_tenant_that_has_too_much_waiting_is_refused_and_others_are_not) {
  submit_many("a", static_cast<int>(WaitingWorks<Work>::waiting_max / 4), a, 0);
  submit("one too many", a, 0);
  submit("b1", b, 0);
  submit("e1", engine, 0);
  loop_.settle();
  EXPECT_EQ(refused, (Names{"one too many"}));
  const auto first = group();
  EXPECT_EQ(Names(first.begin(), first.begin() + 3), (Names{"e1", "a1", "b1"}));
}

// A loop whose clock is moved by what runs on it.
class MovedLoop final : public world::Loop {
 public:
  Timestamp now() const override { return inner_.now(); }
  int64_t monotonic_us() const override { return now_us; }
  world::Timer after(Millis delay, Callback<void()> then) override { return inner_.after(delay, std::move(then)); }
  void defer(Callback<void()> then) override { inner_.defer(std::move(then)); }
  void post(Callback<void()> then) override { inner_.post(std::move(then)); }
  void settle() { inner_.settle(); }

  int64_t now_us = 0;

 private:
  world::FakeLoop inner_;
};

class LoopPosterTest : public testing::Test {
 public:
  class Answer {
   public:
    Answer(LoopPosterTest& test, std::string name, int64_t us) : test_(test), name_(std::move(name)), us_(us) {}
    void answer() {
      test_.order.push_back(name_);
      test_.loop.now_us += us_;
      if (name_ == "a1") test_.loop.post([&test = test_] { test.order.emplace_back("a request"); });
      if (name_ == "the end") test_.poster.reset();
    }

   private:
    LoopPosterTest& test_;
    std::string name_;
    int64_t us_;
  };
  void deliver(const std::vector<std::string>& names, int64_t us) {
    std::vector<std::unique_ptr<Answer>> answers;
    for (const auto& name : names) answers.push_back(std::make_unique<Answer>(*this, name, us));
    poster->post(std::move(answers));
  }

  std::vector<std::string> order;
  MovedLoop loop;
  std::optional<LoopPoster> poster{std::in_place, loop};
};
using Order = std::vector<std::string>;

TEST_F(LoopPosterTest, Requests_have_their_turn_between_answers_that_take_long) {
  deliver({"a1", "a2", "a3", "a4"}, 3'000);
  deliver({"b1"}, 0);
  loop.settle();
  EXPECT_EQ(order, (Order{"a1", "a2", "a request", "a3", "a4", "b1"})) << "and answers keep their order";
}

TEST_F(LoopPosterTest, Quick_answers_are_given_in_one_turn) {
  deliver({"a1", "a2", "a3"}, 10);
  deliver({"b1"}, 10);
  loop.settle();
  EXPECT_EQ(order, (Order{"a1", "a2", "a3", "b1", "a request"}));
}

TEST_F(LoopPosterTest, No_answer_arrives_after_the_one_that_ended_the_store) {
  deliver({"b1", "the end", "b2"}, 9'000);
  deliver({"b3"}, 0);
  loop.settle();
  EXPECT_EQ(order, (Order{"b1", "the end"}));
}

}  // namespace sql_writer_test
}  // namespace sluice::store
