// The contract of every store, about chats and the files in their bags.
#include "store/store_contract.h"

namespace sluice::store {
namespace bags_contract_test {

constexpr int64_t plenty = 1'000'000;

class BagContract : public StoreContract {
 public:
  model::Conversation make_chat(Timestamp at = {5000}) {
    auto made = a_conversation(tenant, at);
    made.kind = model::ConversationKind::chat;
    get(&journal::Journal::create_conversation, NewConversation{made, "", std::nullopt});
    return get(&store::conversation, tenant, made.id);
  }
  model::BagFile a_file(std::optional<model::ConversationId> chat, std::string name = "a.csv") {
    return {.id = make_id<model::FileId>(),
            .tenant_id = tenant,
            .chat_id = chat,
            .name = std::move(name),
            .type = "text/csv",
            .size_bytes = 10,
            .sha256 = std::string(64, 'a'),
            .created_at = {7000}};
  }
  model::BagFile keep(std::optional<model::ConversationId> chat) {
    const auto made = a_file(chat);
    EXPECT_EQ(get(&store::create_bag_files, std::vector{made}, plenty), BagOutcome::kept);
    return made;
  }
  model::RunFile handed_back(model::RunId run) {
    return {.id = make_id<model::FileId>(),
            .tenant_id = tenant,
            .run_id = run,
            .name = "plot.png",
            .size_bytes = 5,
            .sha256 = std::string(64, 'b'),
            .created_at = {8000}};
  }
  std::size_t count_of(std::optional<model::ConversationId> chat) {
    return get(&store::bag_files, tenant, chat, PageQuery<model::FileId>{.limit = 100}).rows.size();
  }
  void archive(model::ConversationId id) {
    get(&store::update_conversation, tenant, id, ConversationPatch{.status = model::ConversationStatus::archived},
        Timestamp{9000});
  }

  const model::TenantId tenant = make_tenant();
};

INSTANTIATE_TEST_SUITE_P(Stores, BagContract, every_backend, name_of_backend);

TEST_P(BagContract, A_conversation_keeps_its_kind_and_lists_show_one_kind) {
  const auto plain = make_conversation(tenant);
  const auto chat = make_chat();
  restart();
  EXPECT_EQ(get(&store::conversation, tenant, chat.id).kind, model::ConversationKind::chat);
  EXPECT_EQ(model::to_json(get(&store::conversation, tenant, plain.id)).find("kind"), std::string::npos);
  const PageQuery<model::ConversationId> all;
  EXPECT_EQ(ids_of(get(&store::conversations, tenant, ConversationFilter{}, all)), std::vector{plain.id});
  EXPECT_EQ(ids_of(get(&store::conversations, tenant, ConversationFilter{.kind = model::ConversationKind::chat}, all)),
            std::vector{chat.id});
}

TEST_P(BagContract, Archived_ones_are_left_out_for_whoever_asks_so) {
  const auto left = make_chat();
  archive(make_chat().id);
  const PageQuery<model::ConversationId> all;
  ConversationFilter chats{.kind = model::ConversationKind::chat};
  EXPECT_EQ(ids_of(get(&store::conversations, tenant, chats, all)).size(), 2U);
  chats.active_only = true;
  EXPECT_EQ(ids_of(get(&store::conversations, tenant, chats, all)), std::vector{left.id});
}

TEST_P(BagContract, A_file_is_kept_as_it_was_given) {
  const auto chat = make_chat();
  const auto made = keep(chat.id);
  restart();
  const auto kept = get(&store::bag_file, tenant, made.id);
  EXPECT_EQ(model::to_json(kept), model::to_json(made));
  EXPECT_EQ(kept.chat_id, chat.id);
  EXPECT_EQ(kept.source, model::FileSource::upload);
  EXPECT_FALSE(kept.deleted_at);
}

TEST_P(BagContract, Files_are_listed_oldest_first_of_a_chat_or_of_the_tenant) {
  const auto chat = make_chat();
  keep(make_chat().id);
  std::vector<model::FileId> ids;
  for (int i = 0; i < 5; ++i) ids.push_back(keep(chat.id).id);
  expect_pages(ids, make_id<model::FileId>(),
               [&](const auto& query) { return ask(&store::bag_files, tenant, std::optional(chat.id), query); });
  EXPECT_EQ(count_of(std::nullopt), 6U);
}

TEST_P(BagContract, Nothing_is_found_or_deleted_by_another_tenant) {
  const auto chat = make_chat();
  const auto made = keep(chat.id);
  const auto other = make_tenant("other");
  EXPECT_EQ(refused(&store::bag_file, other, made.id), ErrorKind::not_found);
  EXPECT_EQ(refused(&store::remove_bag_file, other, made.id, Timestamp{1}), ErrorKind::not_found);
  auto foreign = a_file(chat.id);
  foreign.tenant_id = other;
  EXPECT_EQ(refused(&store::create_bag_files, std::vector{foreign}, plenty), ErrorKind::not_found);
  EXPECT_TRUE(get(&store::bag_files, other, std::optional(chat.id), PageQuery<model::FileId>{}).rows.empty());
}

TEST_P(BagContract, A_bag_takes_all_files_or_none) {
  const auto chat = make_chat();
  std::vector<model::BagFile> many;
  for (std::size_t i = 0; i < limits::bag_files_max; ++i) many.push_back(a_file(chat.id));
  EXPECT_EQ(get(&store::create_bag_files, many, plenty), BagOutcome::kept);
  EXPECT_EQ(get(&store::create_bag_files, std::vector{a_file(chat.id)}, plenty), BagOutcome::chat_full);
  get(&store::remove_bag_file, tenant, many.front().id, Timestamp{1});
  EXPECT_EQ(get(&store::create_bag_files, std::vector{a_file(chat.id), a_file(chat.id)}, plenty),
            BagOutcome::chat_full);
  EXPECT_EQ(get(&store::create_bag_files, std::vector{a_file(chat.id)}, plenty), BagOutcome::kept);
  EXPECT_EQ(refused(&store::create_bag_files, std::vector{a_file(std::nullopt), many.back()}, plenty),
            ErrorKind::conflict);
  const auto page =
      get(&store::bag_files, tenant, std::nullopt, PageQuery<model::FileId>{.starting_after = many.back().id});
  EXPECT_EQ(page.rows.size(), 1U);
}

TEST_P(BagContract, A_tenant_has_so_many_bytes_and_what_is_deleted_counts_no_more) {
  const auto first = a_file(std::nullopt);
  EXPECT_EQ(get(&store::create_bag_files, std::vector{first, a_file(std::nullopt)}, int64_t{20}), BagOutcome::kept);
  EXPECT_EQ(get(&store::create_bag_files, std::vector{a_file(std::nullopt)}, int64_t{20}), BagOutcome::tenant_full);
  get(&store::remove_bag_file, tenant, first.id, Timestamp{1});
  EXPECT_EQ(refused(&store::bag_file, tenant, first.id), ErrorKind::not_found);
  EXPECT_EQ(refused(&store::remove_bag_file, tenant, first.id, Timestamp{2}), ErrorKind::not_found);
  EXPECT_EQ(get(&store::create_bag_files, std::vector{a_file(std::nullopt)}, int64_t{20}), BagOutcome::kept);
}

TEST_P(BagContract, Files_join_the_chat_of_the_turn_that_attaches_them) {
  const auto loose = keep(std::nullopt);
  const auto settled = keep(make_chat().id);
  auto turn_chat = a_conversation(tenant);
  turn_chat.kind = model::ConversationKind::chat;
  auto turn = a_run(tenant, turn_chat.id);
  turn.conversation = turn_chat;
  turn.attached = {loose.id, settled.id};
  accepted(std::move(turn));
  restart();
  EXPECT_EQ(get(&store::bag_file, tenant, loose.id).chat_id, turn_chat.id);
  EXPECT_EQ(get(&store::bag_file, tenant, settled.id).chat_id, settled.chat_id) << "a file is in one chat for good";
}

TEST_P(BagContract, What_a_chats_run_hands_back_is_in_the_bag_and_still_the_runs) {
  const auto chat = make_chat();
  const auto file = handed_back(accepted(tenant, chat.id).run.id);
  get(&store::create_files, std::vector{file});
  restart();
  const auto kept = get(&store::bag_file, tenant, file.id);
  EXPECT_EQ(kept.chat_id, chat.id);
  EXPECT_EQ(kept.run_id, file.run_id);
  EXPECT_EQ(kept.source, model::FileSource::sandbox);
  EXPECT_EQ(kept.type, "image/png");
  EXPECT_EQ(kept.sha256, file.sha256);
  EXPECT_EQ(get(&store::file, tenant, file.id).name, "plot.png");
}

TEST_P(BagContract, What_a_runner_elsewhere_hands_back_is_in_the_bag_of_its_runs_chat) {
  const auto chat = make_chat();
  const model::Execution execution{.id = make_id<model::ExecutionId>(),
                                   .tenant_id = tenant,
                                   .run_id = accepted(tenant, chat.id).run.id,
                                   .expires_at = {99'000}};
  get(&store::create_execution, execution, std::string("bearer"), std::vector<model::OneTimeToken>{});
  auto file = handed_back(*execution.run_id);
  file.run_id.reset();
  file.execution_id = execution.id;
  get(&store::create_files, std::vector{file});
  EXPECT_EQ(get(&store::bag_file, tenant, file.id).run_id, execution.run_id);
}

TEST_P(BagContract, A_plain_conversation_has_no_bag) {
  const auto plain = make_conversation(tenant);
  get(&store::create_files, std::vector{handed_back(accepted(tenant, plain.id).run.id)});
  EXPECT_EQ(count_of(std::nullopt), 0U);
}

TEST_P(BagContract, Deleting_a_chat_deletes_what_is_in_its_bag_A_5) {
  const auto chat = make_chat();
  const auto made = keep(chat.id);
  const auto elsewhere = keep(make_chat().id);
  const auto file = handed_back(accepted(tenant, chat.id).run.id);
  archive(chat.id);
  EXPECT_EQ(refused(&store::bag_file, tenant, made.id), ErrorKind::not_found);
  EXPECT_EQ(get(&store::bag_file, tenant, elsewhere.id).id, elsewhere.id);
  EXPECT_EQ(get(&store::create_bag_files, std::vector{a_file(chat.id)}, plenty), BagOutcome::chat_archived);
  get(&store::create_files, std::vector{file});
  restart();
  EXPECT_EQ(count_of(chat.id), 0U) << "what comes too late is deleted too";
  EXPECT_EQ(get(&store::file, tenant, file.id).id, file.id);
}

}  // namespace bags_contract_test
}  // namespace sluice::store
