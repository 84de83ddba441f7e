// The contract of every store, about runs: acceptance, journals, epochs, idempotency.
#include "store/store_contract.h"

namespace sluice::store {
namespace run_contract_test {

using model::EventKind;
using model::RunState;

class RunContract : public StoreContract {
 public:
  const model::TenantId tenant = make_tenant();
  const model::ConversationId conversation = make_conversation(tenant).id;

  static Append words(const Accepted& begun, model::Position head, std::vector<std::string> texts) {
    Append append{.run = begun.run.id, .epoch = begun.run.epoch, .head = head};
    for (auto& text : texts) append.events.push_back({EventKind::text, {7000}, std::move(text)});
    return append;
  }
  // The whole journal, read in pages of about `bytes_max`.
  std::vector<model::RunEvent> read(model::RunId run, std::size_t bytes_max) {
    std::vector<model::RunEvent> events;
    for (;;) {
      const auto page = get(&journal::Journal::read, run, model::Position{events.size()}, bytes_max);
      if (page.events.empty()) return events;
      for (const auto& news : page.events) {
        events.push_back(news.event());
        EXPECT_EQ(news.position().value, events.size());
      }
    }
  }
  Idempotency key(std::string name, std::string request = "sha") {
    return {principal, "createMessage:" + conversation.text(), std::move(name), std::move(request)};
  }
  const model::ServiceKeyId principal = make_id<model::ServiceKeyId>();
};

INSTANTIATE_TEST_SUITE_P(Stores, RunContract, every_backend, name_of_backend);

TEST_P(RunContract, Acceptance_makes_the_messages_the_run_and_its_first_event_at_once) {
  const auto made = a_run(tenant, conversation, {6000});
  const auto begun = accepted(made);
  EXPECT_EQ(begun.run.epoch.value, 1U);
  EXPECT_EQ(begun.run.head.value, 1U);
  EXPECT_EQ(begun.conversation.last_message_at.ms, 6000);
  EXPECT_EQ(begun.run.agent_id, get(&store::default_agent, tenant).id);
  EXPECT_EQ(begun.agent.id, begun.run.agent_id);
  EXPECT_EQ(begun.agent.system_prompt, "Be brief.");
  ASSERT_EQ(begun.events.size(), 1U);
  EXPECT_EQ(begun.events[0].position().value, 1U);
  EXPECT_EQ(begun.events[0].event(), made.events[0]);

  const auto listed = get(&store::messages, tenant, conversation, Order::ascending, PageQuery<model::MessageId>{});
  ASSERT_EQ(listed.rows.size(), 2U);
  EXPECT_EQ(listed.rows[0].json, model::to_json(made.user_message));
  EXPECT_EQ(listed.rows[1].json, model::to_json(made.assistant_message));
  EXPECT_EQ(model::to_json(get(&store::run, tenant, made.run.id)), model::to_json(begun.run));
  EXPECT_EQ(get(&store::run_of_message, tenant, made.assistant_message.id).id, made.run.id);
  EXPECT_EQ(refused(&store::run_of_message, tenant, made.user_message.id), ErrorKind::not_found);
}

TEST_P(RunContract, The_records_of_a_launch_are_those_that_a_read_finds_after_the_acceptance) {
  get(&journal::Journal::append, the_end(accepted(tenant, conversation), "one"));
  auto made = a_run(tenant, conversation);
  made.ask = [](const model::Agent& agent, const model::Conversation& of) {
    EXPECT_EQ(agent.system_prompt, "Be brief.");
    EXPECT_FALSE(of.repository_id);
    return LaunchQuestion{{.repository = "rep_of_nothing"}, 100};
  };
  const auto begun = accepted(made);
  const auto read = get(&store::launch_records, begun.run, LaunchQuestion{{.repository = "rep_of_nothing"}, 100});
  ASSERT_EQ(read.history.size(), 2U);
  EXPECT_EQ(read.history[1].content, "one");
  EXPECT_EQ(read.materials.missing, std::vector<std::string>{"rep_of_nothing"});
  EXPECT_EQ(begun.launch.has_value(), !is_shared())
      << "where one writer has the file to itself, in the same transaction";
  if (!begun.launch) return;
  ASSERT_EQ(begun.launch->history.size(), 2U);
  EXPECT_EQ(begun.launch->history[1].content, "one");
  EXPECT_EQ(begun.launch->materials.missing, read.materials.missing);
}

TEST_P(RunContract, A_history_that_is_long_is_left_to_a_read_of_its_own) {
  get(&journal::Journal::append, the_end(accepted(tenant, conversation), std::string(100 * 1024, 'a')));
  auto made = a_run(tenant, conversation);
  made.ask = [](const model::Agent&, const model::Conversation&) { return LaunchQuestion{{}, 100}; };
  EXPECT_FALSE(accepted(made).launch);
}

TEST_P(RunContract, A_conversation_can_come_into_being_with_its_first_message) {
  const auto fresh = a_conversation(tenant, {6000});
  auto made = a_run(tenant, fresh.id, {6000});
  made.conversation = fresh;
  const auto begun = accepted(made);
  EXPECT_EQ(begun.conversation.id, fresh.id);
  EXPECT_EQ(begun.conversation.agent_id, get(&store::default_agent, tenant).id);
  EXPECT_EQ(model::to_json(get(&store::conversation, tenant, fresh.id)), model::to_json(begun.conversation));
}

TEST_P(RunContract, A_conversation_has_one_run_in_flight) {
  const auto begun = accepted(tenant, conversation);
  const auto second = get(&journal::Journal::accept, a_run(tenant, conversation));
  ASSERT_TRUE(std::holds_alternative<Busy>(second));
  EXPECT_EQ(std::get<Busy>(second).run.id, begun.run.id);
  const auto listed = get(&store::messages, tenant, conversation, Order::ascending, PageQuery<model::MessageId>{});
  EXPECT_EQ(listed.rows.size(), 2U) << "a refused message leaves nothing behind";
}

// I-8: the outcome lands in the history whoever listened.
TEST_P(RunContract, The_end_of_a_run_frees_its_conversation_and_shows_in_the_list_byte_for_byte_I_9) {
  const auto begun = accepted(tenant, conversation);
  const auto end = the_end(begun);
  const auto news = get(&journal::Journal::append, end);
  ASSERT_EQ(news.size(), 2U);
  EXPECT_EQ(news[0].position().value, 2U);
  EXPECT_EQ(news[1].event().body, model::to_json(*end.assistant_message));

  const auto run = get(&store::run, tenant, begun.run.id);
  EXPECT_EQ(run.state, RunState::completed);
  EXPECT_EQ(run.head.value, 3U);
  ASSERT_TRUE(run.ended_at.has_value());
  EXPECT_EQ(run.ended_at->ms, end.events.back().at.ms);
  EXPECT_EQ(get(&store::message, tenant, begun.run.message_id).json, end.events.back().body);
  EXPECT_TRUE(get(&journal::Journal::unfinished_runs).runs.empty());
  EXPECT_TRUE(std::holds_alternative<Accepted>(get(&journal::Journal::accept, a_run(tenant, conversation))));
}

TEST_P(RunContract, An_archived_conversation_takes_no_message_I_22) {
  get(&store::update_conversation, tenant, conversation,
      ConversationPatch{.status = model::ConversationStatus::archived}, Timestamp{9000});
  EXPECT_TRUE(std::holds_alternative<Archived>(get(&journal::Journal::accept, a_run(tenant, conversation))));
  get(&store::update_conversation, tenant, conversation, ConversationPatch{.status = model::ConversationStatus::active},
      Timestamp{9000});
  EXPECT_TRUE(std::holds_alternative<Accepted>(get(&journal::Journal::accept, a_run(tenant, conversation))));
}

TEST_P(RunContract, What_is_another_tenants_is_not_found_I_22) {
  const auto begun = accepted(tenant, conversation);
  const auto other = make_tenant("other");
  EXPECT_EQ(refused(&journal::Journal::accept, a_run(other, conversation)), ErrorKind::not_found);
  EXPECT_EQ(refused(&store::run, other, begun.run.id), ErrorKind::not_found);
  EXPECT_EQ(refused(&store::run_of_message, other, begun.run.message_id), ErrorKind::not_found);
  EXPECT_EQ(refused(&store::message, other, begun.run.message_id), ErrorKind::not_found);
  EXPECT_EQ(refused(&store::messages, other, conversation, Order::ascending, PageQuery<model::MessageId>{}),
            ErrorKind::not_found);
  EXPECT_EQ(refused(&store::runs, other, RunFilter{.conversation = conversation}, PageQuery<model::RunId>{}),
            ErrorKind::not_found);
  EXPECT_TRUE(get(&store::runs, other, RunFilter{}, PageQuery<model::RunId>{}).rows.empty());
  EXPECT_EQ(refused(&journal::Journal::accept, a_run(tenant, make_id<model::ConversationId>())), ErrorKind::not_found);
}

TEST_P(RunContract, An_append_must_know_the_epoch_and_the_position) {
  const auto begun = accepted(tenant, conversation);
  EXPECT_EQ(refused(&journal::Journal::append, words(begun, {0}, {"early"})), ErrorKind::conflict);
  EXPECT_EQ(refused(&journal::Journal::append, words(begun, {2}, {"late"})), ErrorKind::conflict);
  auto wrong_epoch = words(begun, {1}, {"stale"});
  wrong_epoch.epoch = {2};
  EXPECT_EQ(refused(&journal::Journal::append, wrong_epoch), ErrorKind::conflict);
  auto unknown = words(begun, {1}, {"lost"});
  unknown.run = make_id<model::RunId>();
  EXPECT_EQ(refused(&journal::Journal::append, unknown), ErrorKind::not_found);
  EXPECT_EQ(read(begun.run.id, 1000).size(), 1U) << "what is refused is not written";
  EXPECT_EQ(get(&journal::Journal::append, words(begun, {1}, {"right"})).size(), 1U);
}

TEST_P(RunContract, Nothing_is_added_to_a_run_that_is_over) {
  const auto begun = accepted(tenant, conversation);
  get(&journal::Journal::append, the_end(begun));
  EXPECT_EQ(refused(&journal::Journal::append, words(begun, {3}, {"one more thing"})), ErrorKind::conflict);
}

TEST_P(RunContract, Taking_a_run_over_fences_its_former_writer) {
  const auto begun = accepted(tenant, conversation);
  const auto taken = get(&journal::Journal::take_over, begun.run.id, model::Epoch{1});
  EXPECT_EQ(taken.epoch.value, 2U);
  EXPECT_EQ(taken.head.value, 1U);
  EXPECT_EQ(refused(&journal::Journal::append, words(begun, {1}, {"from the grave"})), ErrorKind::conflict);
  EXPECT_EQ(refused(&journal::Journal::take_over, begun.run.id, model::Epoch{1}), ErrorKind::conflict);
  EXPECT_EQ(refused(&journal::Journal::take_over, make_id<model::RunId>(), model::Epoch{1}), ErrorKind::not_found);
  auto append = words(begun, {1}, {"alive"});
  append.epoch = taken.epoch;
  EXPECT_EQ(get(&journal::Journal::append, append).size(), 1U);
}

TEST_P(RunContract, A_run_that_is_over_is_taken_over_by_nobody) {
  const auto begun = accepted(tenant, conversation);
  get(&journal::Journal::append, the_end(begun));
  EXPECT_EQ(refused(&journal::Journal::take_over, begun.run.id, model::Epoch{1}), ErrorKind::conflict);
  EXPECT_EQ(get(&store::run, tenant, begun.run.id).epoch, model::Epoch{1});
}

TEST_P(RunContract, A_state_may_change_without_an_event) {
  const auto begun = accepted(tenant, conversation);
  auto append = words(begun, {1}, {});
  append.state = RunState::starting;
  EXPECT_TRUE(get(&journal::Journal::append, append).empty());
  const auto run = get(&store::run, tenant, begun.run.id);
  EXPECT_EQ(run.state, RunState::starting);
  EXPECT_EQ(run.head.value, 1U);
  EXPECT_FALSE(run.ended_at.has_value());
}

TEST_P(RunContract, A_journal_reads_the_same_in_pages_of_any_size) {
  const auto begun = accepted(tenant, conversation);
  get(&journal::Journal::append, words(begun, {1}, {"one", "", "three"}));
  get(&journal::Journal::append, words(begun, {4}, {std::string(5000, 'x'), "\xF0\x9F\x8C\x8A"}));
  const auto whole = read(begun.run.id, 1 << 20);
  ASSERT_EQ(whole.size(), 6U);
  EXPECT_EQ(whole[4].body.size(), 5000U);
  EXPECT_EQ(read(begun.run.id, 0), whole) << "at least one event a page";
  EXPECT_EQ(read(begun.run.id, 5), whole);
  EXPECT_EQ(read(begun.run.id, 5001), whole);

  const auto small = get(&journal::Journal::read, begun.run.id, model::Position{0}, std::size_t{100});
  EXPECT_LE(small.events.size(), 5U);
  EXPECT_EQ(small.run.head.value, 6U);
  const auto beyond = get(&journal::Journal::read, begun.run.id, model::Position{6}, std::size_t{100});
  EXPECT_TRUE(beyond.events.empty());
  EXPECT_EQ(refused(&journal::Journal::read, make_id<model::RunId>(), model::Position{0}, std::size_t{100}),
            ErrorKind::not_found);
}

TEST_P(RunContract, A_sealed_journal_reads_the_same) {
  const auto begun = accepted(tenant, conversation);
  get(&journal::Journal::append, words(begun, {1}, {"one", "two", std::string(20'000, 'y')}));
  auto end = the_end(begun);
  end.head = {4};
  get(&journal::Journal::append, end);
  const auto open_run = accepted(tenant, conversation);

  const auto before = read(begun.run.id, 10);
  ASSERT_EQ(before.size(), 6U);
  EXPECT_EQ(get(&Store::tidy_up, Timestamp{8000}), 1);
  EXPECT_EQ(get(&Store::tidy_up, Timestamp{8000}), 0) << "once sealed is sealed";
  EXPECT_EQ(read(begun.run.id, 10), before);
  EXPECT_EQ(read(begun.run.id, 1 << 20), before);
  restart();
  EXPECT_EQ(read(begun.run.id, 1 << 20), before);
  EXPECT_EQ(get(&journal::Journal::append, words(open_run, {1}, {"still open"})).size(), 1U);
}

TEST_P(RunContract, A_long_journal_reads_the_same_at_each_step_of_its_sealing) {
  const auto begun = accepted(tenant, conversation);
  uint64_t head = 1;
  for (int i = 0; i < 12; ++i, ++head) {
    get(&journal::Journal::append, words(begun, {head}, {std::string(1024 * 1024, static_cast<char>('a' + i))}));
  }
  auto end = the_end(begun);
  end.head = {head};
  get(&journal::Journal::append, end);
  const auto whole = read(begun.run.id, 256 * 1024);
  ASSERT_EQ(whole.size(), 15U);
  int rounds = 0;
  for (; rounds < 20 && get(&Store::tidy_up, Timestamp{8000}) > 0; ++rounds) {
    EXPECT_EQ(read(begun.run.id, 256 * 1024), whole);
    restart();
  }
  EXPECT_LT(rounds, 20);
  EXPECT_EQ(read(begun.run.id, 256 * 1024), whole);
  EXPECT_EQ(read(begun.run.id, 10), whole);
}

TEST_P(RunContract, A_journal_with_one_very_large_row_gives_every_event_once_sealed_or_not) {
  const auto begun = accepted(tenant, conversation);
  std::vector<std::string> texts;
  for (int i = 0; i < 20'000; ++i) texts.push_back("word " + std::to_string(i));
  get(&journal::Journal::append, words(begun, {1}, texts));
  auto end = the_end(begun);
  end.head = {20'001};
  get(&journal::Journal::append, end);

  const auto pages_give_every_event = [&] {
    const auto events = read(begun.run.id, 256 * 1024);
    ASSERT_EQ(events.size(), 20'003U);
    for (std::size_t i = 0; i < texts.size(); ++i) ASSERT_EQ(events[i + 1].body, texts[i]);
  };
  pages_give_every_event();
  // One reader is in the middle of the row when it is sealed.
  const auto first = get(&journal::Journal::read, begun.run.id, model::Position{7'000}, std::size_t{100'000});
  EXPECT_EQ(get(&Store::tidy_up, Timestamp{8000}), 1);
  const auto next = 7'000 + first.events.size();
  const auto second = get(&journal::Journal::read, begun.run.id, model::Position{next}, std::size_t{100'000});
  ASSERT_FALSE(second.events.empty());
  EXPECT_EQ(second.events[0].event().body, texts[next - 1]);
  pages_give_every_event();
}

TEST_P(RunContract, Unfinished_runs_are_found_again_after_a_restart_oldest_first) {
  const auto first = accepted(tenant, conversation, {6000});
  const auto second = accepted(tenant, make_conversation(tenant).id, {6000});
  const auto third = accepted(tenant, make_conversation(tenant).id, {5000});
  get(&journal::Journal::append, the_end(second));
  restart();
  const auto left = get(&journal::Journal::unfinished_runs).runs;
  ASSERT_EQ(left.size(), 2U);
  EXPECT_EQ(left[0].id, first.run.id);
  EXPECT_EQ(left[1].id, third.run.id);
  EXPECT_TRUE(std::holds_alternative<Busy>(get(&journal::Journal::accept, a_run(tenant, conversation))));
}

// Whoever takes a run over judges by it what another server wrote down, so it is not the time of whoever asks.
TEST_P(RunContract, The_list_of_unfinished_runs_says_what_time_it_is_by_the_stores_clock) {
  using std::chrono::system_clock;
  const auto wall_ms = std::chrono::duration_cast<std::chrono::milliseconds>(system_clock::now().time_since_epoch());
  const auto now = get(&journal::Journal::unfinished_runs).now;
  if (GetParam() != Backend::postgres) {
    EXPECT_EQ(now, loop_.now()) << "the only server's clock is the store's";
  } else {
    EXPECT_NEAR(static_cast<double>(now.ms), static_cast<double>(wall_ms.count()), 3'600'000.0) << "the database's";
  }
}

TEST_P(RunContract, The_runs_that_a_server_must_be_carrying_are_those_that_are_not_over_and_name_it) {
  const auto first = accepted(tenant, conversation);
  const auto second = accepted(tenant, make_conversation(tenant).id);
  EXPECT_EQ(get(&journal::Journal::carried_runs).size(), 2U);
  get(&journal::Journal::append, the_end(second));
  EXPECT_EQ(get(&journal::Journal::carried_runs), std::vector{first.run.id});
}

// After an answer that was lost a server reads on, and writes on, where it stood.
TEST_P(RunContract, Journals_of_runs_that_were_not_taken_over_are_read_and_written_on_after_reopening) {
  const auto begun = accepted(tenant, conversation);
  Append more{.run = begun.run.id, .epoch = begun.run.epoch, .head = begun.run.head};
  more.events = {{model::EventKind::text, {7000}, "one"}};
  get(&journal::Journal::append, more);
  get(&journal::Journal::reopen);
  more.head = {begun.run.head.value + 1};
  more.events[0].body = "two";
  get(&journal::Journal::append, more);
  const auto page = get(&journal::Journal::read, begun.run.id, begun.run.head, std::size_t{1'000'000});
  ASSERT_EQ(page.events.size(), 2U);
  EXPECT_EQ(page.events[0].event().body, "one");
  EXPECT_EQ(page.events[1].event().body, "two");
  EXPECT_EQ(page.run.epoch, begun.run.epoch);
}

TEST_P(RunContract, The_same_key_and_request_is_the_same_run_I_19) {
  auto made = a_run(tenant, conversation);
  made.idempotency = key("k");
  const auto begun = accepted(made);
  get(&journal::Journal::append, the_end(begun));

  auto again = a_run(tenant, conversation);
  again.idempotency = key("k");
  const auto replayed = get(&journal::Journal::accept, again);
  ASSERT_TRUE(std::holds_alternative<Replay>(replayed));
  ASSERT_TRUE(std::get<Replay>(replayed).run.has_value());
  EXPECT_EQ(std::get<Replay>(replayed).run->id, begun.run.id);
  EXPECT_EQ(std::get<Replay>(replayed).run->state, RunState::completed);

  again.idempotency = key("k", "another request");
  EXPECT_TRUE(std::holds_alternative<KeyConflict>(get(&journal::Journal::accept, again)));
  again.idempotency = key("k");
  again.idempotency->principal = make_id<model::ServiceKeyId>();
  EXPECT_TRUE(std::holds_alternative<Accepted>(get(&journal::Journal::accept, again)))
      << "keys are each principal's own";
}

TEST_P(RunContract, Two_requests_with_one_key_that_race_make_one_run_I_19) {
  auto one = a_run(tenant, conversation);
  one.idempotency = key("k");
  auto two = a_run(tenant, conversation);
  two.idempotency = key("k");
  std::vector<AcceptOutcome> outcomes;
  for (auto* made : {&one, &two}) {
    store().accept(*made, [&](Result<AcceptOutcome> outcome) { outcomes.push_back(std::move(outcome).take()); });
  }
  ASSERT_TRUE(loop().run_until([&] { return outcomes.size() == 2; }));
  EXPECT_TRUE(std::holds_alternative<Accepted>(outcomes[0]));
  ASSERT_TRUE(std::holds_alternative<Replay>(outcomes[1]));
  EXPECT_EQ(std::get<Replay>(outcomes[1]).run->id, one.run.id);
  EXPECT_EQ(get(&store::runs, tenant, RunFilter{}, PageQuery<model::RunId>{}).rows.size(), 1U);
}

TEST_P(RunContract, A_run_of_a_known_id_is_refused_in_any_conversation) {
  const auto made = a_run(tenant, conversation);
  const auto begun = accepted(made);
  auto again = a_run(tenant, make_conversation(tenant).id);
  again.run.id = made.run.id;
  EXPECT_EQ(refused(&journal::Journal::accept, again), ErrorKind::conflict);
  get(&journal::Journal::append, the_end(begun));
  EXPECT_EQ(refused(&journal::Journal::accept, again), ErrorKind::conflict);
  EXPECT_EQ(get(&store::runs, tenant, RunFilter{}, PageQuery<model::RunId>{}).rows.size(), 1U);
}

TEST_P(RunContract, A_conversation_is_not_created_where_only_a_replay_is_wanted_I_19) {
  NewConversation made{a_conversation(tenant), "told", key("k")};
  made.only_replay = true;
  EXPECT_TRUE(std::holds_alternative<NotCreated>(get(&journal::Journal::create_conversation, made)));
  EXPECT_EQ(refused(&store::conversation, tenant, made.conversation.id), ErrorKind::not_found);
  made.only_replay = false;
  EXPECT_TRUE(std::holds_alternative<Unit>(get(&journal::Journal::create_conversation, made)));
  made.only_replay = true;
  made.conversation = a_conversation(tenant);
  const auto replay = get(&journal::Journal::create_conversation, made);
  ASSERT_TRUE(std::holds_alternative<Replay>(replay));
  EXPECT_EQ(std::get<Replay>(replay).response_body, "told");
  made.idempotency = key("k", "another request");
  EXPECT_TRUE(std::holds_alternative<KeyConflict>(get(&journal::Journal::create_conversation, made)));
}

TEST_P(RunContract, A_key_is_forgotten_after_a_day) {
  auto made = a_run(tenant, conversation, {6000});
  made.idempotency = key("k");
  get(&journal::Journal::append, the_end(accepted(made)));
  const Timestamp tomorrow{6000 + limits::idempotency_ms};
  constexpr int64_t minute_ms = 60'000;
  // Where servers share a store, its clock counts, and theirs do not.
  const auto pass = [](int64_t ms) {
    if (!is_shared()) return;
    contract_database().run("UPDATE idempotency_keys SET created_at = created_at - " + std::to_string(ms));
  };

  auto later = a_run(tenant, conversation, {tomorrow.ms - 1});
  later.idempotency = key("k");
  pass(limits::idempotency_ms - minute_ms);
  EXPECT_TRUE(std::holds_alternative<Replay>(get(&journal::Journal::accept, later)));
  pass(minute_ms);
  later = a_run(tenant, conversation, tomorrow);
  later.idempotency = key("k", "another request");
  get(&journal::Journal::append, the_end(accepted(later)));

  pass(limits::idempotency_ms);
  get(&Store::tidy_up, Timestamp{tomorrow.ms + limits::idempotency_ms});
  auto last = a_run(tenant, conversation, tomorrow);
  last.idempotency = key("k");
  EXPECT_TRUE(std::holds_alternative<Accepted>(get(&journal::Journal::accept, last)));
}

}  // namespace run_contract_test
}  // namespace sluice::store
