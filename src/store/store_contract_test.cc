// The contract of every store, about records: tenants, keys, agents, messages.
#include "store/store_contract.h"

namespace sluice::store {
namespace store_contract_test {

INSTANTIATE_TEST_SUITE_P(Stores, StoreContract, every_backend, name_of_backend);

// ── tenants ──

TEST_P(StoreContract, A_tenant_is_kept_with_its_default_agent) {
  const auto id = make_id<model::TenantId>();
  const model::Tenant tenant{.id = id,
                             .name = "Grüße",
                             .status = model::TenantStatus::suspended,
                             .filler_enabled = true,
                             .metadata = {{"a", "1"}, {"ü", "\"\\\n"}},
                             .created_at = {123},
                             .updated_at = {456}};
  const auto agent = an_agent(id, "first");
  get(&store::create_tenant, tenant, agent);
  restart();
  EXPECT_EQ(model::to_json(get(&store::tenant, id)), model::to_json(tenant));
  auto kept = agent;
  kept.is_default = true;
  EXPECT_EQ(model::to_json(get(&store::default_agent, id)), model::to_json(kept));
  EXPECT_EQ(refused(&store::create_tenant, tenant, an_agent(id, "second")), ErrorKind::conflict);
  EXPECT_EQ(refused(&store::tenant, make_id<model::TenantId>()), ErrorKind::not_found);
}

TEST_P(StoreContract, A_tenants_patch_changes_what_it_names) {
  const auto id = make_tenant("before");
  auto patched = get(&store::update_tenant, id, TenantPatch{.status = model::TenantStatus::suspended}, Timestamp{77});
  EXPECT_EQ(patched.name, "before");
  EXPECT_EQ(patched.status, model::TenantStatus::suspended);
  EXPECT_EQ(patched.metadata.at("plan"), "gold");
  EXPECT_EQ(patched.updated_at.ms, 77);
  patched = get(&store::update_tenant, id,
                TenantPatch{.name = "after", .filler_enabled = true, .metadata = model::Metadata{}}, Timestamp{78});
  EXPECT_EQ(model::to_json(get(&store::tenant, id)), model::to_json(patched));
  EXPECT_EQ(patched.name, "after");
  EXPECT_TRUE(patched.metadata.empty());
  EXPECT_EQ(refused(&store::update_tenant, make_id<model::TenantId>(), TenantPatch{}, Timestamp{1}),
            ErrorKind::not_found);
}

TEST_P(StoreContract, Tenants_are_listed_oldest_first) {
  std::vector<model::TenantId> made;
  for (int i = 0; i < 5; ++i) made.push_back(make_tenant());
  expect_pages(made, make_id<model::TenantId>(), [&](const auto& query) { return ask(&store::tenants, query); });
}

// ── keys ──

TEST_P(StoreContract, A_service_key_is_found_by_the_hash_of_its_secret) {
  const auto tenant = make_tenant();
  const model::ServiceKey key{.id = make_id<model::ServiceKeyId>(),
                              .tenant_id = tenant,
                              .name = "ci",
                              .secret_sha256 = std::string(32, '\0'),
                              .hint = "x9Yz",
                              .created_at = {5}};
  get(&store::create_service_key, key);
  auto found = get(&store::find_service_key, key.secret_sha256);
  EXPECT_EQ(found.key.id, key.id);
  EXPECT_EQ(found.key.hint, "x9Yz");
  EXPECT_EQ(found.key.secret_sha256, key.secret_sha256);
  EXPECT_EQ(found.tenant.id, tenant);
  EXPECT_EQ(refused(&store::find_service_key, std::string(32, 'x')), ErrorKind::not_found);

  EXPECT_EQ(get(&store::revoke_service_key, tenant, key.id, Timestamp{50}).revoked_at, Timestamp{50});
  EXPECT_EQ(get(&store::revoke_service_key, tenant, key.id, Timestamp{60}).revoked_at, Timestamp{50});
  get(&store::update_tenant, tenant, TenantPatch{.status = model::TenantStatus::suspended}, Timestamp{70});
  found = get(&store::find_service_key, key.secret_sha256);
  EXPECT_EQ(found.key.revoked_at, Timestamp{50});
  EXPECT_EQ(found.tenant.status, model::TenantStatus::suspended);

  auto twin = key;
  twin.id = make_id<model::ServiceKeyId>();
  EXPECT_EQ(refused(&store::create_service_key, twin), ErrorKind::conflict);
  twin.tenant_id = make_id<model::TenantId>();
  EXPECT_EQ(refused(&store::create_service_key, twin), ErrorKind::not_found);
  EXPECT_EQ(refused(&store::revoke_service_key, make_tenant("other"), key.id, Timestamp{1}), ErrorKind::not_found);
}

TEST_P(StoreContract, Keys_are_listed_oldest_first_for_their_tenant_only) {
  const auto tenant = make_tenant();
  const auto other = make_tenant("other");
  std::vector<model::ServiceKeyId> service_keys;
  std::vector<model::ApproverKeyId> approver_keys;
  for (int i = 0; i < 5; ++i) {
    service_keys.push_back(make_id<model::ServiceKeyId>());
    approver_keys.push_back(make_id<model::ApproverKeyId>());
    get(&store::create_service_key, model::ServiceKey{.id = service_keys.back(),
                                                      .tenant_id = tenant,
                                                      .secret_sha256 = std::string(32, static_cast<char>('a' + i))});
    get(&store::create_approver_key, model::ApproverKey{.id = approver_keys.back(), .tenant_id = tenant});
  }
  expect_pages(service_keys, make_id<model::ServiceKeyId>(),
               [&](const auto& query) { return ask(&store::service_keys, tenant, query); });
  expect_pages(approver_keys, make_id<model::ApproverKeyId>(),
               [&](const auto& query) { return ask(&store::approver_keys, tenant, query); });
  EXPECT_TRUE(get(&store::service_keys, other, PageQuery<model::ServiceKeyId>{}).rows.empty());
  EXPECT_EQ(refused(&store::service_keys, other, PageQuery<model::ServiceKeyId>{.starting_after = service_keys[0]}),
            ErrorKind::not_found);
  EXPECT_EQ(refused(&store::approver_keys, make_id<model::TenantId>(), PageQuery<model::ApproverKeyId>{}),
            ErrorKind::not_found);
}

TEST_P(StoreContract, An_approver_key_is_kept_whole_and_revoked_once) {
  const auto tenant = make_tenant();
  const model::ApproverKey key{.id = make_id<model::ApproverKeyId>(),
                               .tenant_id = tenant,
                               .name = "boss",
                               .algorithm = model::SignatureAlgorithm::ed25519,
                               .material = std::string("\0\xFF raw", 6),
                               .created_at = {9}};
  get(&store::create_approver_key, key);
  restart();
  const auto kept = get(&store::approver_keys, tenant, PageQuery<model::ApproverKeyId>{}).rows.at(0);
  EXPECT_EQ(kept.name, "boss");
  EXPECT_EQ(kept.algorithm, model::SignatureAlgorithm::ed25519);
  EXPECT_EQ(kept.material, key.material);
  EXPECT_FALSE(kept.revoked_at.has_value());
  EXPECT_EQ(get(&store::revoke_approver_key, tenant, key.id, Timestamp{50}).revoked_at, Timestamp{50});
  EXPECT_EQ(get(&store::revoke_approver_key, tenant, key.id, Timestamp{60}).revoked_at, Timestamp{50});
  EXPECT_EQ(refused(&store::revoke_approver_key, make_tenant("other"), key.id, Timestamp{1}), ErrorKind::not_found);
}

// ── agents ──

TEST_P(StoreContract, A_tenant_has_one_default_agent) {
  const auto tenant = make_tenant();
  const auto former = get(&store::default_agent, tenant);
  const auto chosen = an_agent(tenant, "chosen");
  get(&store::create_agent, chosen);
  EXPECT_EQ(get(&store::default_agent, tenant).id, former.id);
  const auto changed = get(&store::update_agent, tenant, chosen.id, AgentPatch{.is_default = true}, Timestamp{99});
  EXPECT_TRUE(changed.is_default);
  EXPECT_EQ(get(&store::default_agent, tenant).id, chosen.id);
  EXPECT_FALSE(get(&store::agent, tenant, former.id).is_default);

  auto third = an_agent(tenant, "third");
  third.is_default = true;
  get(&store::create_agent, third);
  EXPECT_EQ(get(&store::default_agent, tenant).id, third.id);
  EXPECT_FALSE(get(&store::agent, tenant, chosen.id).is_default);
  EXPECT_EQ(refused(&store::delete_agent, tenant, third.id), ErrorKind::conflict);
  EXPECT_EQ(refused(&store::default_agent, make_id<model::TenantId>()), ErrorKind::not_found);
}

TEST_P(StoreContract, An_agents_name_is_its_tenants_own) {
  const auto tenant = make_tenant();
  const auto other = make_tenant("other");
  const auto one = an_agent(tenant, "one");
  const auto two = an_agent(tenant, "two");
  get(&store::create_agent, one);
  get(&store::create_agent, two);
  EXPECT_EQ(refused(&store::create_agent, an_agent(tenant, "one")), ErrorKind::conflict);
  EXPECT_EQ(refused(&store::update_agent, tenant, two.id, AgentPatch{.name = "one"}, Timestamp{1}),
            ErrorKind::conflict);
  get(&store::update_agent, tenant, two.id, AgentPatch{.name = "two"}, Timestamp{1});
  get(&store::create_agent, an_agent(other, "one"));
  EXPECT_EQ(get(&store::agent_named, tenant, std::string("one")).id, one.id);
  EXPECT_EQ(refused(&store::agent_named, other, std::string("two")), ErrorKind::not_found);
  EXPECT_EQ(refused(&store::agent, other, one.id), ErrorKind::not_found);
  EXPECT_EQ(refused(&store::update_agent, other, one.id, AgentPatch{}, Timestamp{1}), ErrorKind::not_found);
  EXPECT_EQ(refused(&store::delete_agent, other, one.id), ErrorKind::not_found);
  EXPECT_EQ(refused(&store::create_agent, an_agent(make_id<model::TenantId>(), "x")), ErrorKind::not_found);
}

TEST_P(StoreContract, An_agents_patch_changes_what_it_names) {
  const auto tenant = make_tenant();
  const auto agent = an_agent(tenant, "one");
  get(&store::create_agent, agent);
  const AgentPatch patch{.system_prompt = "New.",
                         .model = model::ModelChoice{"anthropic", "m", {}},
                         .limits = model::AgentLimits{1, 2, 3}};
  const auto changed = get(&store::update_agent, tenant, agent.id, patch, Timestamp{99});
  EXPECT_EQ(changed.name, "one");
  EXPECT_EQ(changed.system_prompt, "New.");
  EXPECT_EQ(changed.updated_at.ms, 99);
  EXPECT_FALSE(changed.is_default);
  restart();
  const auto kept = get(&store::agent, tenant, agent.id);
  EXPECT_EQ(kept.model, *patch.model);
  EXPECT_EQ(kept.limits, *patch.limits);
  EXPECT_EQ(model::to_json(kept), model::to_json(changed));
}

TEST_P(StoreContract, Agents_are_listed_oldest_first) {
  const auto tenant = make_tenant();
  std::vector<model::AgentId> made = {get(&store::default_agent, tenant).id};
  for (const auto* name : {"d", "c", "b", "a"}) {
    const auto agent = an_agent(tenant, name);
    get(&store::create_agent, agent);
    made.push_back(agent.id);
  }
  expect_pages(made, make_id<model::AgentId>(), [&](const auto& query) { return ask(&store::agents, tenant, query); });
}

TEST_P(StoreContract, An_agent_in_use_is_not_deleted) {
  const auto tenant = make_tenant();
  const auto agent = an_agent(tenant, "busy");
  get(&store::create_agent, agent);
  auto made = a_conversation(tenant);
  made.agent_id = agent.id;
  get(&journal::Journal::create_conversation, NewConversation{made, "", {}});
  EXPECT_EQ(refused(&store::delete_agent, tenant, agent.id), ErrorKind::conflict);

  const auto begun = accepted(tenant, made.id);
  get(&store::update_conversation, tenant, made.id, ConversationPatch{.status = model::ConversationStatus::archived},
      Timestamp{1});
  EXPECT_EQ(refused(&store::delete_agent, tenant, agent.id), ErrorKind::conflict) << "a run still needs it";
  get(&journal::Journal::append, the_end(begun));
  get(&store::delete_agent, tenant, agent.id);
  EXPECT_EQ(refused(&store::agent, tenant, agent.id), ErrorKind::not_found);
  EXPECT_EQ(refused(&store::update_conversation, tenant, made.id,
                    ConversationPatch{.status = model::ConversationStatus::active}, Timestamp{2}),
            ErrorKind::not_found)
      << "an active conversation has an agent";
}

// ── messages ──

TEST_P(StoreContract, Messages_are_listed_in_the_order_they_were_made_either_way_round) {
  const auto tenant = make_tenant();
  const auto conversation = make_conversation(tenant).id;
  std::vector<model::MessageId> rows;
  for (int i = 0; i < 3; ++i) {
    const auto begun = accepted(tenant, conversation, {6000});
    rows.insert(rows.end(), {begun.run.user_message_id, begun.run.message_id});
    get(&journal::Journal::append, the_end(begun));
  }
  const auto list = [&](Order order) {
    return [this, tenant, conversation, order](const PageQuery<model::MessageId>& query) {
      return ask(&store::messages, tenant, conversation, order, query);
    };
  };
  auto five = list(Order::ascending)({.ending_before = rows[5]});
  EXPECT_EQ(ids_of(five.value()), std::vector(rows.begin(), rows.begin() + 5));
  const auto begun = accepted(tenant, make_conversation(tenant).id);
  EXPECT_EQ(refused(&store::messages, tenant, conversation, Order::ascending,
                    PageQuery<model::MessageId>{.starting_after = begun.run.message_id}),
            ErrorKind::not_found)
      << "a cursor belongs to its list";

  auto page = list(Order::ascending)({.limit = 2, .starting_after = rows[0]});
  EXPECT_EQ(ids_of(page.value()), std::vector({rows[1], rows[2]}));
  EXPECT_TRUE(page.value().has_more);
  page = list(Order::descending)({.limit = 2, .starting_after = rows[4]});
  EXPECT_EQ(ids_of(page.value()), std::vector({rows[3], rows[2]}));
  EXPECT_TRUE(page.value().has_more);
  page = list(Order::descending)({.limit = 3, .ending_before = rows[3]});
  EXPECT_EQ(ids_of(page.value()), std::vector({rows[5], rows[4]}));
  EXPECT_FALSE(page.value().has_more);
}

TEST_P(StoreContract, A_page_of_messages_ends_at_its_bound_of_bytes_in_either_direction) {
  const auto tenant = make_tenant();
  const auto conversation = make_conversation(tenant).id;
  std::vector<model::MessageId> rows;
  const auto half = limits::page_bytes_max / 4;  // of content, which a message tells twice: as parts, too
  for (const auto size : {half, half, half, 2 * limits::page_bytes_max}) {
    const auto begun = accepted(tenant, conversation);
    rows.insert(rows.end(), {begun.run.user_message_id, begun.run.message_id});
    get(&journal::Journal::append, the_end(begun, std::string(size, 'x')));
  }
  const auto expect = [&](Order order, PageQuery<model::MessageId> query, const std::vector<std::size_t>& places,
                          bool has_more) {
    const auto page = get(&store::messages, tenant, conversation, order, query);
    std::vector<model::MessageId> ids;
    for (const auto place : places) ids.push_back(rows[place]);
    EXPECT_EQ(ids_of(page), ids);
    EXPECT_EQ(page.has_more, has_more);
  };
  // Two halves and what stands around them do not fit. Odd places are the large ones.
  expect(Order::ascending, {}, {0, 1, 2}, true);
  expect(Order::ascending, {.starting_after = rows[2]}, {3, 4}, true);
  expect(Order::ascending, {.limit = 1, .starting_after = rows[2]}, {3}, true);
  expect(Order::ascending, {.starting_after = rows[6]}, {7}, false);
  expect(Order::ascending, {.ending_before = rows[6]}, {4, 5}, true);
  expect(Order::ascending, {.ending_before = rows[2]}, {0, 1}, false);
  expect(Order::descending, {}, {7}, true);
  expect(Order::descending, {.starting_after = rows[7]}, {6, 5, 4}, true);
  expect(Order::descending, {.ending_before = rows[2]}, {4, 3}, true);
}

TEST_P(StoreContract, A_page_of_agents_ends_at_its_bound_of_bytes) {
  const auto tenant = make_tenant();
  for (const auto* name : {"a", "b"}) {
    auto agent = an_agent(tenant, name);
    agent.system_prompt.assign(limits::page_bytes_max - 100, 'x');
    get(&store::create_agent, agent);
  }
  const auto page = get(&store::agents, tenant, PageQuery<model::AgentId>{});
  EXPECT_EQ(page.rows.size(), 2U) << "the default one and the first of the large ones";
  EXPECT_TRUE(page.has_more);
}

TEST_P(StoreContract, History_ends_at_its_bound_of_bytes_and_loses_the_oldest) {
  const auto tenant = make_tenant();
  const auto conversation = make_conversation(tenant).id;
  const auto half = limits::history_bytes_max / 2;
  get(&journal::Journal::append, the_end(accepted(tenant, conversation), std::string(half, 'a')));
  get(&journal::Journal::append, the_end(accepted(tenant, conversation), std::string(half, 'b')));
  const auto now = accepted(tenant, conversation);
  const auto turns = history(tenant, conversation, now.run.message_id, 100);
  ASSERT_EQ(turns.size(), 3U);
  EXPECT_EQ(turns[0].role, model::Role::user);
  EXPECT_TRUE(turns[1].content == std::string(half, 'b'));
  EXPECT_EQ(turns[2].role, model::Role::user);

  get(&journal::Journal::append, the_end(now, std::string(2 * limits::history_bytes_max, 'c')));
  const auto later = accepted(tenant, conversation);
  EXPECT_EQ(history(tenant, conversation, later.run.message_id, 100).size(), 1U) << "only the question fits";
  EXPECT_EQ(history(tenant, conversation, later.run.user_message_id, 100).size(), 1U)
      << "the newest, whatever its size";
  EXPECT_TRUE(history(tenant, conversation, later.run.message_id, 0).empty());
}

TEST_P(StoreContract, What_was_replaced_is_listed_as_it_was_and_no_history_any_more) {
  const auto tenant = make_tenant();
  const auto conversation = make_conversation(tenant).id;
  const auto kept = accepted(tenant, conversation);
  get(&journal::Journal::append, the_end(kept, "one"));
  const auto replaced = accepted(tenant, conversation);
  get(&journal::Journal::append, the_end(replaced, "two"));
  const auto after = accepted(tenant, conversation);
  get(&journal::Journal::append, the_end(after, "three"));
  const auto listed = get(&store::message, tenant, replaced.run.message_id).json;
  auto anew = a_run(tenant, conversation);
  anew.replaces_from = replaced.run.user_message_id;
  const auto now = accepted(anew);
  restart();
  for (const auto& [id, is_replaced] :
       {std::pair(kept.run.user_message_id, false), std::pair(kept.run.message_id, false),
        std::pair(replaced.run.user_message_id, true), std::pair(replaced.run.message_id, true),
        std::pair(after.run.message_id, true), std::pair(now.run.user_message_id, false)}) {
    EXPECT_EQ(get(&store::message, tenant, id).is_replaced, is_replaced) << id.text();
  }
  EXPECT_EQ(get(&store::message, tenant, replaced.run.message_id).json, listed);
  EXPECT_EQ(get(&store::messages, tenant, conversation, Order::ascending, PageQuery<model::MessageId>{}).rows.size(),
            8U);
  const auto turns = history(tenant, conversation, now.run.message_id, 100);
  ASSERT_EQ(turns.size(), 3U);
  EXPECT_EQ(turns[1].content, "one");
}

TEST_P(StoreContract, History_is_the_last_completed_turns_oldest_first) {
  const auto tenant = make_tenant();
  const auto conversation = make_conversation(tenant).id;
  get(&journal::Journal::append, the_end(accepted(tenant, conversation), "one"));
  auto failed = the_end(accepted(tenant, conversation), "half an ans");
  failed.state = model::RunState::failed;
  failed.assistant_message->status = model::MessageStatus::failed;
  get(&journal::Journal::append, failed);
  get(&journal::Journal::append, the_end(accepted(tenant, conversation), "two"));
  const auto now = accepted(tenant, conversation);

  const auto turns = [&](int count_max) {
    std::vector<std::string> words;
    for (const auto& turn : history(tenant, conversation, now.run.message_id, count_max)) {
      words.push_back(std::string(model::name_of(turn.role)) + ": " + turn.content);
    }
    return words;
  };
  using Words = std::vector<std::string>;
  EXPECT_EQ(turns(100), Words({"user: What is it?", "assistant: one", "user: What is it?", "user: What is it?",
                               "assistant: two", "user: What is it?"}));
  EXPECT_EQ(turns(2), Words({"assistant: two", "user: What is it?"}));
  EXPECT_EQ(history(tenant, conversation, now.run.user_message_id, 1).at(0).content, "two");
  model::Run unknown{.tenant_id = tenant, .conversation_id = conversation};
  unknown.user_message_id = make_id<model::MessageId>();
  EXPECT_EQ(refused(&store::launch_records, unknown, LaunchQuestion{{}, 1}), ErrorKind::not_found);
}

TEST_P(StoreContract, Reopening_loses_nothing) {
  const auto tenant = make_tenant();
  get(&journal::Journal::reopen);
  EXPECT_FALSE(store().broken());
  EXPECT_EQ(get(&store::tenant, tenant).id, tenant);
  make_conversation(tenant);
}

TEST_P(StoreContract, A_store_that_is_gone_answers_nobody) {
  const auto tenant = make_tenant();
  bool answered = false;
  const auto made = a_conversation(tenant);
  store().create_conversation({made, "", {}}, [&](const auto&) { answered = true; });
  restart();
  EXPECT_EQ(get(&store::conversation, tenant, made.id).id, made.id) << "but what it was asked to write is written";
  EXPECT_FALSE(answered);
}

}  // namespace store_contract_test
}  // namespace sluice::store
