// What only a store on disk can promise about gates and secrets.
#include "store/sqlite_fixture.h"

namespace sluice::store {
namespace sqlite_gates_test {

Append a_park(StoreTeller& teller, const Accepted& begun) {
  Append park{.run = begun.run.id, .epoch = begun.run.epoch, .head = begun.run.head};
  park.events = {{model::EventKind::gate, {7000}, "{}"}};
  park.state = model::RunState::parked;
  park.approval = model::Approval{.id = teller.make_id<model::ApprovalId>(),
                                  .tenant_id = begun.run.tenant_id,
                                  .conversation_id = begun.run.conversation_id,
                                  .message_id = begun.run.message_id,
                                  .run_id = begun.run.id};
  park.audit = {{.tenant_id = begun.run.tenant_id, .action = "approval.required", .detail = "{}"}};
  return park;
}

TEST_F(SqliteFiles, A_database_of_the_second_schema_is_brought_up_to_date_with_what_is_in_it) {
  open();
  const auto tenant = make_tenant();
  const auto conversation = make_conversation(tenant);
  const auto begun = accepted(tenant, conversation.id);
  const model::ApproverKey key{.id = make_id<model::ApproverKeyId>(), .tenant_id = tenant, .material = "m"};
  get(&store::create_approver_key, key);
  store_.reset();
  tell(path, back_to_fourth);
  tell(path, back_to_third);
  tell(path, back_to_second);
  open();
  EXPECT_EQ(get(&store::tenant, tenant).limits, model::TenantLimits{});
  EXPECT_FALSE(get(&store::tenant, tenant).require_bound_decisions);
  EXPECT_FALSE(get(&store::tenant, tenant).webhook_url);
  EXPECT_TRUE(get(&store::default_agent, tenant).policy.empty());
  EXPECT_FALSE(get(&store::default_agent, tenant).model.key_alias);
  EXPECT_EQ(get(&store::conversation, tenant, conversation.id).runtime, model::Runtime{"native"});
  EXPECT_EQ(get(&store::conversation, tenant, conversation.id).metadata, conversation.metadata);
  EXPECT_EQ(get(&store::approver_key, tenant, key.id).material, "m");
  const auto park = a_park(*this, begun);
  get(&journal::Journal::append, park);
  EXPECT_EQ(get(&store::open_approval, begun.run.id).id, park.approval->id);
}

TEST_F(SqliteFiles, A_database_of_the_third_schema_is_brought_up_to_date_with_what_is_in_it) {
  open();
  const auto tenant = make_tenant();
  const auto conversation = make_conversation(tenant);
  store_.reset();
  tell(path, back_to_fourth);
  tell(path, back_to_third);
  open();
  EXPECT_FALSE(get(&store::tenant, tenant).agui_unsigned_approvals);
  EXPECT_EQ(get(&store::default_agent, tenant).kit, model::AgentKit{});
  EXPECT_EQ(get(&store::conversation, tenant, conversation.id).runtime.agent_type, "native");
  auto made = a_run(tenant, conversation.id);
  made.agui = AguiRun{.thread_id = "t", .run_id = "r"};
  const auto begun = accepted(made);
  EXPECT_EQ(get(&store::agui_run, tenant, "t", "r").run, begun.run.id);
}

TEST_F(SqliteFiles, A_full_disk_keeps_no_part_of_a_name) {
  open(120);
  const auto tenant = make_tenant();
  auto made = a_run(tenant, make_conversation(tenant).id);
  made.agui = AguiRun{.thread_id = "t", .run_id = std::string(500'000, 'x')};
  EXPECT_EQ(refused(&journal::Journal::accept, made), ErrorKind::overloaded);
  EXPECT_EQ(refused(&store::thread, tenant, "t"), ErrorKind::not_found);
  EXPECT_TRUE(get(&journal::Journal::unfinished_runs).runs.empty());
  made.agui->run_id = "r";
  const auto begun = accepted(made);
  EXPECT_EQ(get(&store::agui_run, tenant, "t", "r").run, begun.run.id);
}

// I-14: an answer means that the disk has it.
TEST_F(SqliteFiles, A_gate_that_was_answered_is_there_when_the_process_dies_the_next_moment) {
  open();
  const auto tenant = make_tenant();
  const auto begun = accepted(tenant, make_conversation(tenant).id);
  const auto park = a_park(*this, begun);
  get(&journal::Journal::append, park);
  const auto copy = folder.file("copy.db");
  std::filesystem::copy_file(path, copy);
  std::filesystem::copy_file(path + "-wal", copy + "-wal");
  store_ = std::move(try_to_open(copy)).take();
  EXPECT_EQ(get(&store::open_approval, begun.run.id).id, park.approval->id);
  EXPECT_EQ(get(&journal::Journal::unfinished_runs).runs.at(0).state, model::RunState::parked);
  EXPECT_EQ(get(&store::audit, tenant, int64_t{0}, 10).size(), 1U);
}

TEST_F(SqliteFiles, A_full_disk_keeps_no_part_of_a_gate) {
  open(120);
  const auto tenant = make_tenant();
  const auto begun = accepted(tenant, make_conversation(tenant).id);
  auto park = a_park(*this, begun);
  park.audit[0].detail = std::string(500'000, 'x');  // the last thing that is written
  EXPECT_EQ(refused(&journal::Journal::append, park), ErrorKind::overloaded);
  EXPECT_EQ(refused(&store::open_approval, begun.run.id), ErrorKind::not_found);
  EXPECT_EQ(get(&store::run, tenant, begun.run.id).state, model::RunState::accepted);
  park.audit[0].detail = "{}";
  get(&journal::Journal::append, park);
  EXPECT_EQ(get(&store::audit, tenant, int64_t{0}, 10).at(0).number, 1) << "no gap where the other would have been";
}

// I-17: also what lay on pages of its own, which SQLite would otherwise keep as they are until they are used again.
TEST_F(SqliteFiles, Destroyed_secrets_are_no_longer_in_the_file) {
  open();
  const auto tenant = make_tenant();
  const auto conversation = make_conversation(tenant).id;
  const std::string small = "small-seal-0123456789";
  std::string large;
  while (large.size() < 20'000) large += "large-seal-0123456789";
  const auto in_file = [&](std::string_view text) {
    store_.reset();  // the log goes into the file
    std::ifstream file(path, std::ios::binary);
    const std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    open();
    return bytes.find(text) != std::string::npos;
  };
  for (const auto& sealed : {small, large}) {
    const model::SealedSecret secret{.tenant_id = tenant, .owner = conversation.ulid, .alias = "A", .sealed = sealed};
    get(&store::put_secrets, std::vector{secret}, std::vector<model::AuditEntry>{});
    EXPECT_TRUE(in_file(sealed.substr(0, 21)));
  }
  EXPECT_FALSE(in_file(small)) << "replaced";
  ConversationPatch patch;
  patch.status = model::ConversationStatus::archived;
  get(&store::update_conversation, tenant, conversation, patch, Timestamp{1});
  EXPECT_FALSE(in_file("large-seal"));
}

}  // namespace sqlite_gates_test
}  // namespace sluice::store
