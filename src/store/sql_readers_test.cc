// The threads that read, and whose turn it is.
#include "store/sql_readers.h"

#include <atomic>
#include <latch>

#include "store/database.h"
#include "store/sqlite_fixture.h"

namespace sluice::store {
namespace sql_readers_test {

struct Seen {
  std::mutex mutex;
  std::vector<std::string> read;  // guarded
  std::vector<std::string> answered;
  std::vector<Error> refused;
};

// A reading that says its name, and waits for `gate` if there is one.
class NamedWork final : public Work {
 public:
  NamedWork(std::string name, Seen& seen, std::latch* begun = nullptr, std::latch* gate = nullptr)
      : name_(std::move(name)), seen_(seen), begun_(begun), gate_(gate) {}
  Class work_class() const override { return Class::flow; }
  void attempt(Connection&) override {
    if (begun_ != nullptr) begun_->count_down();
    if (gate_ != nullptr) gate_->wait();
    const std::lock_guard lock(seen_.mutex);
    seen_.read.push_back(name_);
  }
  void fail(Error error) override { refusal_ = std::move(error); }
  void answer() override {
    if (refusal_) return seen_.refused.push_back(*refusal_);
    seen_.answered.push_back(name_);
  }

 private:
  std::string name_;
  Seen& seen_;
  std::latch* begun_;
  std::latch* gate_;
  std::optional<Error> refusal_;
};

class ReadersTest : public SqliteFiles {
 public:
  class Side final : public ReadSide {
   public:
    explicit Side(std::string path) : path_(std::move(path)) {}
    Result<std::shared_ptr<Connection>> open_reader() const override {
      auto opened = SqliteConnection::open(path_, SqliteConnection::Mode::reader);
      if (!opened) return opened.error();
      return std::shared_ptr<Connection>(std::move(opened).take());
    }

   private:
    std::string path_;
  };

  void open_readers(ReadBounds bounds) {
    write_side = SqliteWriteSide::open({.path = path}, metrics).take();
    writer.emplace(*write_side, poster, metrics);
    readers.emplace(opened_when_needed(1), side, *writer, poster, std::move(bounds));
  }
  void submit(const std::string& name, model::TenantId tenant) {
    readers->submit(std::make_unique<NamedWork>(name, seen), tenant.ulid);
  }
  // Has the only reader busy with something of the tenant's until `gate` opens.
  void block(model::TenantId tenant, std::latch& gate) {
    std::latch begun(1);
    readers->submit(std::make_unique<NamedWork>("first", seen, &begun, &gate), tenant.ulid);
    begun.wait();
  }
  void wait_for_answers(std::size_t count) {
    ASSERT_TRUE(loop_.run_until([&] { return seen.answered.size() + seen.refused.size() >= count; }));
  }

  Seen seen;
  const Side side{path};
  std::unique_ptr<SqliteWriteSide> write_side;
  LoopPoster poster{loop_};
  std::optional<Writer> writer;
  std::optional<Readers> readers;
  const model::TenantId busy = make_id<model::TenantId>();
  const model::TenantId other = make_id<model::TenantId>();
};

TEST_F(ReadersTest, One_reading_of_a_tenant_waits_for_one_of_another_tenant_and_not_for_all_eighty) {
  open_readers({.taken_max = 1});
  std::latch gate(1);
  block(busy, gate);
  for (int i = 1; i <= 80; ++i) submit("busy " + std::to_string(i), busy);
  submit("other", other);
  gate.count_down();
  wait_for_answers(82);
  ASSERT_EQ(seen.read.size(), 82U);
  EXPECT_EQ(seen.read[1], "busy 1");
  EXPECT_EQ(seen.read[2], "other");
  EXPECT_EQ(seen.read[3], "busy 2") << "one tenant's readings keep their order";
}

TEST_F(ReadersTest, A_tenant_that_has_too_much_waiting_is_refused_and_others_are_not) {
  open_readers(search_bounds());
  std::latch gate(1);
  block(busy, gate);
  for (std::size_t i = 0; i < Database::searches_waiting_max; ++i) submit("busy", busy);
  submit("one too many", busy);
  submit("other", other);
  gate.count_down();
  wait_for_answers(Database::searches_waiting_max + 3);
  ASSERT_EQ(seen.refused.size(), 1U);
  EXPECT_EQ(seen.refused[0].kind, ErrorKind::denied);
  EXPECT_EQ(seen.read[2], "other");
  EXPECT_EQ(seen.answered.size(), Database::searches_waiting_max + 2);
}

class SearchTest : public SqliteFiles {
 public:
  void open_with(int64_t search_ms_max) {
    store_.reset();
    store_ = SqliteStore::open({.path = path, .search_ms_max_for_test = search_ms_max}, 1, loop_, metrics).take();
  }
  template <typename T, typename... Given, typename... Sent>
  Result<T> ask_tables(void (*operation)(Database&, Given...), Sent... sent) {
    std::optional<Result<T>> answer;
    operation(store_->database(), std::move(sent)..., [&](Result<T> result) { answer.emplace(std::move(result)); });
    EXPECT_TRUE(loop_.run_until([&] { return answer.has_value(); }));
    return std::move(*answer);
  }
};

TEST_F(SearchTest, A_question_that_takes_too_long_is_given_up_and_says_what_to_do) {
  open_with(0);
  const auto tenant = make_tenant();
  const model::Table table{.id = make_id<model::TableId>(),
                           .tenant_id = tenant,
                           .name = "cities",
                           .columns = {{"city", model::ColumnType::text, true}}};
  ASSERT_TRUE(ask_tables<Unit>(&store::create_table, table));
  const model::TableRow row{.id = make_id<model::TableRowId>(), .cells = R"({"city":"Rome"})"};
  ASSERT_TRUE(ask_tables<Unit>(&store::insert_rows, tenant, table.id, std::vector{row}));
  const auto found = ask_tables<FoundRows>(&store::query_table, tenant, table.id, model::TableQuery{});
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().kind, ErrorKind::invalid);
  EXPECT_NE(found.error().what.find(table.id.text()), std::string::npos) << found.error().what;
  EXPECT_NE(found.error().what.find("compare with fewer values"), std::string::npos) << found.error().what;

  open_with(60'000);
  const auto all = ask_tables<FoundRows>(&store::query_table, tenant, table.id, model::TableQuery{});
  ASSERT_TRUE(all);
  EXPECT_EQ(all.value().total, 1);
}

}  // namespace sql_readers_test
}  // namespace sluice::store
