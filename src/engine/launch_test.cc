// How often a launch waits for the store, and what becomes of it when its run goes.
#include "engine/nodes_fixture.h"

namespace sluice::engine {
namespace launch_test {

class LaunchTest : public EngineTest {
 protected:
  LaunchTest() { dispatcher.wants_history = true; }

  int trips() const { return disk.write_count() + disk.read_count(); }
  // How often the store was asked from the message to the dispatch.
  int trips_of(Send what) {
    const int before = trips();
    const auto jobs_before = dispatcher.jobs.size();
    send_ok(std::move(what));
    EXPECT_EQ(dispatcher.jobs.size(), jobs_before + 1);
    return trips() - before;
  }
  void keep_secret(std::string alias, std::string value) {
    model::SealedSecret secret{.tenant_id = tenant.id, .scope = model::SecretScope::tenant, .owner = tenant.id.ulid};
    secret.alias = std::move(alias);
    secret.sealed = sealer.seal(tenant.id, vault::context_of(secret), value);
    store::put_secrets(store->database(), {secret}, {}, [](const Result<Unit>& kept) { ASSERT_TRUE(kept); });
    loop.settle();
  }
  const dispatch::Dispatch& dispatched() const { return dispatcher.jobs.back()->dispatch; }
};

TEST_F(LaunchTest, A_message_waits_for_the_store_once_before_the_agent_has_it) {
  EXPECT_EQ(trips_of(message("hello")), 1) << "the transaction that accepts it";
  agent_says("well");
  agent_finishes();
  EXPECT_EQ(trips_of(message("and then?")), 1);
  ASSERT_EQ(dispatched().history.size(), 2U);
  EXPECT_EQ(dispatched().history[1].content, "well");
}

TEST_F(LaunchTest, Materials_and_secrets_make_it_no_more) {
  make_environment("plain", {{"COLOUR", "red"}}, "");
  auto what = message("hello");
  what.repository_id = make_repository("code").text();
  what.skill_ids = {make_skill("sums").text()};
  what.env_name = "plain";
  keep_secret("TOKEN", "a-secret-value");
  EXPECT_EQ(trips_of(std::move(what)), 1);
  EXPECT_EQ(dispatched().materials.repository->url, "https://git.example/code");
  EXPECT_EQ(dispatched().materials.skills.size(), 1U);
  EXPECT_EQ(dispatched().materials.variables.at("COLOUR"), "red");
  ASSERT_NE(dispatched().secrets->find("TOKEN"), nullptr);
  EXPECT_EQ(dispatched().secrets->find("TOKEN")->value, "a-secret-value");
}

TEST_F(LaunchTest, A_long_history_is_read_beside_the_writer) {
  send_ok(message("hello"));
  agent_says(std::string(100 * 1024, 'a'));
  agent_finishes();
  EXPECT_EQ(trips_of(message("and then?")), 2);
  EXPECT_EQ(dispatched().history.size(), 2U);
}

TEST_F(LaunchTest, A_run_that_waited_for_its_slot_gets_what_there_is_when_its_turn_comes) {
  options.max_running = 1;
  restart_server();
  send_ok(message("hello"));
  auto what = message_in(make_conversation(), "me too");
  what.hold = true;
  send_ok(std::move(what));
  keep_secret("TOKEN", "a-later-value");
  agent_finishes();
  ASSERT_EQ(dispatcher.jobs.size(), 2U);
  EXPECT_NE(dispatched().secrets->find("TOKEN"), nullptr);
}

TEST_F(LaunchTest, Nothing_is_kept_of_a_launch_whose_run_is_cancelled) {
  options.max_running = 1;
  restart_server();
  send_ok(message("hello"));
  auto what = message_in(make_conversation(), "me too");
  what.hold = true;
  const auto run = send_ok(std::move(what));
  const auto timers = loop.timer_count();
  disk.refuse_reads(1);
  agent_finishes();  // its slot is the other run's, whose records cannot be read now
  EXPECT_EQ(dispatcher.jobs.size(), 1U);
  const auto waiting = loop.timer_count();
  EXPECT_EQ(cancel(run), 1U);
  EXPECT_LT(loop.timer_count(), waiting) << "it would have asked again";
  EXPECT_LE(loop.timer_count(), timers);
  loop.advance({5'000});
  EXPECT_EQ(dispatcher.jobs.size(), 1U);
}

class FrozenServerTest : public NodesTest {};

TEST_F(FrozenServerTest, A_server_that_was_frozen_begins_no_run_that_another_server_has) {
  start_nodes(2);
  node(0).engine->send(message("hello"), [](const SendOutcome&) {});
  node(0).loop.stop();  // the store has accepted the message, and its answer is on its way
  pass(6'000);
  ASSERT_EQ(node(1).dispatcher.jobs.size(), 1U);
  node(0).loop.wake();
  EXPECT_TRUE(node(0).dispatcher.jobs.empty()) << "the answer comes before the timers that are due";
  pass(3'000);
  EXPECT_TRUE(node(0).dispatcher.jobs.empty());
  finishes(node(1));
  EXPECT_EQ(node(1).dispatcher.working(), 0);
}

TEST_F(FrozenServerTest, A_server_that_was_frozen_begins_its_run_if_no_other_server_has_it) {
  start_nodes(1);
  node(0).engine->send(message("hello"), [](const SendOutcome&) {});
  node(0).loop.stop();
  pass(6'000);
  node(0).loop.wake();
  pass(3'000);
  EXPECT_EQ(node(0).dispatcher.jobs.size(), 1U);
}

}  // namespace launch_test
}  // namespace sluice::engine
