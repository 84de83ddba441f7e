// The misfortunes that a SimulatedDatabase can be asked for: the shipped store has them, so they are what it does with
// them.
#include "store/simulated_store.h"

#include "store/contract_world.h"

namespace sluice::store {
namespace simulated_store_test {

class SimulatedFaults : public StoreTeller, public testing::Test {
 public:
  ~SimulatedFaults() override { store_.reset(); }  // before the disk it uses
  SimulatedFaults() { restart(); }
  void restart() {
    store_.reset();
    store_ = std::make_unique<SimulatedStore>(disk, loop_);
  }
  SimulatedDatabase disk;
};

TEST_F(SimulatedFaults, A_write_that_failed_before_is_not_there_and_nothing_is_written_until_reopen) {
  const auto tenant = make_tenant();
  disk.fail_write(0, Fault::before_write);
  const auto made = a_conversation(tenant);
  EXPECT_EQ(refused(&journal::Journal::create_conversation, NewConversation{made, "", {}}), ErrorKind::unavailable);
  EXPECT_TRUE(store().broken());
  EXPECT_EQ(refused(&journal::Journal::create_conversation, NewConversation{made, "", {}}), ErrorKind::unavailable);
  EXPECT_EQ(refused(&store::conversation, tenant, made.id), ErrorKind::not_found) << "reading goes on";
  get(&journal::Journal::reopen);
  EXPECT_FALSE(store().broken());
  get(&journal::Journal::create_conversation, NewConversation{made, "", {}});
}

TEST_F(SimulatedFaults, A_write_that_failed_after_is_there) {
  const auto tenant = make_tenant();
  const auto conversation = make_conversation(tenant).id;
  const auto begun = accepted(tenant, conversation);
  disk.fail_write(0, Fault::after_write);
  EXPECT_EQ(refused(&journal::Journal::append, the_end(begun)), ErrorKind::unavailable);
  restart();
  EXPECT_FALSE(store().broken()) << "another server begins afresh";
  EXPECT_EQ(get(&store::run, tenant, begun.run.id).head.value, 3U);
  EXPECT_EQ(refused(&journal::Journal::append, the_end(begun)), ErrorKind::conflict);
}

TEST_F(SimulatedFaults, A_full_disk_says_so_and_may_have_room_later) {
  const auto tenant = make_tenant();
  const int before = disk.write_count();
  disk.fail_write(1, Fault::full);
  make_conversation(tenant);
  const auto made = a_conversation(tenant);
  EXPECT_EQ(refused(&journal::Journal::create_conversation, NewConversation{made, "", {}}), ErrorKind::overloaded);
  EXPECT_TRUE(store().broken()) << "until somebody writes again";
  get(&journal::Journal::create_conversation, NewConversation{made, "", {}});
  EXPECT_FALSE(store().broken());
  EXPECT_EQ(disk.write_count(), before + 3);
}

TEST_F(SimulatedFaults, A_token_that_could_not_be_marked_as_spent_is_not) {
  const auto tenant = make_tenant();
  const model::Execution made{.id = make_id<model::ExecutionId>(), .tenant_id = tenant, .expires_at = {9'000}};
  get(&store::create_execution, made, std::string("b"),
      std::vector<model::OneTimeToken>{{"t", model::TokenPurpose::setup, {5'000}}});
  disk.fail_write(0, Fault::full);
  EXPECT_EQ(refused(&store::redeem, made.id, model::TokenPurpose::setup, std::string("t"), Timestamp{1}),
            ErrorKind::overloaded);
  EXPECT_EQ(get(&store::redeem, made.id, model::TokenPurpose::setup, std::string("t"), Timestamp{1}).execution.id,
            made.id);
}

// I-16: either all of a gate is there or none of it, and a second attempt finds out which.
TEST_F(SimulatedFaults, A_gate_that_could_not_be_written_is_not_half_there) {
  const auto tenant = make_tenant();
  const auto begun = accepted(tenant, make_conversation(tenant).id);
  auto park = the_end(begun);
  park.state = model::RunState::parked;
  park.approval = model::Approval{.id = make_id<model::ApprovalId>(),
                                  .tenant_id = tenant,
                                  .conversation_id = begun.run.conversation_id,
                                  .run_id = begun.run.id};
  park.audit = {{.action = "approval.required"}};
  const auto entry_count = [&] { return get(&store::audit, std::nullopt, int64_t{0}, 10).size(); };
  disk.fail_write(0, Fault::full);
  EXPECT_EQ(refused(&journal::Journal::append, park), ErrorKind::overloaded);
  EXPECT_EQ(refused(&store::open_approval, begun.run.id), ErrorKind::not_found);
  EXPECT_EQ(entry_count(), 0U);
  disk.fail_write(0, Fault::after_write);
  EXPECT_EQ(refused(&journal::Journal::append, park), ErrorKind::unavailable);
  restart();
  EXPECT_EQ(get(&store::open_approval, begun.run.id).id, park.approval->id);
  EXPECT_EQ(refused(&journal::Journal::append, park), ErrorKind::conflict);
  EXPECT_EQ(entry_count(), 1U);
}

TEST_F(SimulatedFaults, A_slow_disk_writes_at_once_and_tells_later) {
  const auto tenant = make_tenant();
  disk.hold_answers(true);
  int answers = 0;
  const auto made = a_conversation(tenant);
  store().create_conversation({made, "", {}}, [&](const auto&) { ++answers; });
  store::conversation(store().database(), tenant, made.id,
                      [&](const auto& kept) { answers += static_cast<bool>(kept) ? 10 : 0; });
  loop().settle();
  EXPECT_EQ(answers, 0);
  disk.hold_answers(false);
  loop().settle();
  EXPECT_EQ(answers, 11);
}

TEST_F(SimulatedFaults, A_late_write_is_not_seen_until_it_lands) {
  const auto tenant = make_tenant();
  disk.fail_write(0, Fault::late);
  const auto made = a_conversation(tenant);
  EXPECT_EQ(refused(&journal::Journal::create_conversation, NewConversation{made, "", {}}), ErrorKind::unavailable);
  get(&journal::Journal::reopen);
  EXPECT_EQ(refused(&store::conversation, tenant, made.id), ErrorKind::not_found);
  disk.land();
  EXPECT_EQ(get(&store::conversation, tenant, made.id).id, made.id);
  disk.land();  // once is all
}

TEST_F(SimulatedFaults, A_write_waits_for_one_that_is_late) {
  const auto tenant = make_tenant();
  store_ = std::make_unique<SimulatedStore>(disk, loop_, make_id<model::NodeId>());
  const auto begun = accepted(tenant, make_conversation(tenant).id);
  disk.fail_write(0, Fault::late);
  EXPECT_EQ(refused(&journal::Journal::append, the_end(begun)), ErrorKind::unavailable);
  store_ = std::make_unique<SimulatedStore>(disk, loop_, make_id<model::NodeId>());
  EXPECT_EQ(get(&store::run, tenant, begun.run.id).state, model::RunState::accepted);
  EXPECT_EQ(refused(&journal::Journal::take_over, begun.run.id, begun.run.epoch), ErrorKind::conflict)
      << "it is over by then";
  EXPECT_EQ(get(&store::run, tenant, begun.run.id).state, model::RunState::completed);
  EXPECT_EQ(get(&journal::Journal::read, begun.run.id, model::Position{}, std::size_t{1} << 20).events.size(), 3U);
}

TEST_F(SimulatedFaults, Writes_that_are_gathered_share_one_transaction_and_its_fate) {
  const auto tenant = make_tenant();
  disk.gather(true);
  const auto try_two = [&] {
    std::vector<bool> made;
    for (int i = 0; i < 2; ++i) {
      store().create_conversation({a_conversation(tenant), "", {}},
                                  [&](const auto& done) { made.push_back(bool(done)); });
    }
    EXPECT_TRUE(made.empty());
    loop().settle();
    return made;
  };
  disk.fail_write(0, Fault::full);
  EXPECT_EQ(try_two(), (std::vector<bool>{false, false}));
  const int before = disk.write_count();
  EXPECT_EQ(try_two(), (std::vector<bool>{true, true}));
  EXPECT_EQ(disk.write_count(), before + 1);
  disk.fail_write(0, Fault::collides);
  EXPECT_EQ(try_two(), (std::vector<bool>{true, true})) << "each alone, and it is in nobody's way";
}

TEST_F(SimulatedFaults, Answers_of_a_store_that_is_gone_are_dropped) {
  const auto tenant = make_tenant();
  disk.hold_answers(true);
  bool answered = false;
  store().create_conversation({a_conversation(tenant), "", {}}, [&](const auto&) { answered = true; });
  restart();
  disk.hold_answers(false);
  loop().settle();
  EXPECT_FALSE(answered);
}

}  // namespace simulated_store_test
}  // namespace sluice::store
