// What only a store in PostgreSQL can promise: several servers on one database, and lost connections.
#include "store/postgres_store_fixture.h"

namespace sluice::store {
namespace postgres_store_test {

TEST_F(PostgresStores, What_one_server_was_answered_the_other_sees) {
  const auto tenant = make_tenant();
  EXPECT_EQ(there([&] { return get(&store::tenant, tenant); }).id, tenant);
  const auto begun = accepted(tenant, make_conversation(tenant).id);
  const auto seen = there([&] { return get(&store::run, tenant, begun.run.id); });
  EXPECT_EQ(seen.node, store().nodes().self());
  EXPECT_EQ(there([&] {
              return get(&journal::Journal::read, begun.run.id, model::Position{0}, std::size_t{1000});
            }).events.size(),
            1U);
}

// I-8: of two who think that a run is theirs, the database lets one write.
TEST_F(PostgresStores, A_server_whose_run_was_taken_over_is_fenced_out) {
  const auto tenant = make_tenant();
  const auto begun = accepted(tenant, make_conversation(tenant).id);
  const auto taken = there([&] { return get(&journal::Journal::take_over, begun.run.id, begun.run.epoch); });
  EXPECT_EQ(taken.node, other->nodes().self());
  EXPECT_EQ(refused(&journal::Journal::append, the_end(begun)), ErrorKind::conflict);
  auto theirs = begun;
  theirs.run = taken;
  EXPECT_EQ(there([&] { return get(&journal::Journal::append, the_end(theirs)); }).size(), 2U);
  EXPECT_EQ(get(&store::run, tenant, begun.run.id).state, model::RunState::completed);
}

TEST_F(PostgresStores, An_idempotency_key_lives_for_a_day_of_the_database_whatever_the_clock_of_a_server_says) {
  const auto tenant = make_tenant();
  const auto conversation = make_conversation(tenant).id;
  const Idempotency key{make_id<model::ServiceKeyId>(), "messages", "k", std::string(32, 'r')};
  const auto asked = [&](Timestamp at) {
    auto made = a_run(tenant, conversation, at);
    made.idempotency = key;
    return made;
  };
  const auto begun = accepted(asked({6000}));
  get(&journal::Journal::append, the_end(begun));
  const Timestamp days_ahead{6000 + 3 * limits::idempotency_ms};
  const auto is_replay = [&](Timestamp at) {
    return std::holds_alternative<Replay>(there([&] { return get(&journal::Journal::accept, asked(at)); }));
  };
  EXPECT_TRUE(is_replay(days_ahead));
  there([&] { return get(&Store::tidy_up, days_ahead); });
  EXPECT_TRUE(is_replay({6000})) << "a server that is ahead does not drop it either";

  database.run("UPDATE idempotency_keys SET created_at = created_at - " + std::to_string(limits::idempotency_ms));
  EXPECT_FALSE(is_replay({6000})) << "the day is over, though not by that server's clock";
  EXPECT_TRUE(is_replay({6000})) << "of the message that it has been made for now";
  database.run("UPDATE idempotency_keys SET created_at = created_at - " + std::to_string(limits::idempotency_ms));
  get(&Store::tidy_up, Timestamp{0});
  auto session = std::move(PgSession::connect({.url = database.url()})).take();
  EXPECT_EQ(session->execute("SELECT count(*) FROM idempotency_keys").number(0, 0), 0);
}

TEST_F(PostgresStores, The_audit_chain_has_no_gap_however_many_servers_write_it) {
  const auto tenant = make_tenant();
  constexpr int count = 40;
  int done = 0;
  for (int i = 0; i < count; ++i) {
    auto& writer = i % 2 == 0 ? store() : *other;
    store::append_audit(writer.database(), {{.tenant_id = tenant, .action = "tested", .detail = "{}"}},
                        [&](const Result<Unit>& kept) {
                          EXPECT_TRUE(static_cast<bool>(kept));
                          ++done;
                        });
  }
  ASSERT_TRUE(loop().run_until([&] { return done == count; }));
  const auto chain = get(&store::audit, std::nullopt, int64_t{0}, 100);
  ASSERT_EQ(chain.size(), static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < chain.size(); ++i) {
    EXPECT_EQ(chain[i].number, static_cast<int64_t>(i) + 1);
    if (i > 0) EXPECT_EQ(chain[i].previous_sha256, chain[i - 1].sha256);
  }
}

TEST_F(PostgresStores, Gates_that_several_servers_write_at_the_same_moment_all_join_the_audit_chain) {
  constexpr std::size_t servers = 5;
  constexpr int each = 6;
  std::vector<std::unique_ptr<Store>> stores;
  for (std::size_t i = 0; i < servers; ++i) stores.push_back(opened());
  const auto tenant = make_tenant();
  std::vector<model::Run> runs;
  for (auto& writer : stores) {
    std::swap(store_, writer);
    for (int i = 0; i < each; ++i) runs.push_back(accepted(tenant, make_conversation(tenant).id).run);
    std::swap(store_, writer);
  }
  // The chain can be read and not added to, so that every server has read the same end before one of them writes.
  auto holder = holding("BEGIN; LOCK TABLE audit IN SHARE MODE");
  std::size_t answered = 0;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    Append append{.run = runs[i].id, .epoch = runs[i].epoch, .head = runs[i].head};
    append.events = {{model::EventKind::text, {7000}, "may I?"}};
    append.audit = {{.tenant_id = tenant, .action = "approval.required", .detail = "{}"}};
    stores[i / each]->append(std::move(append), [&](const Result<CommittedBatch>& written) {
      EXPECT_TRUE(static_cast<bool>(written)) << written.error().what;
      ++answered;
    });
  }
  wait_for("SELECT count(*) - " + std::to_string(servers - 1) +
           " FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = '" + database.name() + "'");
  holder.reset();
  ASSERT_TRUE(loop().run_until([&] { return answered == runs.size(); }));
  const auto chain = get(&store::audit, std::nullopt, int64_t{0}, 100);
  ASSERT_EQ(chain.size(), runs.size());
  for (std::size_t i = 0; i < chain.size(); ++i) {
    EXPECT_EQ(chain[i].number, static_cast<int64_t>(i) + 1);
    if (i > 0) EXPECT_EQ(chain[i].previous_sha256, chain[i - 1].sha256);
  }
}

// How long the other store's node is silent, as this one sees it.
int64_t silence_of_other(PostgresStores& stores) {
  for (const auto& node : stores.get(&Nodes::beat, NodeFigures{}, int64_t{60'000})) {
    if (node.id == stores.other->nodes().self()) return node.silent_ms;
  }
  return -1;
}

TEST_F(PostgresStores, A_database_whose_clock_jumps_ahead_makes_no_node_look_silent) {
  there([&] { return get(&Nodes::beat, NodeFigures{}, int64_t{60'000}); });
  // As if the clock had been put ahead by an hour right after the beat.
  database.run("UPDATE nodes SET beat_at = beat_at - 3600000000");
  const auto silent_ms = silence_of_other(*this);
  EXPECT_GE(silent_ms, 0) << "nor is it forgotten";
  EXPECT_LT(silent_ms, 1'800'000);
}

TEST_F(PostgresStores, A_node_that_is_silent_is_heard_to_be_so_though_the_databases_clock_was_put_back) {
  there([&] { return get(&Nodes::beat, NodeFigures{}, int64_t{60'000}); });
  database.run("UPDATE nodes SET beat_at = beat_at + 3600000000");
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (silence_of_other(*this) < 20 && std::chrono::steady_clock::now() < deadline) {
  }
  EXPECT_GE(silence_of_other(*this), 20);
}

TEST_F(PostgresStores, Of_two_servers_that_make_the_same_name_one_is_told_that_it_is_taken) {
  const auto tenant = make_tenant();
  std::vector<bool> made;
  for (auto* writer : {&store(), other.get()}) {
    store::create_agent(writer->database(), an_agent(tenant, "twin"), [&](const Result<Unit>& kept) {
      made.push_back(static_cast<bool>(kept));
      if (!kept) EXPECT_EQ(kept.error().kind, ErrorKind::conflict) << kept.error().what;
    });
  }
  ASSERT_TRUE(loop().run_until([&] { return made.size() == 2; }));
  EXPECT_NE(made[0], made[1]);
}

TEST_F(PostgresStores, One_that_cannot_be_written_does_not_spoil_its_group) {
  const auto tenant = make_tenant();
  auto unfit = an_agent(tenant, "unfit");
  unfit.system_prompt = std::string("a\0b", 3);
  std::vector<bool> written;
  for (const auto& agent : {an_agent(tenant, "one"), unfit, an_agent(tenant, "two")}) {
    store::create_agent(store().database(), agent,
                        [&](const auto& kept) { written.push_back(static_cast<bool>(kept)); });
  }
  ASSERT_TRUE(loop().run_until([&] { return written.size() == 3; }));
  EXPECT_EQ(written, std::vector<bool>({true, false, true}));
  EXPECT_EQ(refused(&store::create_agent, unfit), ErrorKind::invalid);
  EXPECT_FALSE(store().broken());
}

TEST_F(PostgresStores, One_that_cannot_be_read_does_not_spoil_those_that_are_read_with_it) {
  const auto tenant = make_tenant();
  database.run("ALTER TABLE secrets RENAME TO elsewhere");
  auto held_up = holding("BEGIN; LOCK TABLE tenants IN ACCESS EXCLUSIVE MODE");
  std::vector<bool> read;
  const auto note = [&](const auto& found) { read.push_back(static_cast<bool>(found)); };
  store::tenant(store().database(), tenant, note);  // while it waits, the others come together
  wait_for("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'");
  for (int i = 0; i < 2; ++i) {
    store::tenant(store().database(), tenant, note);
    store::secrets_in_reach(store().database(), {.tenant = tenant}, note);
  }
  store::tenant(store().database(), tenant, note);
  held_up.reset();
  ASSERT_TRUE(loop().run_until([&] { return read.size() == 6; }));
  EXPECT_EQ(read, std::vector<bool>({true, true, false, true, false, true}));
}

// ── lost connections ──

TEST_F(PostgresStores, Connections_that_died_while_nobody_used_them_are_made_anew) {
  const auto tenant = make_tenant();
  cut();
  get(&store::create_service_key, a_key(tenant));
  EXPECT_EQ(get(&store::tenant, tenant).id, tenant);
  const auto conversation = make_conversation(tenant).id;
  cut();
  const auto begun = accepted(tenant, conversation);
  cut();
  get(&journal::Journal::append, the_end(begun));
  EXPECT_FALSE(store().broken());
}

TEST_F(PostgresStores, A_write_whose_connection_is_lost_before_its_commit_is_done_once_all_the_same) {
  const auto tenant = make_tenant();
  auto holder = holding("BEGIN; LOCK TABLE service_keys IN EXCLUSIVE MODE");
  std::optional<Result<Unit>> kept;
  store::create_service_key(store().database(), a_key(tenant),
                            [&](Result<Unit> result) { kept.emplace(std::move(result)); });
  cut("wait_event_type = 'Lock'");
  holder.reset();
  ASSERT_TRUE(loop().run_until([&] { return kept.has_value(); }));
  EXPECT_TRUE(static_cast<bool>(*kept)) << kept->error().what;
  EXPECT_EQ(get(&store::service_keys, tenant, PageQuery<model::ServiceKeyId>{}).rows.size(), 1U);
}

class LostCommit : public PostgresStores {
 public:
  // Tells a write that is cut off when it fits `where`; nobody may write then until reopen().
  void lose_commit(model::TenantId tenant, const model::ServiceKey& key, const std::string& where,
                   std::unique_ptr<PgSession> holder = nullptr) {
    std::optional<Result<Unit>> kept;
    store::create_service_key(store().database(), key, [&](Result<Unit> result) { kept.emplace(std::move(result)); });
    cut(where);
    holder.reset();
    ASSERT_TRUE(loop().run_until([&] { return kept.has_value(); }));
    ASSERT_FALSE(*kept);
    EXPECT_EQ(kept->error().kind, ErrorKind::unavailable) << kept->error().what;
    EXPECT_TRUE(store().broken());
    EXPECT_EQ(refused(&store::create_service_key, a_key(tenant)), ErrorKind::unavailable) << "it is told until reopen";
    EXPECT_EQ(get(&store::tenant, tenant).id, tenant) << "reading goes on";
  }
  // The server heeds its settings when it comes to it: commits are tried until one hangs, and that one is let go.
  void wait_until_commits_hang() {
    std::thread tries([probe = std::move(PgSession::connect({.url = database.server().url()})).take()] {
      while (!probe->failure()) probe->run("CREATE TABLE probe (); DROP TABLE probe");
    });
    wait_for(
        "SELECT count(pg_terminate_backend(pid, 10000)) FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND "
        "query LIKE '%probe%' AND pid <> pg_backend_pid()");
    tries.join();
  }
  std::size_t key_count(model::TenantId tenant) {
    return get(&store::service_keys, tenant, PageQuery<model::ServiceKeyId>{}).rows.size();
  }
};

TEST_F(LostCommit, When_it_had_not_been_done_it_is_not_there_after_reopen) {
  const auto tenant = make_tenant();
  // What is checked only when all is committed, and waits there.
  database.run(
      "CREATE FUNCTION wait_here() RETURNS trigger LANGUAGE plpgsql AS "
      "'BEGIN PERFORM pg_advisory_xact_lock(42); RETURN NULL; END'; "
      "CREATE CONSTRAINT TRIGGER at_the_end AFTER INSERT ON service_keys DEFERRABLE INITIALLY DEFERRED "
      "FOR EACH ROW EXECUTE FUNCTION wait_here()");
  lose_commit(tenant, a_key(tenant), "wait_event_type = 'Lock' AND query = 'COMMIT'",
              holding("SELECT pg_advisory_lock(42)"));
  get(&journal::Journal::reopen);
  EXPECT_FALSE(store().broken());
  EXPECT_EQ(key_count(tenant), 0U);
  get(&store::create_service_key, a_key(tenant));
  EXPECT_EQ(key_count(tenant), 1U);
}

TEST_F(LostCommit, When_it_had_been_done_it_is_there_after_reopen) {
  const auto tenant = make_tenant();
  // A commit is on disk before it waits for a standby, and this one never comes.
  database.server().run("ALTER SYSTEM SET synchronous_standby_names = 'nobody'");
  database.server().run("SELECT pg_reload_conf()");
  wait_until_commits_hang();
  const auto key = a_key(tenant);
  lose_commit(tenant, key, "wait_event = 'SyncRep'");
  database.server().run("ALTER SYSTEM RESET synchronous_standby_names");
  database.server().run("SELECT pg_reload_conf()");
  get(&journal::Journal::reopen);
  EXPECT_EQ(key_count(tenant), 1U);
  EXPECT_EQ(refused(&store::create_service_key, key), ErrorKind::conflict);
}

TEST_F(PostgresStores, While_the_database_is_read_only_writes_are_put_off_and_reads_go_on) {
  const auto tenant = make_tenant();
  const auto conversation = make_conversation(tenant).id;
  database.server().run("ALTER DATABASE " + database.name() + " SET default_transaction_read_only = on");
  cut();
  EXPECT_EQ(refused(&store::create_service_key, a_key(tenant)), ErrorKind::overloaded);
  EXPECT_EQ(refused(&journal::Journal::accept, a_run(tenant, conversation)), ErrorKind::overloaded);
  EXPECT_EQ(get(&store::tenant, tenant).id, tenant);
  EXPECT_TRUE(store().broken()) << "who asks whether it is ready is told";
  database.server().run("ALTER DATABASE " + database.name() + " RESET default_transaction_read_only");
  cut();
  get(&store::create_service_key, a_key(tenant));
  accepted(tenant, conversation);
  EXPECT_FALSE(store().broken());
}

TEST_F(PostgresStores, A_database_that_is_away_is_told_and_used_again_when_it_is_back) {
  const auto tenant = make_tenant();
  database.server().run("ALTER DATABASE " + database.name() + " ALLOW_CONNECTIONS false");
  cut();
  EXPECT_EQ(refused(&store::create_service_key, a_key(tenant)), ErrorKind::overloaded);
  EXPECT_EQ(refused(&store::tenant, tenant), ErrorKind::overloaded);
  database.server().run("ALTER DATABASE " + database.name() + " ALLOW_CONNECTIONS true");
  get(&store::create_service_key, a_key(tenant));
  EXPECT_EQ(get(&store::tenant, tenant).id, tenant);
}

TEST_F(PostgresStores, Passwords_are_in_no_error) {
  const auto failed =
      open_postgres({.url = "postgresql://sluice:hush-hush@/nowhere?host=/nonexistent"}, loop_, metrics);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().what.find("hush-hush"), std::string::npos) << failed.error().what;
  EXPECT_NE(failed.error().what.find("PostgreSQL"), std::string::npos);
}

}  // namespace postgres_store_test
}  // namespace sluice::store
