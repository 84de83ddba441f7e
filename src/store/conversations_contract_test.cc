// The contract of every store, about conversations. The stores are named in store_contract_test.cc.
#include "store/store_contract.h"

namespace sluice::store {
namespace conversations_contract_test {

TEST_P(StoreContract, A_conversation_is_found_by_its_id_alone_whosever_it_is) {
  const auto tenant = make_tenant();
  const auto made = make_conversation(tenant);
  EXPECT_EQ(get(&store::find_conversation, made.id).tenant_id, tenant);
  get(&store::update_conversation, tenant, made.id, ConversationPatch{.status = model::ConversationStatus::archived},
      Timestamp{9000});
  EXPECT_EQ(get(&store::find_conversation, made.id).status, model::ConversationStatus::archived);
  EXPECT_EQ(refused(&store::find_conversation, make_id<model::ConversationId>()), ErrorKind::not_found);
}

TEST_P(StoreContract, A_conversation_without_an_agent_has_the_default_one) {
  const auto tenant = make_tenant();
  const auto other = make_tenant("other");
  const auto made = make_conversation(tenant);
  EXPECT_EQ(made.agent_id, get(&store::default_agent, tenant).id);
  EXPECT_EQ(refused(&store::conversation, other, made.id), ErrorKind::not_found);
  auto stranger = a_conversation(tenant);
  stranger.agent_id = get(&store::default_agent, other).id;
  EXPECT_EQ(refused(&journal::Journal::create_conversation, NewConversation{stranger, "", {}}), ErrorKind::not_found);
  EXPECT_EQ(refused(&journal::Journal::create_conversation,
                    NewConversation{a_conversation(make_id<model::TenantId>()), "", {}}),
            ErrorKind::not_found);
}

TEST_P(StoreContract, A_patch_tells_clearing_from_leaving_alone) {
  const auto tenant = make_tenant();
  auto made = a_conversation(tenant);
  made.title = "A title";
  made.user_id = "ana";
  made.filler_enabled = true;
  made.repository_id = "repo";
  get(&journal::Journal::create_conversation, NewConversation{made, "", {}});
  made.agent_id = get(&store::default_agent, tenant).id;
  made.runtime.agent_type = "native";
  EXPECT_EQ(model::to_json(get(&store::conversation, tenant, made.id)), model::to_json(made));

  ConversationPatch patch;
  patch.title.emplace(std::nullopt);
  patch.filler_enabled.emplace(false);
  patch.metadata = model::Metadata{{"k", "v"}};
  auto changed = get(&store::update_conversation, tenant, made.id, patch, Timestamp{8000});
  made.title.reset();
  made.filler_enabled = false;
  made.metadata = {{"k", "v"}};
  made.updated_at = {8000};
  EXPECT_EQ(model::to_json(changed), model::to_json(made));
  patch = {};
  patch.filler_enabled.emplace(std::nullopt);
  patch.user_id.emplace(std::nullopt);
  patch.repository_id.emplace("other");
  get(&store::update_conversation, tenant, made.id, patch, Timestamp{8000});
  made.filler_enabled.reset();
  made.user_id.reset();
  made.repository_id = "other";
  restart();
  EXPECT_EQ(model::to_json(get(&store::conversation, tenant, made.id)), model::to_json(made));
  EXPECT_EQ(refused(&store::update_conversation, make_tenant("other"), made.id, patch, Timestamp{1}),
            ErrorKind::not_found);
  patch.agent_id = make_id<model::AgentId>();
  EXPECT_EQ(refused(&store::update_conversation, tenant, made.id, patch, Timestamp{1}), ErrorKind::not_found);
}

TEST_P(StoreContract, Creating_a_conversation_twice_with_one_key_answers_the_same_words_I_19) {
  const auto tenant = make_tenant();
  const Idempotency key{make_id<model::ServiceKeyId>(), "createConversation", "k", "sha"};
  const auto first = a_conversation(tenant);
  EXPECT_TRUE(std::holds_alternative<Unit>(
      get(&journal::Journal::create_conversation, NewConversation{first, "{\"id\":1}", key})));
  const auto again =
      get(&journal::Journal::create_conversation, NewConversation{a_conversation(tenant), "{\"id\":2}", key});
  ASSERT_TRUE(std::holds_alternative<Replay>(again));
  EXPECT_EQ(std::get<Replay>(again).response_body, "{\"id\":1}");
  EXPECT_FALSE(std::get<Replay>(again).run.has_value());
  auto other = key;
  other.request_sha256 = "another";
  EXPECT_TRUE(std::holds_alternative<KeyConflict>(
      get(&journal::Journal::create_conversation, NewConversation{a_conversation(tenant), "", other})));
  EXPECT_EQ(get(&store::conversations, tenant, ConversationFilter{}, PageQuery<model::ConversationId>{}).rows.size(),
            1U);
}

TEST_P(StoreContract, Conversations_are_listed_latest_message_first_also_at_equal_times) {
  const auto tenant = make_tenant();
  std::vector<model::ConversationId> rows;
  for (const int64_t at : {5000, 6000, 6000, 6000, 7000}) rows.insert(rows.begin(), make_conversation(tenant, {at}).id);
  make_conversation(make_tenant("other"));
  const auto list = [&](const auto& query) { return ask(&store::conversations, tenant, ConversationFilter{}, query); };
  expect_pages(rows, make_id<model::ConversationId>(), list);
  accepted(tenant, rows[4], {8000});
  std::rotate(rows.begin(), rows.end() - 1, rows.end());
  expect_pages(rows, make_id<model::ConversationId>(), list);
}

// I-9
TEST_P(StoreContract, A_walk_through_conversations_goes_on_where_it_ended_though_that_row_has_moved) {
  const auto tenant = make_tenant();
  std::vector<model::ConversationId> rows;
  for (const int64_t at : {5000, 6000, 6000, 6000, 7000}) rows.insert(rows.begin(), make_conversation(tenant, {at}).id);
  using Ids = std::vector<model::ConversationId>;
  const auto page = [&](PageQuery<model::ConversationId> query) {
    query.limit = 2;
    return ids_of(get(&store::conversations, tenant, ConversationFilter{}, query));
  };
  const auto after = PageQuery<model::ConversationId>{.starting_after = rows[2], .cursor_at = Timestamp{6000}};
  const auto before = PageQuery<model::ConversationId>{.ending_before = rows[2], .cursor_at = Timestamp{6000}};
  EXPECT_EQ(page(after), (Ids{rows[3], rows[4]}));
  EXPECT_EQ(page(before), (Ids{rows[0], rows[1]}));
  accepted(tenant, rows[2], {8000});
  EXPECT_EQ(page(after), (Ids{rows[3], rows[4]}));
  EXPECT_EQ(page(before), (Ids{rows[0], rows[1]}));
  EXPECT_EQ(page({.starting_after = rows[2]}), (Ids{rows[0], rows[1]})) << "where it is now";
  const PageQuery<model::ConversationId> lost{.starting_after = make_id<model::ConversationId>(),
                                              .cursor_at = Timestamp{6000}};
  EXPECT_EQ(refused(&store::conversations, tenant, ConversationFilter{}, lost), ErrorKind::not_found);
}

TEST_P(StoreContract, Conversations_are_listed_for_one_user) {
  const auto tenant = make_tenant();
  std::vector<model::ConversationId> rows;
  for (int i = 0; i < 10; ++i) {
    auto made = a_conversation(tenant, {5000 + i / 4});
    if (i % 2 == 0) {
      made.user_id = "ana";
      rows.insert(rows.begin(), made.id);
    } else if (i % 3 == 0) {
      made.user_id = "ben";
    }
    get(&journal::Journal::create_conversation, NewConversation{made, "", {}});
  }
  const std::optional<std::string> ana = "ana";
  expect_pages(rows, make_id<model::ConversationId>(), [&](const auto& query) {
    return ask(&store::conversations, tenant, ConversationFilter{.user_id = ana}, query);
  });
}

}  // namespace conversations_contract_test
}  // namespace sluice::store
