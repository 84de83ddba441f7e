// Runs on a PostgreSQL that loses sessions, crashes and refuses to write: nothing that was told is lost, and nothing is
// written twice (I-7, I-8, I-9).
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <map>

#include "store/postgres_store_fixture.h"

namespace sluice::store {
namespace pg_loss_test {

// Writes one event after the other to a run, and knows which of them it was told are written.
struct Diary {
  model::Run run;
  uint64_t told = 0;  // events that are known to be written
  uint64_t wanted = 0;
  bool waits = false;
};

class PgLoss : public PostgresStores {
 public:
  void begin(int count) {
    const auto tenant = make_tenant();
    for (int i = 0; i < count; ++i)
      diaries.push_back({accepted(tenant, make_conversation(tenant).id).run, 1, 1, false});
  }
  Append next_of(const Diary& diary) {
    Append append{.run = diary.run.id, .epoch = diary.run.epoch, .head = {diary.told}};
    append.events = {{model::EventKind::text, {7000}, std::to_string(diary.told + 1)}};
    return append;
  }
  void write_next(Diary& diary) {
    diary.waits = true;
    store().append(next_of(diary), [this, &diary](Result<CommittedBatch> written) {
      diary.waits = false;
      if (written) {
        ++diary.told;
        return;
      }
      ++failures[written.error().kind];
      is_unsure = is_unsure || written.error().kind == ErrorKind::unavailable;
    });
  }
  // Every diary gets `count` more events, whatever it takes; `between(round)` is what happens meanwhile.
  template <typename Between>
  void write_all(uint64_t count, Between between) {
    for (auto& diary : diaries) diary.wanted = diary.told + count;
    const auto is_done = [](const Diary& diary) { return diary.told >= diary.wanted; };
    for (int round = 0; !std::ranges::all_of(diaries, is_done); ++round) {
      ASSERT_LT(round, 20'000);
      for (auto& diary : diaries) {
        if (!is_done(diary)) write_next(diary);
      }
      between(round);
      ASSERT_TRUE(loop_.run_until([&] { return std::ranges::none_of(diaries, &Diary::waits); }));
      if (std::exchange(is_unsure, false)) recover();
    }
  }
  // As a server does after `unavailable`: takes its runs over, and has the journal say how far they are.
  void recover() {
    while (!ask(&journal::Journal::reopen)) {
    }
    for (auto& diary : diaries) {
      for (;;) {
        const auto page = ask(&journal::Journal::read, diary.run.id, model::Position{0}, std::size_t{1} << 20);
        if (!page) continue;
        const auto taken = ask(&journal::Journal::take_over, diary.run.id, page.value().run.epoch);
        if (!taken) continue;
        EXPECT_GE(taken.value().head.value, diary.told) << "what was told is lost";
        EXPECT_LE(taken.value().head.value, diary.told + 1) << "something is written twice";
        diary.run = taken.value();
        diary.told = taken.value().head.value;
        break;
      }
    }
  }
  void expect_whole() {
    for (const auto& diary : diaries) {
      const auto page = get(&journal::Journal::read, diary.run.id, model::Position{1}, std::size_t{1} << 24);
      ASSERT_EQ(page.events.size(), diary.told - 1);
      EXPECT_EQ(page.run.head.value, diary.told);
      for (std::size_t i = 0; i < page.events.size(); ++i) {
        ASSERT_EQ(page.events[i].event().body, std::to_string(i + 2));
        ASSERT_EQ(page.events[i].position().value, i + 2);
      }
    }
  }

  std::vector<Diary> diaries;
  std::map<ErrorKind, int> failures;
  bool is_unsure = false;  // the store did not say whether it wrote
};

TEST_F(PgLoss, Sessions_that_are_cut_in_the_middle_of_groups_cost_nothing_that_was_told) {
  begin(20);
  auto admin = std::move(PgSession::connect({.url = database.server().url()})).take();
  const std::string cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '" + database.name() +
                          "' AND query LIKE '%heads%'";
  write_all(60, [&](int round) {
    if (round % 5 == 3) admin->execute(cut);
  });
  EXPECT_FALSE(admin->failure());
  expect_whole();
}

TEST_F(PgLoss, A_server_that_crashes_again_and_again_costs_nothing_that_was_told) {
  begin(10);
  auto& server = database.server();
  write_all(30, [&](int round) {
    if (round % 12 != 5) return;
    server.stop(SIGQUIT);
    server.start();
  });
  expect_whole();
  EXPECT_FALSE(store().broken());
}

TEST_F(PgLoss, While_the_database_is_read_only_runs_are_put_off_and_can_be_read) {
  begin(3);
  database.run("ALTER DATABASE " + database.name() + " SET default_transaction_read_only = on");
  cut();
  EXPECT_EQ(refused(&journal::Journal::append, next_of(diaries[0])), ErrorKind::overloaded);
  EXPECT_TRUE(store().broken()) << "who asks whether it is ready is told";
  EXPECT_EQ(get(&journal::Journal::read, diaries[0].run.id, model::Position{0}, std::size_t{1024}).events.size(), 1U);
  auto admin = holding("SET default_transaction_read_only = off");
  admin->run(("ALTER DATABASE " + database.name() + " RESET default_transaction_read_only").c_str());
  admin.reset();
  cut();
  write_all(5, [](int) {});
  EXPECT_FALSE(store().broken());
  expect_whole();
}

TEST_F(PgLoss, Of_two_writers_with_the_same_epoch_exactly_one_writes_each_position) {
  begin(1);
  auto& diary = diaries[0];
  for (int round = 0; round < 30; ++round) {
    int written = 0;
    int fenced = 0;
    const auto note = [&](Result<CommittedBatch> result) {
      if (!result) EXPECT_EQ(result.error().kind, ErrorKind::conflict) << result.error().what;
      ++(result ? written : fenced);
    };
    store().append(next_of(diary), note);
    other->append(next_of(diary), note);
    ASSERT_TRUE(loop_.run_until([&] { return written + fenced == 2; }));
    ASSERT_EQ(written, 1);
    ++diary.told;
  }
  expect_whole();
}

TEST_F(PgLoss, What_is_refused_takes_nothing_else_of_its_group_down) {
  begin(6);
  const auto tenant = diaries[0].run.tenant_id;
  auto stale = next_of(diaries[0]);
  stale.head = {7};
  auto unknown = next_of(diaries[1]);
  unknown.run = make_id<model::RunId>();
  auto twice = a_run(tenant, make_conversation(tenant).id);
  twice.user_message.id = diaries[2].run.user_message_id;  // is there already
  auto unkept = a_run(tenant, make_conversation(tenant).id);
  unkept.idempotency = Idempotency{make_id<model::ServiceKeyId>(), "createMessage", std::string("a\0b", 3), "digest"};
  const auto busy = a_run(tenant, diaries[3].run.conversation_id);
  const auto good = a_run(tenant, make_conversation(tenant).id);

  // Held up, so that all of them are one group.
  auto holder = holding(
      ("BEGIN; SELECT pg_advisory_xact_lock(" + std::to_string(static_cast<int64_t>(PgLock::records)) + ")").c_str());
  write_next(diaries[5]);
  wait_for("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'advisory'");
  std::vector<std::optional<Result<AcceptOutcome>>> outcomes(4);
  std::vector<ErrorKind> refusals;
  const auto refuse = [&](Result<CommittedBatch> result) { refusals.push_back(result.error().kind); };
  store().append(stale, refuse);
  store().append(unknown, refuse);
  std::size_t at = 0;
  for (const auto& made : {twice, unkept, busy, good}) {
    store().accept(made,
                   [&outcome = outcomes[at]](Result<AcceptOutcome> result) { outcome.emplace(std::move(result)); });
    ++at;
  }
  for (const int i : {1, 2, 3, 4}) write_next(diaries[static_cast<std::size_t>(i)]);
  holder.reset();
  ASSERT_TRUE(loop_.run_until([&] { return std::ranges::none_of(diaries, &Diary::waits); }));
  EXPECT_EQ(refusals, (std::vector{ErrorKind::conflict, ErrorKind::not_found}));
  EXPECT_EQ(outcomes[0]->error().kind, ErrorKind::conflict);
  EXPECT_EQ(outcomes[1]->error().kind, ErrorKind::invalid);
  EXPECT_TRUE(std::holds_alternative<Busy>(outcomes[2]->value()));
  EXPECT_TRUE(std::holds_alternative<Accepted>(outcomes[3]->value()));
  EXPECT_EQ(failures.size(), 0U);
  expect_whole();
}

// The connections of this program's to a database, by this end's descriptor.
std::vector<int> open_connections() {
  std::vector<int> found;
  for (int fd = 0; fd < 1024; ++fd) {
    sockaddr_un peer{};
    socklen_t size = sizeof(peer);
    if (::getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &size) != 0 || peer.sun_family != AF_UNIX) continue;
    if (std::string_view(peer.sun_path).find(".s.PGSQL") != std::string_view::npos) found.push_back(fd);
  }
  return found;
}

// What a firewall or a proxy does that dies: this end is gone, and the process of the database does not know.
TEST_F(PgLoss, After_reopening_nothing_becomes_visible_that_was_in_doubt_before) {
  const auto tenant = make_tenant();
  const auto made = a_run(tenant, make_conversation(tenant).id);
  const auto connections = open_connections();
  auto holder = holding("BEGIN; LOCK TABLE messages IN SHARE MODE");
  std::optional<Result<AcceptOutcome>> outcome;
  store().accept(made, [&](Result<AcceptOutcome> result) { outcome.emplace(std::move(result)); });
  wait_for("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = '" + database.name() +
           "'");
  for (const int fd : connections) ::shutdown(fd, SHUT_RDWR);
  ASSERT_TRUE(loop_.run_until([&] { return outcome.has_value(); }));
  ASSERT_FALSE(*outcome);
  EXPECT_EQ(outcome->error().kind, ErrorKind::unavailable);
  while (!ask(&journal::Journal::reopen)) {
  }
  auto listed = ask(&journal::Journal::unfinished_runs);
  while (!listed) listed = ask(&journal::Journal::unfinished_runs);
  holder.reset();
  // Nothing of its own waits for a lock any more, or is about to write what it waited for.
  wait_for("SELECT 1 - count(*) FROM pg_stat_activity WHERE datname = '" + database.name() +
           "' AND (wait_event_type = 'Lock' OR query LIKE 'INSERT INTO messages%')");
  EXPECT_EQ(get(&journal::Journal::unfinished_runs).runs.size(), listed.value().runs.size());
}

// One that froze between the first and the last statement of a transaction has the locks of records and of the audit
// chain.
TEST_F(PgLoss, What_a_dead_node_locked_is_let_go_when_its_sessions_are_ended) {
  begin(1);
  const auto tenant = diaries[0].run.tenant_id;
  const auto frozen = other->nodes().self();
  auto session = PgSession::connect({.url = database.url(), .node = frozen.text()}).take();
  for (const auto lock : {PgLock::records, PgLock::chain}) {
    session->run(("BEGIN; SELECT pg_advisory_xact_lock(" + std::to_string(static_cast<int64_t>(lock)) + ")").c_str());
  }
  ASSERT_FALSE(session->failure());
  std::optional<Result<Unit>> made;
  store::create_service_key(store().database(), a_key(tenant),
                            [&](Result<Unit> result) { made.emplace(std::move(result)); });
  write_next(diaries[0]);
  wait_for("SELECT count(*) - 1 FROM pg_stat_activity WHERE wait_event = 'advisory'");
  // A server whose writes wait is not ready.
  while (!store().broken()) {
    get(&store::tenant, tenant);
    ASSERT_FALSE(made);
  }
  store().nodes().end_sessions(frozen);
  ASSERT_TRUE(loop_.run_until([&] { return made && !diaries[0].waits; }));
  EXPECT_TRUE(*made) << made->error().what;
  EXPECT_EQ(diaries[0].told, diaries[0].wanted + 1);
  EXPECT_FALSE(store().broken());
  EXPECT_FALSE(session->is_alive());
  EXPECT_EQ(there([&] { return get(&store::tenant, tenant); }).id, tenant) << "it makes new sessions";
}

TEST_F(PgLoss, Whoever_could_not_listen_for_a_while_is_told_that_news_may_be_missing) {
  struct Unsure final : NodeNews {
    void on_moved(model::RunId /*run*/) override {}
    void on_mail() override {}
    void on_held() override {}
    void on_unsure() override { ++count; }
    int count = 0;
  } news;
  store().nodes().tell(&news);
  wait_for("SELECT count(*) - 1 FROM pg_stat_activity WHERE query LIKE '%LISTEN sluice%' AND state = 'idle'");
  const std::string all =
      "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE query LIKE '%LISTEN sluice%' AND datname = "
      "'" +
      database.name() + "' AND pid <> pg_backend_pid()";
  wait_for(all);
  EXPECT_TRUE(loop_.run_until([&] { return news.count > 0; }));
  store().nodes().tell(nullptr);
}

}  // namespace pg_loss_test
}  // namespace sluice::store
