// The contract of every store, about the list of runs: its order, its pages and its filters.
#include "store/store_contract.h"

namespace sluice::store {
namespace run_list_contract_test {

using model::RunState;
using Ids = std::vector<model::RunId>;

class RunListContract : public StoreContract {
 public:
  const model::TenantId tenant = make_tenant();
  const model::ConversationId conversation = make_conversation(tenant).id;

  Accepted make_run(Timestamp at) { return accepted(tenant, make_conversation(tenant).id, at); }
  Accepted make_run(Timestamp at, RunState state) {
    const auto begun = make_run(at);
    auto end = the_end(begun);
    end.state = state;
    get(&journal::Journal::append, end);
    return begun;
  }
  std::pair<Ids, bool> list(const RunFilter& filter, PageQuery<model::RunId> query = {}) {
    const auto page = get(&store::runs, tenant, filter, query);
    Ids ids;
    for (const auto& row : page.rows) ids.push_back(row.id);
    return {ids, page.has_more};
  }
};

INSTANTIATE_TEST_SUITE_P(Stores, RunListContract, every_backend, name_of_backend);

TEST_P(RunListContract, Runs_are_listed_newest_first_in_both_directions) {
  Ids made;
  for (int i = 0; i < 5; ++i) {
    const auto begun = accepted(tenant, i == 2 ? make_conversation(tenant).id : conversation, {6000});
    get(&journal::Journal::append, the_end(begun));
    made.insert(made.begin(), begun.run.id);
  }
  EXPECT_EQ(list({}), std::pair(made, false));
  EXPECT_EQ(list({}, {.limit = 2}), std::pair(Ids({made[0], made[1]}), true));
  EXPECT_EQ(list({}, {.limit = 3, .starting_after = made[1]}), std::pair(Ids({made[2], made[3], made[4]}), false));
  EXPECT_EQ(list({}, {.limit = 2, .ending_before = made[3]}), std::pair(Ids({made[1], made[2]}), true));
  const RunFilter its{.conversation = conversation};
  EXPECT_EQ(list(its, {.limit = 2, .starting_after = made[1]}), std::pair(Ids({made[3], made[4]}), false));
  EXPECT_EQ(list(its, {.limit = 5, .ending_before = made[3]}), std::pair(Ids({made[0], made[1]}), false));
}

TEST_P(RunListContract,
       The_order_is_that_of_creation_even_if_the_clock_went_back_but_of_messages_within_a_conversation) {
  const auto first = accepted(tenant, conversation, {9000});
  get(&journal::Journal::append, the_end(first));
  const auto second = accepted(tenant, conversation, {7000});
  const auto third = make_run({8000});
  EXPECT_EQ(list({}).first, Ids({first.run.id, third.run.id, second.run.id}));
  EXPECT_EQ(list({}, {.limit = 1, .starting_after = first.run.id}), std::pair(Ids({third.run.id}), true));
  EXPECT_EQ(list({.conversation = conversation}).first, Ids({second.run.id, first.run.id}));
}

TEST_P(RunListContract, States_that_are_over_and_states_that_are_not_are_told_apart_and_merged) {
  const auto failed = make_run({1000}, RunState::failed).run.id;
  const auto running = make_run({2000}).run.id;
  const auto completed = make_run({3000}, RunState::completed).run.id;
  const auto late = make_run({4000}, RunState::failed).run.id;
  EXPECT_EQ(list({.states = {RunState::failed}}).first, Ids({late, failed}));
  EXPECT_EQ(list({.states = {RunState::accepted}}).first, Ids({running}));
  EXPECT_EQ(list({.states = {RunState::cancelled}}).first, Ids());
  const RunFilter mixed{.states = {RunState::failed, RunState::accepted}};
  EXPECT_EQ(list(mixed).first, Ids({late, running, failed}));
  EXPECT_EQ(list(mixed, {.limit = 2}), std::pair(Ids({late, running}), true));
  EXPECT_EQ(list(mixed, {.limit = 2, .starting_after = running}), std::pair(Ids({failed}), false));
  EXPECT_EQ(list(mixed, {.limit = 1, .ending_before = failed}), std::pair(Ids({running}), true));
  EXPECT_EQ(list(mixed, {.starting_after = completed}).first, Ids({running, failed}))
      << "a cursor may be a run that the filter leaves out";
}

TEST_P(RunListContract, Agents_and_spans_of_time_narrow_the_list_together_with_all_else) {
  auto other_agent = an_agent(tenant, "other");
  get(&store::create_agent, other_agent);
  auto talk = a_conversation(tenant);
  talk.agent_id = other_agent.id;
  get(&journal::Journal::create_conversation, NewConversation{talk, "", std::nullopt});
  const auto first = make_run({1000}, RunState::completed);
  const auto theirs = accepted(tenant, talk.id, {2000});
  get(&journal::Journal::append, the_end(theirs));
  const auto last = make_run({3000}, RunState::completed);
  EXPECT_EQ(list({.agent = other_agent.id}).first, Ids({theirs.run.id}));
  EXPECT_EQ(list({.agent = first.run.agent_id}).first, Ids({last.run.id, first.run.id}));
  EXPECT_EQ(list({.agent = other_agent.id, .states = {RunState::completed}}).first, Ids({theirs.run.id}));
  EXPECT_EQ(list({.agent = other_agent.id, .states = {RunState::failed, RunState::streaming}}).first, Ids());
  EXPECT_EQ(list({.created_after = {{1000}}}).first, Ids({last.run.id, theirs.run.id}));
  EXPECT_EQ(list({.created_before = {{3000}}}).first, Ids({theirs.run.id, first.run.id}));
  EXPECT_EQ(list({.created_after = {{1000}}, .created_before = {{3000}}}).first, Ids({theirs.run.id}));
  EXPECT_EQ(list({.created_before = {{3000}}}, {.limit = 1}), std::pair(Ids({theirs.run.id}), true));
  EXPECT_EQ(list({.created_before = {{3000}}}, {.starting_after = theirs.run.id}).first, Ids({first.run.id}));
  EXPECT_EQ(list({.created_after = {{1000}}}, {.ending_before = theirs.run.id}).first, Ids({last.run.id}));

  const RunFilter within{.conversation = talk.id, .agent = other_agent.id};
  EXPECT_EQ(list(within).first, Ids({theirs.run.id}));
  EXPECT_EQ(list({.conversation = talk.id, .states = {RunState::failed}}).first, Ids());
  EXPECT_EQ(list({.conversation = talk.id, .states = {RunState::failed, RunState::completed}}).first,
            Ids({theirs.run.id}));
  EXPECT_EQ(list({.conversation = talk.id, .created_after = {{2000}}}).first, Ids());
}

TEST_P(RunListContract, Nobody_sees_the_runs_of_another_tenants_agent) {
  const auto mine = make_run({1000});
  const auto other = make_tenant();
  EXPECT_TRUE(get(&store::runs, other, RunFilter{.agent = mine.run.agent_id}, PageQuery<model::RunId>{}).rows.empty());
  EXPECT_TRUE(
      get(&store::runs, other, RunFilter{.states = {RunState::accepted}}, PageQuery<model::RunId>{}).rows.empty());
  const PageQuery<model::RunId> from_mine{.starting_after = mine.run.id};
  EXPECT_EQ(refused(&store::runs, other, RunFilter{}, from_mine), ErrorKind::not_found);
}

}  // namespace run_list_contract_test
}  // namespace sluice::store
