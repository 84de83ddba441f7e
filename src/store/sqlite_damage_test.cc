// A damaged row or page costs what was in it, and nothing else.
#include "store/filled_store_fixture.h"

namespace sluice::store {
namespace sqlite_damage_test {

class SqliteDamage : public FilledStoreTest {
 protected:
  void expect_others_served() {
    EXPECT_EQ(get(&journal::Journal::read, over.run.id, model::Position{0}, std::size_t{1'000'000}).events.size(), 4u);
    EXPECT_EQ(get(&journal::Journal::read, sealed.run.id, model::Position{0}, std::size_t{1'000'000}).events.size(),
              4u);
    accepted(tenant, make_conversation(tenant).id);
  }
};

TEST_F(SqliteDamage, A_store_opens_when_an_unfinished_runs_list_of_rows_is_damaged) {
  fill();
  tell(path, "UPDATE runs SET journal_rows = x'80' WHERE number = 3");
  open();
  EXPECT_EQ(refused(&journal::Journal::read, unfinished.run.id, model::Position{0}, std::size_t{1000}),
            ErrorKind::corrupt);
  expect_others_served();
}

TEST_F(SqliteDamage, An_unfinished_run_with_a_damaged_row_does_not_hide_the_others) {
  fill();
  open();
  const auto other = accepted(tenant, make_conversation(tenant).id);
  store_.reset();
  tell(path, "UPDATE runs SET state = 'asleep' WHERE number = 3");
  open();
  const auto runs = get(&journal::Journal::unfinished_runs).runs;
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].id, other.run.id);
  expect_others_served();
}

TEST_F(SqliteDamage, A_page_in_the_middle_of_the_journal_costs_only_whose_rows_were_in_it) {
  open();
  tenant = make_tenant();
  std::vector<Accepted> runs;
  for (int i = 0; i < 30; ++i) {
    runs.push_back(accepted(tenant, make_conversation(tenant).id));
    const auto& run = runs.back().run;
    get(&journal::Journal::append, Append{.run = run.id,
                                          .epoch = run.epoch,
                                          .head = run.head,
                                          .events = {{model::EventKind::started, {6100}, ""},
                                                     {model::EventKind::text, {6200}, std::string(1500, 'z')}}});
  }
  store_.reset();
  auto file = bytes_of_file(path);
  const auto words = std::string(1500, 'z');
  auto at = file.find(words);
  for (int i = 0; i < 10; ++i) at = file.find(words, at + 1500);
  ASSERT_NE(at, std::string::npos);
  file.replace(at / 4096 * 4096, 4096, std::string(4096, '\xA5'));
  std::ofstream(path, std::ios::binary) << file;

  open();
  const auto unfinished_runs = get(&journal::Journal::unfinished_runs).runs;
  EXPECT_EQ(unfinished_runs.size(), 30u);
  for (const auto& run : unfinished_runs) get(&journal::Journal::take_over, run.id, run.epoch);
  int damaged = 0;
  for (const auto& run : runs) {
    const auto page = ask(&journal::Journal::read, run.run.id, model::Position{0}, std::size_t{1'000'000});
    if (page && page.value().events.size() == 3) continue;
    ++damaged;
  }
  EXPECT_GE(damaged, 1);
  EXPECT_LE(damaged, 4);
  accepted(tenant, make_conversation(tenant).id);
}

}  // namespace sqlite_damage_test
}  // namespace sluice::store
