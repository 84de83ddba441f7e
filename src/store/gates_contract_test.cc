// The contract of every store, about gates: approvals with their journals, the audit chain, the outbox.
#include "store/gates_fixture.h"

namespace sluice::store {
namespace gates_contract_test {

using model::ApprovalStatus;
using model::RunState;

INSTANTIATE_TEST_SUITE_P(Stores, GateContract, every_backend, name_of_backend);

// ── approvals ──

// I-14, I-16: what is asked, the journal that tells of it and the proof of it are one.
TEST_P(GateContract, A_run_that_parks_leaves_its_approval_its_message_and_its_audit_entry) {
  const auto begun = accepted(tenant, conversation);
  const auto asked = an_approval(begun);
  EXPECT_EQ(get(&journal::Journal::append, the_park(begun, asked)).size(), 2U);
  restart();
  const auto kept = get(&store::approval, tenant, asked.id);
  EXPECT_EQ(model::to_json(kept), model::to_json(asked));
  EXPECT_EQ(kept.run_id, begun.run.id);
  EXPECT_EQ(kept.requested_items, asked.requested_items);
  EXPECT_EQ(get(&store::open_approval, begun.run.id).id, asked.id);
  EXPECT_EQ(get(&store::run, tenant, begun.run.id).state, RunState::parked);
  EXPECT_EQ(get(&store::message, tenant, begun.run.message_id).json,
            model::to_json(message_of(begun, model::MessageStatus::awaiting_approval)));
  EXPECT_EQ(chain().at(0).action, "approval.required");
  EXPECT_EQ(chain().at(0).subject, asked.id.text());

  const auto other = make_tenant("other");
  EXPECT_EQ(refused(&store::approval, other, asked.id), ErrorKind::not_found);
  EXPECT_EQ(refused(&store::approval, tenant, make_id<model::ApprovalId>()), ErrorKind::not_found);
  EXPECT_EQ(refused(&store::open_approval, make_id<model::RunId>()), ErrorKind::not_found);
}

TEST_P(GateContract, A_parked_run_keeps_its_conversation_until_it_is_over) {
  const auto begun = accepted(tenant, conversation);
  const auto asked = an_approval(begun);
  get(&journal::Journal::append, the_park(begun, asked));
  EXPECT_TRUE(std::holds_alternative<Busy>(get(&journal::Journal::accept, a_run(tenant, conversation))));
  get(&journal::Journal::append, the_decision(begun, asked));
  EXPECT_TRUE(std::holds_alternative<Busy>(get(&journal::Journal::accept, a_run(tenant, conversation))));
  EXPECT_EQ(get(&store::message, tenant, begun.run.message_id).json,
            model::to_json(message_of(begun, model::MessageStatus::in_progress)));
  auto end = the_end(begun);
  end.head = {begun.run.head.value + 3};
  get(&journal::Journal::append, end);
  EXPECT_TRUE(std::holds_alternative<Accepted>(get(&journal::Journal::accept, a_run(tenant, conversation))));
}

// I-14: the first decision counts, whoever comes second and however close.
TEST_P(GateContract, An_approval_is_decided_once) {
  const auto begun = accepted(tenant, conversation);
  const auto asked = an_approval(begun);
  get(&journal::Journal::append, the_park(begun, asked));
  const auto decision = the_decision(begun, asked);
  auto second = decision;  // of somebody whose journal is right, but who did not see the first
  second.head.value += 1;
  second.approval->status = ApprovalStatus::denied;
  second.secrets = {a_secret("DEPLOY_TOKEN", "of the second")};
  std::vector<std::optional<ErrorKind>> outcomes;
  for (const auto& append : {decision, second}) {
    store().append(append, [&](const Result<CommittedBatch>& batch) {
      outcomes.push_back(batch ? std::nullopt : std::optional(batch.error().kind));
    });
  }
  ASSERT_TRUE(loop().run_until([&] { return outcomes.size() == 2; }));
  EXPECT_EQ(outcomes, (std::vector<std::optional<ErrorKind>>{std::nullopt, ErrorKind::conflict}));

  const auto kept = get(&store::approval, tenant, asked.id);
  EXPECT_EQ(model::to_json(kept), model::to_json(*decision.approval));
  EXPECT_EQ(kept_secrets().at(0).sealed, "sealed");
  EXPECT_EQ(chain().size(), 2U) << "nothing of what was refused";
  EXPECT_EQ(get(&store::run, tenant, begun.run.id).head.value, 4U);
  EXPECT_EQ(refused(&store::open_approval, begun.run.id), ErrorKind::not_found);
}

TEST_P(GateContract, What_was_never_asked_cannot_be_decided_and_a_run_waits_for_one_thing_at_a_time) {
  const auto begun = accepted(tenant, conversation);
  auto decision = the_decision(begun, an_approval(begun));
  decision.head = begun.run.head;
  EXPECT_EQ(refused(&journal::Journal::append, decision), ErrorKind::conflict);
  get(&journal::Journal::append, the_park(begun, an_approval(begun)));
  auto again = the_park(begun, an_approval(begun));
  again.head.value += 2;
  EXPECT_EQ(refused(&journal::Journal::append, again), ErrorKind::conflict);
  EXPECT_EQ(get(&journal::Journal::read, begun.run.id, model::Position{0}, std::size_t{10'000}).events.size(), 3U);
}

TEST_P(GateContract, An_append_of_an_old_epoch_leaves_no_approval) {
  const auto begun = accepted(tenant, conversation);
  const auto asked = an_approval(begun);
  get(&journal::Journal::take_over, begun.run.id, begun.run.epoch);
  EXPECT_EQ(refused(&journal::Journal::append, the_park(begun, asked)), ErrorKind::conflict);
  EXPECT_EQ(refused(&store::approval, tenant, asked.id), ErrorKind::not_found);
  EXPECT_TRUE(chain().empty());
}

TEST_P(GateContract, Approvals_are_listed_newest_first_and_page_both_ways) {
  std::vector<model::ApprovalId> made;
  for (int i = 0; i < 5; ++i) {
    const auto begun = accepted(tenant, make_conversation(tenant).id);
    const auto asked = an_approval(begun);
    get(&journal::Journal::append, the_park(begun, asked));
    made.insert(made.begin(), asked.id);
  }
  expect_pages(made, make_id<model::ApprovalId>(), [&](const PageQuery<model::ApprovalId>& query) {
    return ask(&store::approvals, tenant, ApprovalFilter{}, query);
  });
  EXPECT_TRUE(
      get(&store::approvals, make_tenant("other"), ApprovalFilter{}, PageQuery<model::ApprovalId>{}).rows.empty());
}

TEST_P(GateContract, Approvals_are_found_by_conversation_user_and_status) {
  using Ids = std::vector<model::ApprovalId>;
  auto of_ann = a_conversation(tenant);
  of_ann.user_id = "ann";
  get(&journal::Journal::create_conversation, NewConversation{of_ann, "", {}});
  const auto first = accepted(tenant, conversation);
  const auto decided = an_approval(first);
  get(&journal::Journal::append, the_park(first, decided));
  get(&journal::Journal::append, the_decision(first, decided));
  const auto second = accepted(tenant, of_ann.id);
  const auto pending = an_approval(second);
  get(&journal::Journal::append, the_park(second, pending));

  const auto list = [&](ApprovalFilter filter) {
    return ids_of(get(&store::approvals, tenant, std::move(filter), PageQuery<model::ApprovalId>{}));
  };
  EXPECT_EQ(list({}), Ids({pending.id, decided.id}));
  EXPECT_EQ(list({.conversation = conversation}), Ids({decided.id}));
  EXPECT_EQ(list({.user_id = "ann"}), Ids({pending.id}));
  EXPECT_EQ(list({.user_id = "bob"}), Ids());
  EXPECT_EQ(list({.status = ApprovalStatus::pending}), Ids({pending.id}));
  EXPECT_EQ(list({.status = ApprovalStatus::approved}), Ids({decided.id}));
  EXPECT_EQ(list({of_ann.id, "ann", ApprovalStatus::pending}), Ids({pending.id}));
  EXPECT_EQ(list({of_ann.id, "ann", ApprovalStatus::denied}), Ids());
  EXPECT_EQ(refused(&store::approvals, make_tenant("other"), ApprovalFilter{.conversation = conversation},
                    PageQuery<model::ApprovalId>{}),
            ErrorKind::not_found);
}

TEST_P(GateContract, An_approver_key_is_found_by_its_tenant_only_and_revoked_ones_too) {
  const model::ApproverKey key{.id = make_id<model::ApproverKeyId>(), .tenant_id = tenant, .material = "m"};
  get(&store::create_approver_key, key);
  get(&store::revoke_approver_key, tenant, key.id, Timestamp{5});
  const auto kept = get(&store::approver_key, tenant, key.id);
  EXPECT_EQ(kept.material, "m");
  EXPECT_EQ(kept.revoked_at, Timestamp{5});
  EXPECT_EQ(refused(&store::approver_key, make_tenant("other"), key.id), ErrorKind::not_found);
}

// ── no room (I-12) ──

TEST_P(GateContract, Without_room_nothing_is_created_but_a_known_key_is_answered_I_12) {
  const Idempotency key{make_id<model::ServiceKeyId>(), "createMessage", "k", "sha"};
  const auto try_without_room = [&](NewRun made, std::optional<Idempotency> idempotency) {
    made.only_replay = true;
    made.idempotency = std::move(idempotency);
    return get(&journal::Journal::accept, std::move(made));
  };
  EXPECT_TRUE(std::holds_alternative<NotCreated>(try_without_room(a_run(tenant, conversation), key)));
  EXPECT_TRUE(get(&journal::Journal::unfinished_runs).runs.empty());
  auto fresh = a_run(tenant, {});
  fresh.conversation = a_conversation(tenant);
  fresh.run.conversation_id = fresh.conversation->id;
  EXPECT_TRUE(std::holds_alternative<NotCreated>(try_without_room(fresh, std::nullopt)));
  EXPECT_EQ(refused(&store::conversation, tenant, fresh.conversation->id), ErrorKind::not_found);

  auto made = a_run(tenant, conversation);
  made.idempotency = key;  // which was not used up above
  const auto begun = accepted(made);
  const auto replay = try_without_room(a_run(tenant, conversation), key);
  ASSERT_TRUE(std::holds_alternative<Replay>(replay));
  EXPECT_EQ(std::get<Replay>(replay).run->id, begun.run.id);
  auto changed = key;
  changed.request_sha256 = "another";
  EXPECT_TRUE(std::holds_alternative<KeyConflict>(try_without_room(a_run(tenant, conversation), changed)));
  EXPECT_TRUE(std::holds_alternative<Busy>(try_without_room(a_run(tenant, conversation), std::nullopt)));
  auto nowhere = a_run(tenant, make_id<model::ConversationId>());
  nowhere.only_replay = true;
  EXPECT_EQ(refused(&journal::Journal::accept, nowhere), ErrorKind::not_found);
  ConversationPatch archive;
  archive.status = model::ConversationStatus::archived;
  const auto other = make_conversation(tenant).id;
  get(&store::update_conversation, tenant, other, archive, Timestamp{1});
  EXPECT_TRUE(std::holds_alternative<Archived>(try_without_room(a_run(tenant, other), std::nullopt)));
}

TEST_P(GateContract, A_run_may_begin_as_held_and_is_unfinished_after_a_restart_I_12) {
  auto made = a_run(tenant, conversation);
  made.run.state = RunState::held;
  made.events.push_back({model::EventKind::queued, {6000}, "{}"});
  const auto begun = accepted(made);
  restart();
  const auto unfinished = get(&journal::Journal::unfinished_runs).runs;
  ASSERT_EQ(unfinished.size(), 1U);
  EXPECT_EQ(unfinished[0].state, RunState::held);
  EXPECT_EQ(unfinished[0].head.value, 2U);
}

// ── the audit chain ──

void expect_whole(const std::vector<model::AuditEntry>& chain) {
  std::string previous;
  int64_t number = 0;
  for (const auto& entry : chain) {
    EXPECT_EQ(entry.number, ++number);
    EXPECT_EQ(entry.previous_sha256, previous);
    EXPECT_EQ(entry.sha256, model::digest_of(entry));
    previous = entry.sha256;
  }
}

TEST_P(GateContract, The_chain_has_no_gaps_however_its_entries_come) {
  int answered = 0;
  constexpr int count = 60;
  for (int i = 0; i < count; ++i) {  // refused ones between them, in the same groups
    store::append_audit(store().database(), {an_entry("one", std::to_string(i)), an_entry("two", std::to_string(i))},
                        [&](const auto&) { ++answered; });
    store::put_secrets(store().database(),
                       {secret_of(model::SecretScope::agent, make_id<model::AgentId>().ulid, "A", "s")},
                       {an_entry("refused", "")}, [&](const auto&) { ++answered; });
  }
  ASSERT_TRUE(loop().run_until([&] { return answered == 2 * count; }));
  restart();
  auto nobody = an_entry("server.started", "");
  nobody.tenant_id.reset();
  get(&store::append_audit, std::vector{nobody});
  const auto whole = chain();
  ASSERT_EQ(whole.size(), 2U * count + 1);
  expect_whole(whole);
  EXPECT_FALSE(whole.back().tenant_id);
  EXPECT_EQ(whole[1].action, "two");
  EXPECT_EQ(whole[1].subject, "0");
  EXPECT_EQ(whole[1].actor, "server");
  EXPECT_EQ(whole[1].at.ms, 7000);
}

TEST_P(GateContract, The_chain_is_read_in_pages_and_by_tenant) {
  const auto other = make_tenant("other");
  for (int i = 0; i < 6; ++i) {
    auto entry = an_entry("a", "");
    if (i % 2 == 1) entry.tenant_id = other;
    get(&store::append_audit, std::vector{entry});
  }
  const auto numbers = [&](std::optional<model::TenantId> of, int64_t after, int limit) {
    std::vector<int64_t> found;
    for (const auto& entry : get(&store::audit, of, after, limit)) found.push_back(entry.number);
    return found;
  };
  EXPECT_EQ(numbers({}, 2, 3), (std::vector<int64_t>{3, 4, 5}));
  EXPECT_EQ(numbers(other, 0, 2), (std::vector<int64_t>{2, 4}));
  EXPECT_EQ(numbers(other, 4, 2), (std::vector<int64_t>{6}));
  EXPECT_EQ(numbers(tenant, 5, 2), (std::vector<int64_t>{}));
}

// ── the outbox ──

TEST_P(GateContract, A_notice_is_due_until_it_is_taken) {
  set_webhook("https://hooks.example.com/a");
  const auto begun = accepted(tenant, conversation);
  const auto asked = an_approval(begun);
  const auto parked = the_park(begun, asked);
  get(&journal::Journal::append, parked);
  EXPECT_TRUE(due({6999}).empty());
  restart();
  const auto first = due({7000});
  ASSERT_EQ(first.size(), 1U);
  EXPECT_EQ(first[0].notice.id, parked.notices[0].id);
  EXPECT_EQ(first[0].notice.kind, "approval.required");
  EXPECT_EQ(first[0].notice.body, R"({"n":1})");
  EXPECT_EQ(first[0].notice.tenant_id, tenant);
  EXPECT_EQ(first[0].url, "https://hooks.example.com/a");
  EXPECT_EQ(first[0].attempts, 0);
  EXPECT_EQ(due({7000}).size(), is_shared() ? 0U : 1U) << "asking takes nothing away from the only one who asks";
  EXPECT_EQ(due({67'000}).size(), 1U) << "nor for longer than a minute from anybody";

  get(&store::notice_failed, first[0].notice.id, Timestamp{9000});
  EXPECT_TRUE(due({8999}).empty());
  set_webhook("https://hooks.example.com/b");
  get(&journal::Journal::append, the_decision(begun, asked));
  const auto both = due({9000});
  ASSERT_EQ(both.size(), 2U);
  EXPECT_EQ(both[0].notice.kind, "approval.resolved") << "it waits longer";
  EXPECT_EQ(both[1].notice.id, first[0].notice.id);
  EXPECT_EQ(both[1].attempts, 1);
  EXPECT_EQ(both[1].url, "https://hooks.example.com/b") << "where the tenant is now";
  EXPECT_EQ(get(&store::due_notices, Timestamp{69'000}, 1).size(), 1U);

  get(&store::notice_taken, both[0].notice.id);
  get(&store::notice_taken, both[0].notice.id);
  restart();
  const auto left = due({129'000});
  ASSERT_EQ(left.size(), 1U);
  EXPECT_EQ(left[0].notice.id, first[0].notice.id);
}

TEST_P(GateContract, The_page_of_due_notices_has_two_of_each_tenant) {
  set_webhook("https://hooks.example.com/a");
  for (int i = 0; i < 5; ++i) {
    const auto begun = accepted(tenant, i == 0 ? conversation : make_conversation(tenant).id);
    get(&journal::Journal::append, the_park(begun, an_approval(begun)));
  }
  EXPECT_EQ(due({99'000}).size(), 2U);
}

TEST_P(GateContract, Notices_are_kept_only_for_tenants_with_a_webhook) {
  auto begun = accepted(tenant, conversation);
  get(&journal::Journal::append, the_park(begun, an_approval(begun)));
  EXPECT_TRUE(due({99'000}).empty());
  set_webhook("https://hooks.example.com/a");
  EXPECT_TRUE(due({99'000}).empty());
  begun = accepted(tenant, make_conversation(tenant).id);
  get(&journal::Journal::append, the_park(begun, an_approval(begun)));
  const auto kept = due({99'000});
  ASSERT_EQ(kept.size(), 1U);
  set_webhook(std::nullopt);
  EXPECT_TRUE(due({99'000}).empty());
  get(&store::notice_failed, kept[0].notice.id, Timestamp{1});
  set_webhook("https://hooks.example.com/a");
  EXPECT_TRUE(due({99'000}).empty()) << "what was given up stays so";
}

}  // namespace gates_contract_test
}  // namespace sluice::store
