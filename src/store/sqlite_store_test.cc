// What only a store on disk can promise: durability, damage reported, room that runs out.
#include "store/sqlite_store.h"

#include <sys/resource.h>

#include <csignal>

#include "store/sqlite_fixture.h"

namespace sluice::store {
namespace sqlite_store_test {

namespace fs = std::filesystem;

TEST_F(SqliteFiles, What_was_answered_is_there_when_the_process_dies_the_next_moment) {
  open();
  const auto tenant = make_tenant();
  const auto begun = accepted(tenant, make_conversation(tenant).id);
  get(&journal::Journal::append, Append{.run = begun.run.id,
                                        .epoch = begun.run.epoch,
                                        .head = begun.run.head,
                                        .events = {{model::EventKind::text, {7000}, "of the flow class"}}});
  // A killed process closes nothing: its files are as they stand now.
  const auto copy = folder.file("copy.db");
  fs::copy_file(path, copy);
  fs::copy_file(path + "-wal", copy + "-wal");
  store_ = std::move(try_to_open(copy)).take();
  const auto page = get(&journal::Journal::read, begun.run.id, model::Position{1}, std::size_t{1000});
  ASSERT_EQ(page.events.size(), 1U);
  EXPECT_EQ(page.events[0].event().body, "of the flow class");
  EXPECT_EQ(get(&journal::Journal::unfinished_runs).runs.at(0).head.value, 2U);
}

TEST_F(SqliteFiles, The_files_are_for_their_owner_only) {
  open();
  make_tenant();
  for (const auto* suffix : {"", "-wal", "-shm"}) {
    EXPECT_EQ(fs::status(path + suffix).permissions(), fs::perms::owner_read | fs::perms::owner_write) << suffix;
  }
}

TEST_F(SqliteFiles, A_database_from_the_future_is_refused) {
  open();
  store_.reset();
  tell(path, "PRAGMA user_version = 999");
  const auto opened = try_to_open(path);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().kind, ErrorKind::invalid);
  EXPECT_NE(opened.error().what.find("schema 999"), std::string::npos) << opened.error().what;
}

TEST_F(SqliteFiles, A_database_of_another_program_is_refused) {
  tell(path, "CREATE TABLE theirs (x)");
  const auto opened = try_to_open(path);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().kind, ErrorKind::invalid);
}

TEST_F(SqliteFiles, A_file_that_is_no_database_is_corrupt_and_a_missing_folder_is_named) {
  std::ofstream(path) << std::string(8192, 'x');
  auto opened = try_to_open(path);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().kind, ErrorKind::corrupt);
  opened = try_to_open(folder.file("nowhere/sluice.db"));
  ASSERT_FALSE(opened);
  EXPECT_NE(opened.error().what.find("nowhere"), std::string::npos);
}

TEST_F(SqliteFiles, A_database_of_the_first_schema_is_brought_up_to_date) {
  open();
  const auto tenant = make_tenant();
  store_.reset();
  tell(path, back_to_fourth);
  tell(path, back_to_third);
  tell(path, back_to_second);
  tell(path,
       "DROP TABLE repositories; DROP TABLE skills; DROP TABLE environments; DROP TABLE executions; "
       "DROP TABLE one_time_tokens; DROP TABLE files; ALTER TABLE agents DROP COLUMN skill_ids; "
       "ALTER TABLE agents DROP COLUMN environment_id; PRAGMA user_version = 1");
  open();
  const auto agent = get(&store::default_agent, tenant);
  EXPECT_EQ(agent.name, "default");
  EXPECT_TRUE(agent.skill_ids.empty());
  EXPECT_FALSE(agent.environment_id);
  const model::Environment made{.id = make_id<model::EnvironmentId>(), .tenant_id = tenant, .name = "build"};
  get(&store::create_environment, made);
  AgentPatch patch;
  patch.environment_id = made.id;
  EXPECT_EQ(get(&store::update_agent, tenant, agent.id, patch, Timestamp{5}).environment_id, made.id);
}

TEST_F(SqliteFiles, A_database_of_the_fourth_schema_is_brought_up_to_date_with_what_is_in_it) {
  open();
  const auto tenant = make_tenant();
  const auto conversation = make_conversation(tenant);
  const auto begun = accepted(tenant, conversation.id);
  store_.reset();
  tell(path, back_to_fourth);
  open();
  EXPECT_EQ(get(&store::conversation, tenant, conversation.id).kind, model::ConversationKind::plain);
  EXPECT_FALSE(get(&store::default_agent, tenant).model.endpoint);
  EXPECT_EQ(get(&store::run, tenant, begun.run.id).state, begun.run.state);
}

TEST_F(SqliteFiles, A_full_disk_keeps_no_part_of_an_execution) {
  open(90);
  const auto tenant = make_tenant();
  model::Execution made{.id = make_id<model::ExecutionId>(), .tenant_id = tenant, .expires_at = {9'000}};
  made.config_json = std::string(400'000, 'x');
  const std::vector<model::OneTimeToken> tokens{{std::string(32, 't'), model::TokenPurpose::setup, {5'000}}};
  const std::string bearer(32, 'b');
  EXPECT_EQ(refused(&store::create_execution, made, bearer, tokens), ErrorKind::overloaded);
  EXPECT_EQ(refused(&store::execution_of_bearer, bearer, Timestamp{1}), ErrorKind::denied);
  made.config_json = "{}";
  get(&store::create_execution, made, bearer, tokens);
  EXPECT_EQ(get(&store::redeem, made.id, model::TokenPurpose::setup, tokens[0].sha256, Timestamp{1}).execution.id,
            made.id);
}

TEST_F(SqliteFiles, A_damaged_page_is_reported) {
  open();
  const auto tenant = make_tenant();
  const auto conversation = make_conversation(tenant).id;
  const auto begun = accepted(tenant, conversation);
  get(&journal::Journal::append, the_end(begun));
  store_.reset();
  damage_table("conversations");
  open();
  EXPECT_EQ(refused(&store::conversation, tenant, conversation), ErrorKind::corrupt);
  EXPECT_EQ(refused(&journal::Journal::accept, a_run(tenant, conversation)), ErrorKind::corrupt);
}

TEST_F(SqliteFiles, A_second_server_on_the_same_database_is_refused) {
  open();
  const auto second = try_to_open(path);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().kind, ErrorKind::conflict);
  EXPECT_NE(second.error().what.find("another server uses it"), std::string::npos) << second.error().what;
}

TEST_F(SqliteFiles, A_damaged_journal_is_reported_with_the_name_of_its_run) {
  open();
  const auto tenant = make_tenant();
  const auto begun = accepted(tenant, make_conversation(tenant).id);
  get(&journal::Journal::append, the_end(begun));
  tell(path, "UPDATE journal SET batch = x'FF' WHERE last > 1");
  EXPECT_EQ(get(&Store::tidy_up, Timestamp{1}), 0) << "what cannot be read is not sealed";
  auto page = ask(&journal::Journal::read, begun.run.id, model::Position{0}, std::size_t{1000});
  ASSERT_FALSE(page);
  EXPECT_EQ(page.error().kind, ErrorKind::corrupt);
  EXPECT_NE(page.error().what.find(begun.run.id.text()), std::string::npos);

  const auto other = accepted(tenant, make_conversation(tenant).id);
  get(&journal::Journal::append, the_end(other));
  EXPECT_EQ(get(&Store::tidy_up, Timestamp{1}), 1);
  tell(path, "UPDATE sealed_journals SET batch_zstd = substr(batch_zstd, 1, 20)");
  EXPECT_EQ(refused(&journal::Journal::read, other.run.id, model::Position{0}, std::size_t{1000}), ErrorKind::corrupt);
}

TEST_F(SqliteFiles, A_full_disk_refuses_and_is_used_again_when_there_is_room) {
  open(60);
  const auto tenant = make_tenant();
  auto large = a_conversation(tenant);
  large.title = std::string(300'000, 't');
  EXPECT_EQ(refused(&journal::Journal::create_conversation, NewConversation{large, "", {}}), ErrorKind::overloaded);
  EXPECT_TRUE(store().broken()) << "who asks whether it is ready is told";
  make_conversation(tenant);
  EXPECT_FALSE(store().broken()) << "there was room for that one";
  open(1000);
  EXPECT_EQ(refused(&store::conversation, tenant, large.id), ErrorKind::not_found) << "nothing was written";
  get(&journal::Journal::create_conversation, NewConversation{large, "", {}});
}

TEST_F(SqliteFiles, One_that_cannot_be_written_does_not_spoil_its_group) {
  open();
  const auto tenant = make_tenant();
  const auto taken = make_conversation(tenant);
  std::vector<bool> written;
  for (const auto& made : {a_conversation(tenant), taken, a_conversation(tenant)}) {
    store().create_conversation({made, "", {}},
                                [&](const auto& result) { written.push_back(static_cast<bool>(result)); });
  }
  ASSERT_TRUE(loop().run_until([&] { return written.size() == 3; }));
  EXPECT_EQ(written, std::vector<bool>({true, false, true}));
  EXPECT_FALSE(store().broken());
}

TEST_F(SqliteFiles, A_queue_that_is_full_refuses_at_once) {
  open();
  sqlite3* other = nullptr;
  SLUICE_CHECK(sqlite3_open(path.c_str(), &other) == SQLITE_OK);
  SLUICE_CHECK(sqlite3_exec(other, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr) == SQLITE_OK);  // the writer waits
  int answered = 0;
  int overloaded = 0;
  constexpr int asked = 53'000;
  const auto nobody = make_id<model::RunId>();
  for (int i = 0; i < asked; ++i) {
    store().take_over(nobody, {1}, [&](const Result<model::Run>& result) {
      ++answered;
      if (result.error().kind == ErrorKind::overloaded) ++overloaded;
    });
  }
  sqlite3_close(other);
  ASSERT_TRUE(loop().run_until([&] { return answered == asked; }));
  EXPECT_GE(overloaded, 1'000) << "fifty thousand may wait, and two thousand be in the writer's hands";
  EXPECT_LE(overloaded, 3'000);
  make_tenant();
}

// A disk that errs in the middle of a commit: here, one that allows no file beyond a size.
TEST_F(SqliteFiles, After_a_commit_of_unknown_outcome_nothing_is_written_until_reopen) {
  open();
  const auto tenant = make_tenant();
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit usual{};
  SLUICE_CHECK(getrlimit(RLIMIT_FSIZE, &usual) == 0);
  const rlimit tight{fs::file_size(path + "-wal") + 8192, usual.rlim_max};
  SLUICE_CHECK(setrlimit(RLIMIT_FSIZE, &tight) == 0);
  auto large = a_conversation(tenant);
  large.title = std::string(300'000, 't');
  const auto kind = refused(&journal::Journal::create_conversation, NewConversation{large, "", {}});
  SLUICE_CHECK(setrlimit(RLIMIT_FSIZE, &usual) == 0);

  EXPECT_EQ(kind, ErrorKind::unavailable);
  EXPECT_TRUE(store().broken());
  EXPECT_EQ(refused(&journal::Journal::create_conversation, NewConversation{a_conversation(tenant), "", {}}),
            ErrorKind::unavailable)
      << "although the disk has recovered";
  EXPECT_EQ(get(&store::tenant, tenant).id, tenant) << "reading goes on";
  get(&journal::Journal::reopen);
  EXPECT_FALSE(store().broken());
  get(&journal::Journal::create_conversation, NewConversation{large, "", {}});
}

TEST_F(SqliteFiles, Readers_see_what_was_answered_while_others_write) {
  open(0, 3);
  const auto tenant = make_tenant();
  constexpr int count = 200;
  int read = 0;
  int ended = 0;
  for (int i = 0; i < count; ++i) {
    auto made = a_run(tenant, {});
    made.conversation = a_conversation(tenant);
    made.run.conversation_id = made.conversation->id;
    store().accept(made, [&](Result<AcceptOutcome> outcome) {
      auto begun = std::get<Accepted>(std::move(outcome).take());
      store::run(store().database(), tenant, begun.run.id,
                 [&](const Result<model::Run>& kept) { read += static_cast<bool>(kept) ? 1 : 0; });
      store().append(the_end(begun), [&](const auto& news) { ended += static_cast<bool>(news) ? 1 : 0; });
    });
    if (i % 50 == 0) store().reopen([](const auto&) {});
    if (i % 20 == 0) store().tidy_up({1}, [](const auto&) {});
  }
  ASSERT_TRUE(loop().run_until([&] { return read == count && ended == count; }));
  EXPECT_TRUE(get(&journal::Journal::unfinished_runs).runs.empty());
}

TEST_F(SqliteFiles, The_log_does_not_grow_without_bound) {
  open();
  const auto tenant = make_tenant();
  auto made = a_conversation(tenant);
  made.title = std::string(200'000, 't');
  std::uintmax_t largest = 0;
  for (int i = 0; i < 150; ++i) {  // 30 MB
    made.id = make_id<model::ConversationId>();
    get(&journal::Journal::create_conversation, NewConversation{made, "", {}});
    largest = std::max(largest, fs::file_size(path + "-wal"));
  }
  EXPECT_LT(largest, 20U << 20);
}

}  // namespace sqlite_store_test
}  // namespace sluice::store

// Instead of the system's, for all tests of this program: processes die here, the machine does not, and a busy disk
// makes hundreds of small databases wait. PostgreSQL has a setting for it.
extern "C" int fsync(int /*file*/) { return 0; }
extern "C" int fdatasync(int /*file*/) { return 0; }
