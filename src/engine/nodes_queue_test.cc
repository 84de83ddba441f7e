// I-12 across nodes: runs that wait go where there is room, and each tenant has its share of all slots.
#include "engine/nodes_fixture.h"

namespace sluice::engine {
namespace nodes_queue_test {

using model::RunState;

class NodesQueueTest : public NodesTest {
 protected:
  struct Customer {
    model::Tenant tenant;
    model::Agent agent;
  };
  Customer a_customer(int64_t weight, int64_t max_running = 0) {
    Customer made;
    made.tenant.id = ids.make<model::TenantId>();
    made.tenant.limits.weight = weight;
    made.tenant.limits.max_running = max_running;
    made.agent = {.id = ids.make<model::AgentId>(), .tenant_id = made.tenant.id, .name = "default", .is_default = true};
    store::create_tenant(disk_store().database(), made.tenant, made.agent,
                         [](Result<Unit> done) { ASSERT_TRUE(done); });
    loop.settle();
    return made;
  }
  model::Run sent_by(const Customer& customer, Node& where) {
    model::Conversation made{.id = ids.make<model::ConversationId>(), .tenant_id = customer.tenant.id};
    made.agent_id = customer.agent.id;
    Send send;
    send.tenant = customer.tenant.id;
    send.tenant_limits = customer.tenant.limits;
    send.conversation = made;
    send.content = "hello";
    send.hold = true;
    send.request_id = "req_test";
    return accepted_by(where, std::move(send));
  }
  std::vector<model::Run> sent_by(const Customer& customer, Node& where, int count) {
    std::vector<model::Run> runs;
    for (int i = 0; i < count; ++i) runs.push_back(sent_by(customer, where));
    return runs;
  }
  model::Run stored(const model::Run& run) {
    model::Run found;
    store::run(disk_store().database(), run.tenant_id, run.id, [&](const Result<model::Run>& answer) {
      ASSERT_TRUE(answer);
      found = answer.value();
    });
    loop.settle();
    return found;
  }
  bool works(const model::Run& run, Node& where) {
    const auto now = stored(run);
    return now.state == RunState::streaming && now.node == where.id;
  }
  std::ptrdiff_t count_working(const std::vector<model::Run>& runs, Node& where) {
    return std::ranges::count_if(runs, [&](const auto& run) { return works(run, where); });
  }
  // The node's oldest run ends, and everything that follows from that happens.
  void ends_one(Node& where) {
    for (const auto& job : where.dispatcher.jobs) {
      if (job->listener == nullptr) continue;
      job->listener->on_finished({3, 4});
      break;
    }
    loop.settle();
  }
  store::SimulatedStore& disk_store() { return *store; }
};

TEST_F(NodesQueueTest, I_12_a_tenant_at_its_limit_delays_nobody_on_other_nodes) {
  options.max_running = 3;
  start_nodes(2);
  const auto busy = a_customer(1);
  const auto limited = a_customer(1, 1);
  const auto other = a_customer(1);
  sent_by(busy, node(0), 3);
  sent_by(limited, node(1));
  const auto waiting = sent_by(limited, node(0), 16);
  const auto mine = sent_by(other, node(0), 2);
  for (const auto& run : mine) EXPECT_TRUE(works(run, node(1))) << "two slots were free all the time";
  pass(30'000);
  for (const auto& run : waiting) {
    EXPECT_EQ(stored(run).state, RunState::held);
    EXPECT_EQ(stored(run).node, node(0).id) << "the node has no room for this tenant";
  }
  ends_one(node(1));
  EXPECT_EQ(count_working(waiting, node(1)), 1) << "its own turn comes at once";
}

TEST_F(NodesQueueTest, I_12_what_a_full_node_took_over_moves_on_to_one_with_a_slot) {
  options.max_running = 1;
  start_nodes(3);
  const auto customer = a_customer(1);
  for (auto& each : nodes) sent_by(customer, *each);
  const auto waiting = sent_by(customer, node(0));
  ASSERT_EQ(stored(waiting).state, RunState::held);
  kill(0);
  pass(2'000);
  const auto holder = stored(waiting).node == node(1).id ? 1U : 2U;
  ASSERT_EQ(stored(waiting).state, RunState::held);
  ASSERT_GT(stored(waiting).epoch, model::Epoch{1});
  pass(1'000);
  ends_one(node(3 - holder));
  pass(500);
  EXPECT_TRUE(works(waiting, node(3 - holder)));
}

TEST_F(NodesQueueTest, I_12_a_node_claims_no_more_than_it_has_room_for) {
  options.max_running = 3;
  start_nodes(2);
  const auto customer = a_customer(1);
  const auto limited = a_customer(1, 2);
  sent_by(customer, node(0), 3);
  sent_by(customer, node(1));
  disk.lose_news(true);
  auto waiting = sent_by(limited, node(0), 6);
  for (auto& run : sent_by(customer, node(0), 6)) waiting.push_back(run);
  const auto at_other = [&](const auto& run) { return stored(run).node == node(1).id; };
  for (int moment = 0; moment < 600; ++moment) {
    loop.advance({1});
    ASSERT_LE(std::ranges::count_if(waiting, at_other), 2);
  }
  EXPECT_EQ(count_working(waiting, node(1)), 2);
}

TEST_F(NodesQueueTest, I_12_tenants_share_the_slots_of_another_node_by_weight_and_within_one_the_oldest_is_first) {
  options.max_running = 1;
  start_nodes(2);
  const auto heavy = a_customer(3);
  const auto light = a_customer(1);
  sent_by(light, node(0));
  sent_by(light, node(1));
  const auto many = sent_by(light, node(0), 20);
  const auto few = sent_by(heavy, node(0), 20);
  pass(1'000);
  for (int turn = 0; turn < 16; ++turn) {
    ends_one(node(1));
    pass(600);
  }
  const auto begun_there = [&](const std::vector<model::Run>& runs) {
    return std::ranges::count_if(runs, [&](const auto& run) { return stored(run).node == node(1).id; });
  };
  EXPECT_NEAR(static_cast<double>(begun_there(many)), 4, 1);
  EXPECT_NEAR(static_cast<double>(begun_there(few)), 12, 1);
  for (std::size_t i = 0; i < static_cast<std::size_t>(begun_there(few)); ++i) {
    EXPECT_EQ(stored(few[i]).node, node(1).id) << i;
  }
}

TEST_F(NodesQueueTest, I_12_a_tenant_that_waits_on_a_full_node_has_its_share_of_the_other_full_one) {
  options.max_running = 1;
  start_nodes(2);
  const auto here = a_customer(1);
  const auto there = a_customer(1);
  sent_by(here, node(0));
  sent_by(there, node(1));
  const auto many = sent_by(there, node(1), 20);
  const auto few = sent_by(here, node(0), 5);
  pass(1'000);
  for (int turn = 0; turn < 6; ++turn) {
    ends_one(node(1));
    pass(600);
  }
  const auto moved = std::ranges::count_if(few, [&](const auto& run) { return stored(run).node == node(1).id; });
  EXPECT_NEAR(static_cast<double>(moved), 3, 1);
  const auto run = sent_by(there, node(1));
  EXPECT_EQ(stored(run).state, RunState::held);
}

TEST_F(NodesQueueTest, I_12_a_run_does_not_wait_on_one_node_while_much_later_ones_of_its_tenant_begin_on_another) {
  options.max_running = 1;
  start_nodes(2);
  const auto customer = a_customer(1);
  sent_by(customer, node(0));
  sent_by(customer, node(1));
  const auto early = sent_by(customer, node(0), 2);
  pass(10'000);
  const auto late = sent_by(customer, node(1), 2);
  pass(1'000);
  for (int turn = 0; turn < 2; ++turn) {
    ends_one(node(1));
    EXPECT_EQ(stored(early[static_cast<std::size_t>(turn)]).node, node(1).id);
    pass(600);
  }
  ends_one(node(1));
  EXPECT_TRUE(works(late[0], node(1)));
}

TEST_F(NodesQueueTest, I_12_a_position_counts_turns_of_tenants_that_wait_on_other_nodes) {
  options.max_running = 1;
  start_nodes(2);
  const auto here = a_customer(1);
  const auto there = a_customer(1);
  sent_by(here, node(0));
  sent_by(there, node(1));
  sent_by(there, node(1));
  pass(1'000);
  const auto run = sent_by(here, node(0));
  const auto reading = read_on(node(0), run);
  EXPECT_NE(reading->reader.text.find(R"("position":2)"), std::string::npos) << reading->reader.text;
  ends_one(node(0));
  pass(600);
  EXPECT_NE(reading->reader.text.find(R"("position":1)"), std::string::npos) << reading->reader.text;
}

// A claim is answered, and the run's past cannot be read: the slot that was kept for it is free for others.
TEST_F(NodesQueueTest, I_12_a_claim_that_comes_to_nothing_keeps_no_slot) {
  options.max_running = 1;
  start_nodes(3);
  const auto customer = a_customer(1);
  sent_by(customer, node(0));
  disk.lose_news(true);
  const auto waiting = sent_by(customer, node(0), 1);
  pass(600);  // one of the two with room was quicker
  const auto taker = stored(waiting[0]).node == node(1).id ? 1U : 2U;
  ASSERT_TRUE(works(waiting[0], node(taker)));
  auto& idle = node(3 - taker);
  const auto run = sent_by(customer, idle);
  EXPECT_TRUE(works(run, idle));
}

}  // namespace nodes_queue_test
}  // namespace sluice::engine
