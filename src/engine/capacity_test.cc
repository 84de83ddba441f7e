#include "engine/gate_fixture.h"
#include "engine/run_writer.h"

namespace sluice::engine {
namespace capacity_test {

using model::RunState;
using model::Slug;

class CapacityTest : public GateTest {
 protected:
  CapacityTest() {
    options.max_running = 1;
    options.max_hold_seconds = 120;
    restart_server();
  }
  Send held(std::string content) {
    auto what = message_in(make_conversation(), std::move(content));
    what.hold = true;
    return what;
  }
  // The run at work ends.
  void free_slot(std::size_t job) {
    dispatcher.jobs.at(job)->listener->on_finished({});
    loop.settle();
  }
  static int count_of(const std::string& text, std::string_view what) {
    int count = 0;
    for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++count;
    return count;
  }
};

TEST_F(CapacityTest, A_full_pool_refuses_with_an_honest_hint_and_creates_nothing_I_12) {  // I-12
  send_ok(message("first"));
  const auto where = make_conversation();
  const int writes = disk.write_count();
  const auto outcome = send(message_in(where, "second"));
  ASSERT_TRUE(std::holds_alternative<model::Problem>(outcome));
  EXPECT_EQ(std::get<model::Problem>(outcome).slug, Slug::capacity_exhausted);
  EXPECT_GE(std::get<model::Problem>(outcome).retry_after_seconds.value_or(0), 1);
  EXPECT_EQ(disk.write_count(), writes);
  EXPECT_EQ(send_refused(message("again")), Slug::conversation_busy) << "waiting for a slot would not help";
  EXPECT_TRUE(engine->capacity().at_capacity);
  loop.advance({30'000});
  agent_finishes();
  send_ok(message_in(where, "third"));
  EXPECT_EQ(engine->capacity().retry_hint_seconds, 30) << "as long as runs take";
}

TEST_F(CapacityTest, A_known_key_is_answered_though_there_is_no_room_I_12) {
  auto what = message("first");
  what.idempotency = journal::Idempotency{ids.make<model::ServiceKeyId>(), "createMessage", "k", "hash"};
  const auto run = send_ok(what);
  const auto outcome = send(what);
  ASSERT_TRUE(std::holds_alternative<Sent>(outcome));
  EXPECT_TRUE(std::get<Sent>(outcome).replayed);
  EXPECT_EQ(std::get<Sent>(outcome).run.id, run.id);
  what.idempotency->key = "another";
  what.conversation = make_conversation();
  EXPECT_EQ(send_refused(what), Slug::capacity_exhausted);
  agent_finishes();
  EXPECT_FALSE(std::get<Sent>(send(what)).replayed) << "a refused key is not used up";
}

TEST_F(CapacityTest, A_held_run_is_told_its_place_and_starts_when_a_slot_is_free_I_12) {
  send_ok(message("first"));
  const auto second = send_ok(held("second"));
  const auto third = send_ok(held("third"));
  EXPECT_EQ(stored_run(third).state, RunState::held);
  EXPECT_NE(stored_message(third.message_id).find(R"("status":"in_progress")"), std::string::npos);
  EXPECT_EQ(engine->capacity().held, 2);
  EXPECT_EQ(dispatcher.jobs.size(), 1U);
  RememberingReader ana;
  const auto reading = engine->read(third, {.format = wire::Format::ndjson, .after = -1}, ana);
  loop.settle();
  EXPECT_NE(ana.text.find(R"("message_id":null,"seq":0,"data":{"position":2)"), std::string::npos) << ana.text;

  free_slot(0);
  EXPECT_EQ(last_dispatch().prompt, "second");
  loop.advance({10});
  EXPECT_EQ(count_lines(ana.text), 2);
  EXPECT_NE(ana.text.find(R"("seq":1,"data":{"position":1)"), std::string::npos);
  EXPECT_EQ(stored_run(second).state, RunState::streaming);
  free_slot(1);
  EXPECT_EQ(last_dispatch().prompt, "third");
  agent_says("Hi.");
  agent_finishes();
  EXPECT_TRUE(ana.ended);
  EXPECT_EQ(count_lines(ana.text), 5);
  EXPECT_EQ(read_all(third), ana.text);
  EXPECT_EQ(engine->capacity().held, 0);
}

TEST_F(CapacityTest, A_new_conversation_that_was_held_is_shown_when_its_message_starts) {
  for (const bool restarted : {false, true}) {
    send_ok(message("first"));
    auto what = held("second");
    model::Conversation made{.id = ids.make<model::ConversationId>(), .tenant_id = tenant.id};
    what.conversation = made;
    const auto run = send_ok(std::move(what));
    EXPECT_EQ(read_all(run).find(R"("conversation":{)"), std::string::npos);
    if (restarted) restart_server();
    agent_finishes();
    EXPECT_NE(
        read_all(run).find(R"("role":"assistant","conversation":{"object":"conversation","id":")" + made.id.text()),
        std::string::npos);
    agent_finishes();
  }
}

TEST_F(CapacityTest, A_hold_ends_after_its_time_whatever_the_wall_clock_says_I_12) {
  send_ok(message("first"));
  const auto second = send_ok(held("second"));
  loop.jump_wall_clock({3'600'000});
  loop.advance({119'999});
  EXPECT_EQ(stored_run(second).state, RunState::held);
  loop.advance({1});
  EXPECT_EQ(stored_run(second).state, RunState::failed);
  EXPECT_NE(read_all(second).find("capacity-exhausted"), std::string::npos);
  EXPECT_EQ(read_all(second).find("message_start"), std::string::npos);
  EXPECT_EQ(engine->capacity().held, 0);
  free_slot(0);
  EXPECT_EQ(dispatcher.jobs.size(), 1U);
}

TEST_F(CapacityTest, A_held_run_can_be_cancelled_and_its_place_is_free) {
  send_ok(message("first"));
  const auto second = send_ok(held("second"));
  const auto third = send_ok(held("third"));
  EXPECT_EQ(cancel(second), 1U);
  EXPECT_EQ(stored_run(second).state, RunState::cancelled);
  loop.advance({10});
  EXPECT_EQ(count_lines(read_all(third)), 2) << "it has moved up";
  free_slot(0);
  EXPECT_EQ(last_dispatch().prompt, "third");
}

TEST_F(CapacityTest, A_replay_of_a_held_run_attaches_to_the_same_stream_I_12) {
  send_ok(message("first"));
  auto what = held("second");
  what.idempotency = journal::Idempotency{ids.make<model::ServiceKeyId>(), "createMessage", "k", "hash"};
  const auto run = send_ok(what);
  const auto outcome = send(what);
  ASSERT_TRUE(std::holds_alternative<Sent>(outcome));
  EXPECT_TRUE(std::get<Sent>(outcome).replayed);
  RememberingReader ana;
  const auto reading = engine->read(std::get<Sent>(outcome).run, {.format = wire::Format::ndjson, .after = -1}, ana);
  loop.settle();
  EXPECT_EQ(count_lines(ana.text), 1);
  EXPECT_EQ(engine->capacity().held, 1) << "no second place";
  free_slot(0);
  agent_finishes();
  EXPECT_TRUE(ana.ended);
  EXPECT_EQ(read_all(run), ana.text);
}

TEST_F(CapacityTest, A_queue_that_is_full_refuses_whoever_would_wait) {
  options.max_held = 2;
  restart_server();
  send_ok(message("first"));
  auto limited = held("second");
  limited.tenant_limits.max_held = 1;
  send_ok(limited);
  limited.conversation = make_conversation();
  EXPECT_EQ(send_refused(limited), Slug::capacity_exhausted);
  send_ok(held("third"));
  EXPECT_EQ(send_refused(held("fourth")), Slug::capacity_exhausted);
}

TEST_F(CapacityTest, What_the_store_refuses_takes_no_slot_and_no_place) {
  for (int round = 0; round < 3; ++round) {
    disk.fail_write(0, store::Fault::full);
    EXPECT_EQ(send_refused(message("no")), Slug::unavailable);
  }
  send_ok(message("first"));
  const auto waiting = held("no");
  disk.fail_write(0, store::Fault::full);
  EXPECT_EQ(send_refused(waiting), Slug::unavailable);
  auto busy = message("busy");
  busy.hold = true;
  EXPECT_EQ(send_refused(busy), Slug::conversation_busy);
  EXPECT_EQ(engine->capacity().held, 0);
  EXPECT_EQ(engine->capacity().running, 1);
}

TEST_F(CapacityTest, An_agent_is_held_back_while_the_store_takes_nothing_of_what_it_says) {
  send_ok(message("first"));
  disk.fail_write(0, store::Fault::full);
  for (std::size_t i = 0; i + 1 < unwritten_events_max; ++i) agent_says("a");
  EXPECT_FALSE(dispatcher.is_held_back);
  agent_says("a");
  EXPECT_TRUE(dispatcher.is_held_back);
  loop.advance({1'000});
  EXPECT_FALSE(dispatcher.is_held_back) << "all was written";

  disk.fail_write(0, store::Fault::full);
  for (int i = 0; i < 16; ++i) agent_says(std::string(1024 * 1024, 'a'));
  EXPECT_TRUE(dispatcher.is_held_back) << "few events, and long ones";
  loop.advance({1'000});
  EXPECT_FALSE(dispatcher.is_held_back);
}

TEST_F(CapacityTest, A_slot_that_is_freed_while_a_held_run_is_being_written_is_its_own) {
  send_ok(message("first"));
  auto what = held("second");
  disk.hold_answers(true);
  engine->send(std::move(what), [](const SendOutcome&) {});
  agent_finishes();
  disk.hold_answers(false);
  loop.settle();
  ASSERT_EQ(dispatcher.jobs.size(), 2U);
  EXPECT_EQ(last_dispatch().prompt, "second");
}

TEST_F(CapacityTest, Positions_only_improve_and_cost_little_however_long_the_queue) {
  send_ok(message("first"));
  std::vector<model::Run> runs;
  for (int n = 0; n < 200; ++n) runs.push_back(send_ok(held("held " + std::to_string(n))));
  loop.advance({5'000});
  int writes = disk.write_count();
  free_slot(0);
  EXPECT_EQ(disk.write_count() - writes, 2) << "one run ends and the next begins before anybody hears of places";
  writes = disk.write_count();
  loop.advance({10});
  EXPECT_EQ(disk.write_count() - writes, 10) << "the first ten hear of it";
  writes = disk.write_count();
  loop.advance({240});
  EXPECT_EQ(disk.write_count() - writes, 6) << "of the others a few at a time";
  loop.advance({10'000});
  EXPECT_NE(read_all(runs[199]).find(R"("position":199)"), std::string::npos) << "in the end all of them";
  writes = disk.write_count();
  loop.advance({10'000});
  EXPECT_LE(disk.write_count() - writes, 200) << "and then once more at most: that the wait has doubled";
}

TEST_F(CapacityTest, a_held_run_gets_its_position_again_when_its_wait_has_doubled_I_12) {
  send_ok(message("first"));
  const auto second = send_ok(held("second"));
  const auto reported = [&] {
    std::vector<std::string> places;
    const auto text = read_all(second);
    for (auto at = text.find("\"data\":{"); at != text.npos; at = text.find("\"data\":{", at + 1)) {
      places.push_back(text.substr(at + 7, text.find('}', at) - at - 6));
    }
    return places;
  };
  const auto place = [](int seconds) {
    return R"({"position":1,"retry_hint_seconds":)" + std::to_string(seconds) + "}";
  };
  EXPECT_EQ(reported(), std::vector{place(10)});
  loop.advance({9'000});
  EXPECT_EQ(reported(), std::vector{place(10)});
  loop.advance({2'000});
  EXPECT_EQ(reported(), (std::vector{place(10), place(20)}));
  loop.advance({90'000});
  EXPECT_EQ(reported(), (std::vector{place(10), place(20), place(40), place(80)}));
  restart_server();
  loop.advance({10'000});
  EXPECT_EQ(reported(), (std::vector{place(10), place(20), place(40), place(80)}))
      << "the last one is known from its journal";
}

TEST_F(CapacityTest, Those_who_return_from_a_gate_go_before_those_who_are_held) {
  send_ok(message("first"));
  agent_asks();
  const auto approval = decision();
  const auto second = send_ok(held("second"));
  EXPECT_EQ(stored_run(second).state, RunState::streaming) << "a pooled park frees the slot";
  send_ok(held("third"));
  decide(approval);
  EXPECT_EQ(dispatcher.working(), 1) << "approved, it waits for a slot";
  free_slot(1);
  EXPECT_EQ(last_dispatch().prompt, "first");
  EXPECT_EQ(last_dispatch().checkpoint, R"({"round":1})");
  free_slot(2);
  EXPECT_EQ(last_dispatch().prompt, "third");
}

TEST_F(CapacityTest, A_tenant_at_its_limit_does_not_delay_another) {
  options.max_running = 3;
  restart_server();
  auto limited = held("one");
  limited.tenant_limits.max_running = 1;
  send_ok(limited);
  limited.conversation = make_conversation();
  const auto waiting = send_ok(limited);
  EXPECT_EQ(stored_run(waiting).state, RunState::held);
  EXPECT_FALSE(engine->capacity().at_capacity);
  free_slot(0);
  EXPECT_EQ(stored_run(waiting).state, RunState::streaming);
}

// ── restarts ──

TEST_F(CapacityTest, A_hold_survives_a_restart_with_its_order_and_the_rest_of_its_time_I_12) {
  dispatcher.resumable = true;
  send_ok(message("first"));
  std::vector<model::Run> runs;
  for (int n = 0; n < 5; ++n) {
    runs.push_back(send_ok(held("held " + std::to_string(n))));
    loop.advance({1'000});
  }
  const auto before = read_all(runs[1]);
  stop_server();
  loop.advance({50'000});
  start_server();
  EXPECT_EQ(engine->capacity().held, 5);
  EXPECT_EQ(last_dispatch().prompt, "first") << "the run that worked goes first";
  EXPECT_EQ(read_all(runs[1]), before) << "no run gets the same position twice";
  agent_finishes();
  EXPECT_EQ(last_dispatch().prompt, "held 0");
  EXPECT_TRUE(read_all(runs[1]).starts_with(before));
  loop.advance({10});
  EXPECT_EQ(count_lines(read_all(runs[1])), 2);
  loop.advance({65'989});
  EXPECT_EQ(stored_run(runs[1]).state, RunState::held);
  loop.advance({1});
  EXPECT_EQ(stored_run(runs[1]).state, RunState::failed);
  EXPECT_EQ(stored_run(runs[2]).state, RunState::held);
}

TEST_F(CapacityTest, A_clock_that_was_set_back_makes_nobody_wait_longer) {
  send_ok(message("first"));
  const auto run = send_ok(held("second"));
  stop_server();
  loop.jump_wall_clock({-86'400'000});
  start_server();
  loop.advance({119'000});
  EXPECT_EQ(stored_run(run).state, RunState::held);
  loop.advance({1'000});
  EXPECT_EQ(stored_run(run).state, RunState::failed);
}

TEST_F(CapacityTest, Fewer_slots_after_a_restart_are_kept_to) {
  options.max_running = 3;
  restart_server();
  for (int n = 0; n < 3; ++n) send_ok(message_in(make_conversation(), "hello"));
  options.max_running = 1;
  restart_server();
  EXPECT_EQ(dispatcher.working(), 1);
  agent_finishes();
  agent_finishes();
  EXPECT_EQ(dispatcher.working(), 1);
}

TEST_F(CapacityTest, Held_runs_do_not_keep_a_server_from_stopping) {
  send_ok(message("first"));
  const auto run = send_ok(held("second"));
  bool drained = false;
  engine->drain({5'000}, [&] { drained = true; });
  agent_finishes();
  EXPECT_TRUE(drained);
  EXPECT_EQ(stored_run(run).state, RunState::held) << "nothing begins any more";
  restart_server();
  EXPECT_EQ(stored_run(run).state, RunState::streaming);
}

TEST_F(CapacityTest, Figures_say_who_works_and_who_waits) {
  send_ok(message("first"));
  send_ok(held("second"));
  const auto text = metrics.to_text();
  EXPECT_NE(text.find("sluice_runs_running 1"), std::string::npos);
  EXPECT_NE(text.find("sluice_runs_held 1"), std::string::npos);
  EXPECT_NE(text.find("sluice_runs_parked 0"), std::string::npos);
}

}  // namespace capacity_test
}  // namespace sluice::engine
