#include "engine/gate_fixture.h"

namespace sluice::engine {
namespace placement_test {

using model::RunState;
using model::SandboxState;
using model::Slug;

class PlacementTest : public GateTest {
 protected:
  model::Conversation changed(model::ConversationId id, model::Runtime runtime) {
    model::Conversation conversation{.id = id, .tenant_id = tenant.id, .agent_id = agent.id};
    conversation.runtime = std::move(runtime);
    return conversation;
  }
  // What a reader gets of a story with a park and an approval in it.
  std::string tell_story(const model::Runtime& runtime) {
    const auto run = send_ok(message_in(make_conversation(runtime), "Look it up."));
    RememberingReader ana;
    const auto reading = engine->read(run, {.format = wire::Format::ndjson, .after = -1}, ana);
    agent_says("Let me see. ");
    agent_asks();
    decide(decision());
    agent_says("Done.");
    agent_asks();
    decide(decision(false));
    EXPECT_TRUE(ana.ended);
    EXPECT_EQ(read_all(run), ana.text);
    return without_ids(ana.text);
  }
};

TEST_F(PlacementTest, The_same_story_gives_the_same_lines_under_both_placements_I_21) {  // I-21
  const auto pooled = tell_story({});
  EXPECT_EQ(dispatcher.went_on, 0);
  EXPECT_EQ(tell_story(sticky()), pooled);
  EXPECT_EQ(dispatcher.went_on, 1);
  EXPECT_EQ(count_lines(pooled), 7);
}

TEST_F(PlacementTest, A_sticky_conversation_keeps_its_box_between_messages_and_through_a_park_I_21) {
  const auto where = make_conversation(sticky(600));
  EXPECT_EQ(engine->sandbox_of(where).state, SandboxState::none);
  send_ok(message_in(where, "one"));
  EXPECT_TRUE(last_dispatch().keeps_box);
  EXPECT_EQ(engine->sandbox_of(where).state, SandboxState::running);
  agent_asks(300);
  EXPECT_EQ(dispatcher.working(), 1) << "the work waits in its box";
  EXPECT_EQ(engine->sandbox_of(where).state, SandboxState::parked);
  EXPECT_EQ(engine->sandbox_of(where).expires_at, last_approval().expires_at);
  loop.advance({299'000});
  auto made = decision();
  made.secrets.push_back(sealed("CRM_API_KEY", "s3cr3t-value", where));
  decide(std::move(made));
  EXPECT_EQ(dispatcher.went_on, 1);
  EXPECT_EQ(dispatcher.jobs.size(), 1U);
  EXPECT_NE(last_dispatch().secrets->find("CRM_API_KEY"), nullptr) << "there before it goes on";
  agent_finishes();
  EXPECT_EQ(engine->sandbox_of(where).state, SandboxState::warm);
  EXPECT_EQ(engine->sandbox_of(where).expires_at, Timestamp{loop.now().ms + 600'000});
  EXPECT_EQ(engine->capacity().sticky_active, 1);
  EXPECT_EQ(engine->capacity().running, 0);

  loop.advance({599'000});
  send_ok(message_in(where, "two"));
  loop.advance({5'000'000});
  EXPECT_TRUE(dispatcher.released.empty()) << "not while a run is at work";
  agent_finishes();
  loop.jump_wall_clock({3'600'000});
  loop.advance({599'999});
  EXPECT_TRUE(dispatcher.released.empty());
  loop.advance({1});
  EXPECT_EQ(dispatcher.released, std::vector{where});
  EXPECT_EQ(engine->sandbox_of(where).state, SandboxState::none);
  EXPECT_EQ(engine->capacity().sticky_active, 0);
}

TEST_F(PlacementTest, A_lease_is_shortened_prolonged_and_ended_with_its_conversation) {
  const auto where = make_conversation(sticky(600));
  const auto work_once = [&] {
    send_ok(message_in(where, "hello"));
    agent_finishes();
  };
  work_once();
  engine->conversation_changed(changed(where, sticky(1'000)));
  loop.advance({700'000});
  EXPECT_TRUE(dispatcher.released.empty());
  engine->conversation_changed(changed(where, sticky(800)));
  loop.advance({100'000});
  EXPECT_EQ(dispatcher.released.size(), 1U);

  work_once();
  engine->conversation_changed(changed(where, {}));
  EXPECT_EQ(dispatcher.released.size(), 2U);

  work_once();
  auto archived = changed(where, sticky(600));
  archived.status = model::ConversationStatus::archived;
  engine->conversation_changed(archived);
  EXPECT_EQ(dispatcher.released.size(), 3U);

  send_ok(message_in(where, "hello"));
  engine->conversation_changed(changed(where, {}));
  EXPECT_EQ(dispatcher.released.size(), 3U) << "a run is using it";
  agent_finishes();
  EXPECT_EQ(dispatcher.released.size(), 4U);
  EXPECT_EQ(engine->capacity().sticky_active, 0);
}

TEST_F(PlacementTest, Caps_on_sticky_conversations_hold_and_the_run_goes_on_without_I_21) {
  options.max_sticky = 2;
  restart_server();
  model::TenantLimits limits;
  limits.max_concurrent_sticky = 1;
  EXPECT_FALSE(engine->refusal_of_sticky(tenant.id, limits).has_value());
  const auto send_sticky = [&] {
    auto what = message_in(make_conversation(sticky()), "hello");
    what.tenant_limits = limits;
    return send_ok(std::move(what));
  };
  send_sticky();
  EXPECT_TRUE(last_dispatch().keeps_box);
  const auto refusal = engine->refusal_of_sticky(tenant.id, limits);
  ASSERT_TRUE(refusal.has_value());
  EXPECT_EQ(refusal->slug, Slug::capacity_exhausted);
  EXPECT_GE(refusal->retry_after_seconds.value_or(0), 1);
  EXPECT_FALSE(engine->refusal_of_sticky(ids.make<model::TenantId>(), limits).has_value());

  const auto second = send_sticky();
  EXPECT_FALSE(last_dispatch().keeps_box);
  RememberingReader reader;
  const auto reading = engine->read(second, {.format = wire::Format::full_ndjson, .after = -1}, reader);
  loop.settle();
  EXPECT_NE(reader.text.find("may keep their sandbox"), std::string::npos) << "it learns why";
}

TEST_F(PlacementTest, A_pinned_slot_is_the_conversations_own_though_the_pool_is_full_I_13) {  // I-13
  options.max_running = 2;
  restart_server();
  const auto where = make_conversation(sticky(600));
  send_ok(message_in(where, "one"));
  agent_finishes();
  send_ok(message("pooled"));
  EXPECT_TRUE(engine->capacity().at_capacity);
  EXPECT_EQ(send_refused(message_in(make_conversation(), "no room")), Slug::capacity_exhausted);
  auto foreign = message_in(where, "not yours");
  foreign.tenant = ids.make<model::TenantId>();
  EXPECT_EQ(send_refused(std::move(foreign)), Slug::capacity_exhausted) << "no other tenant's";
  send_ok(message_in(where, "two"));
  EXPECT_EQ(engine->capacity().running, 2);
  EXPECT_EQ(engine->capacity().warm_available, 3);
  EXPECT_EQ(engine->capacity().pool_size, 2);
}

TEST_F(PlacementTest, A_message_that_comes_to_nothing_does_not_prolong_a_lease) {
  const auto where = make_conversation(sticky(600));
  send_ok(message_in(where, "one"));
  agent_finishes();
  loop.advance({500'000});
  disk.fail_write(0, store::Fault::full);
  EXPECT_EQ(send_refused(message_in(where, "two")), Slug::unavailable);
  loop.advance({100'000});
  EXPECT_EQ(dispatcher.released, std::vector{where});
}

// ── restarts ──

TEST_F(PlacementTest, A_park_survives_a_restart_with_the_rest_of_its_time_I_14) {  // I-14
  for (const auto& runtime : {model::Runtime{}, sticky()}) {
    const auto run = send_ok(message_in(make_conversation(runtime), "hello"));
    agent_says("Let me see. ");
    agent_asks(100);
    const auto before = read_all(run);
    stop_server();
    loop.advance({60'000});
    start_server();
    EXPECT_EQ(engine->capacity().parked, 1);
    EXPECT_EQ(dispatcher.working(), 0);
    EXPECT_EQ(read_all(run), before);
    loop.advance({39'000});
    decide(decision());
    ASSERT_EQ(dispatcher.working(), 1) << "it goes on from its checkpoint";
    EXPECT_EQ(last_dispatch().checkpoint, R"({"round":1})");
    EXPECT_EQ(last_dispatch().keeps_box, runtime.mode == model::PlacementMode::sticky);
    agent_says("Done.");
    agent_finishes();
    EXPECT_TRUE(read_all(run).starts_with(before));
    EXPECT_NE(stored_message(run.message_id).find(R"("content":"Let me see. Done.")"), std::string::npos);
  }
}

TEST_F(PlacementTest, A_gate_whose_time_was_over_while_no_server_ran_expires_at_once) {
  const auto run = send_ok(message("hello"));
  agent_asks(100);
  stop_server();
  loop.advance({200'000});
  start_server();
  loop.advance({1});
  EXPECT_EQ(stored_run(run).state, RunState::failed);
  EXPECT_EQ(last_approval().resolved_by, "expiry");
  EXPECT_EQ(dispatcher.forgotten, std::vector{run.id});
}

TEST_F(PlacementTest, A_clock_that_was_set_back_gives_a_gate_no_more_than_its_time) {
  const auto run = send_ok(message("hello"));
  agent_asks(100);
  stop_server();
  loop.jump_wall_clock({-86'400'000});
  start_server();
  loop.advance({99'999});
  EXPECT_EQ(stored_run(run).state, RunState::parked);
  loop.advance({1});
  EXPECT_EQ(stored_run(run).state, RunState::failed);
}

TEST_F(PlacementTest, A_server_that_has_no_boxes_of_its_own_keeps_none_I_21) {
  dispatcher.has_boxes = false;
  const auto refusal = engine->refusal_of_sticky(tenant.id, {});
  ASSERT_TRUE(refusal.has_value());
  EXPECT_EQ(refusal->slug, Slug::validation_error);
  ASSERT_EQ(refusal->errors.size(), 1U);
  EXPECT_EQ(refusal->errors[0].pointer, "/runtime/mode");
  EXPECT_EQ(refusal->errors[0].message, "This server has no sandboxes of its own to keep.");
  const auto run = send_ok(message_in(make_conversation(sticky()), "hello"));
  EXPECT_FALSE(last_dispatch().keeps_box);
  EXPECT_EQ(engine->capacity().sticky_active, 0);
  agent_finishes();
  RememberingReader reader;
  const auto reading = engine->read(run, {.format = wire::Format::full_ndjson, .after = -1}, reader);
  loop.settle();
  EXPECT_NE(reader.text.find("has no sandboxes of its own to keep"), std::string::npos);
}

TEST_F(PlacementTest, A_message_may_come_at_any_moment_while_the_fate_of_a_sticky_runs_write_is_unknown) {
  for (int steps = 0; steps < 40; ++steps) {
    const auto where = make_conversation(sticky());
    const auto run = send_ok(message_in(where, "hello"));
    disk.fail_write(0, store::Fault::before_write);
    agent_at_work().on_event({model::EventKind::text, loop.now(), "Hi"});
    for (int i = 0; i < steps; ++i) loop.step();
    engine->send(message_in(where, "again"), [](const SendOutcome&) {});
    loop.settle();
    EXPECT_EQ(stored_run(run).state, model::RunState::streaming);
    EXPECT_EQ(cancel(run), 1u);
    loop.advance({601'000});
  }
}

}  // namespace placement_test
}  // namespace sluice::engine
