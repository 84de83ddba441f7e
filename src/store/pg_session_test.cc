#include "store/pg_session.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <limits>

#include "store/postgres_fixture.h"

namespace sluice::store {
namespace pg_session_test {

class PgSessionTest : public testing::Test {
 public:
  std::unique_ptr<PgSession> connect(int answer_ms_max = 30'000) {
    auto session = PgSession::connect({.url = database_.url(), .setup = "", .answer_ms_max = answer_ms_max});
    if (!session) check_failed(session.error().what.c_str(), __FILE__, __LINE__);
    return std::move(session).take();
  }
  // A statement that must fail, and how.
  PgFailure failure_of(PgSession& session, std::string_view sql) {
    session.execute(sql);
    auto failure = session.take_failure();
    if (!failure) check_failed("the statement fails", __FILE__, __LINE__);
    return *std::move(failure);
  }

 protected:
  PostgresDatabase database_;
};

TEST_F(PgSessionTest, Values_of_every_kind_come_back_as_they_were_sent) {
  auto session = connect();
  const std::string binary("\0\xff'\\x", 5);
  PgArray numbers(PgType::number);
  for (const int64_t value : {int64_t{1}, int64_t{-2}, std::numeric_limits<int64_t>::min()}) numbers.add(value);
  PgArray texts(PgType::text);
  texts.add("a");
  texts.add_null();
  texts.add("✓,{}\"");
  PgArray blobs(PgType::bytes);
  blobs.add(std::string_view(binary));
  blobs.add("");
  blobs.add_null();
  PgValues values;
  values.number(-7).text("it's ✓").bytes(binary).null(PgType::text).array(numbers).array(texts).array(blobs);
  const auto rows = session->execute(
      "SELECT $1, $2, $3, $4, n, t, b FROM unnest($5, $6, $7) WITH ORDINALITY AS u (n, t, b, at) ORDER BY at", values);
  ASSERT_FALSE(session->failure()) << session->failure()->what;
  ASSERT_EQ(rows.count(), 3);
  EXPECT_EQ(rows.number(0, 0), -7);
  EXPECT_EQ(rows.bytes(0, 1), "it's ✓");
  EXPECT_EQ(rows.bytes(0, 2), binary);
  EXPECT_TRUE(rows.is_null(0, 3));
  EXPECT_EQ(rows.number(1, 4), -2);
  EXPECT_EQ(rows.number(2, 4), std::numeric_limits<int64_t>::min());
  EXPECT_TRUE(rows.is_null(1, 5));
  EXPECT_EQ(rows.bytes(2, 5), "✓,{}\"");
  EXPECT_EQ(rows.bytes(0, 6), binary);
  EXPECT_FALSE(rows.is_null(1, 6));
  EXPECT_TRUE(rows.is_null(2, 6));
}

TEST_F(PgSessionTest, An_empty_array_is_an_array_without_rows) {
  auto session = connect();
  PgValues values;
  values.array(PgArray(PgType::text));
  EXPECT_EQ(session->execute("SELECT unnest($1)", values).count(), 0);
  EXPECT_FALSE(session->failure());
}

TEST_F(PgSessionTest, Statements_sent_together_are_answered_in_order_and_one_mishap_undoes_them_all) {
  auto session = connect();
  session->run("CREATE TABLE t (n bigint PRIMARY KEY); INSERT INTO t VALUES (1)");
  session->send("BEGIN");
  session->send("INSERT INTO t VALUES ($1)", PgValues().number(2));
  session->send("SELECT count(*) FROM t");
  session->send("COMMIT");
  auto given = session->finish();
  ASSERT_EQ(given.size(), 4U);
  EXPECT_EQ(given[1].changed(), 1);
  EXPECT_EQ(given[2].number(0, 0), 2);

  session->send("BEGIN");
  session->send("INSERT INTO t VALUES ($1)", PgValues().number(3));
  session->send("INSERT INTO t VALUES ($1)", PgValues().number(1));
  session->send("SELECT 'a statement that is prepared behind the mishap'");
  session->send("COMMIT");
  EXPECT_TRUE(session->finish().empty());
  const auto failure = session->take_failure();
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->sqlstate, "23505");
  EXPECT_EQ(failure->remedy(), PgRemedy::conflict);
  EXPECT_EQ(failure->refused, 2U);
  session->run("ROLLBACK");
  EXPECT_EQ(session->execute("SELECT count(*) FROM t").number(0, 0), 2);
  EXPECT_EQ(session->execute("SELECT 'a statement that is prepared behind the mishap'").count(), 1);
  EXPECT_FALSE(session->failure());
}

TEST_F(PgSessionTest, Much_goes_both_ways_at_once_without_either_side_waiting_for_the_other) {
  auto session = connect();
  const std::string much(1'000'000, 'x');
  for (int i = 0; i < 20; ++i) session->send("SELECT $1", PgValues().text(much));
  const auto given = session->finish();
  ASSERT_EQ(given.size(), 20U);
  EXPECT_EQ(given[19].bytes(0, 0), much);
}

TEST_F(PgSessionTest, What_may_be_done_is_told_by_the_kind_of_failure) {
  auto session = connect();
  const auto remedy = [&](const std::string& state) {
    return failure_of(*session, "DO $$ BEGIN RAISE EXCEPTION 'no' USING ERRCODE = '" + state + "'; END $$").remedy();
  };
  EXPECT_EQ(remedy("40001"), PgRemedy::again);
  EXPECT_EQ(remedy("40P01"), PgRemedy::again);
  EXPECT_EQ(remedy("23505"), PgRemedy::conflict);
  EXPECT_EQ(remedy("53100"), PgRemedy::later);
  EXPECT_EQ(remedy("53300"), PgRemedy::later);
  EXPECT_EQ(remedy("57P03"), PgRemedy::later);
  EXPECT_EQ(remedy("25006"), PgRemedy::later);
  EXPECT_EQ(remedy("57P01"), PgRemedy::reconnect);
  EXPECT_EQ(remedy("XX001"), PgRemedy::human);
  session->execute("SELECT $1", PgValues().text(std::string_view("a\0b", 3)));
  ASSERT_TRUE(session->failure());
  EXPECT_EQ(error_of(*session->take_failure()).kind, ErrorKind::invalid);
}

TEST_F(PgSessionTest, A_session_that_was_ended_while_nobody_asked_is_seen_to_be_gone) {
  auto session = connect();
  EXPECT_TRUE(session->is_alive());
  auto other = connect();
  const auto ended = "SELECT pg_terminate_backend(" + std::to_string(session->process()) + ", 10000)";
  other->run(ended.c_str());
  EXPECT_FALSE(session->is_alive());
}

TEST_F(PgSessionTest, A_session_that_breaks_while_it_is_asked_says_so_and_does_nothing_more) {
  auto session = connect();
  const auto failure = failure_of(*session, "SELECT pg_terminate_backend(pg_backend_pid())");
  EXPECT_EQ(failure.remedy(), PgRemedy::reconnect);
  EXPECT_FALSE(failure.what.empty());
  EXPECT_FALSE(session->is_alive());
}

TEST_F(PgSessionTest, Whoever_does_not_answer_in_time_is_lost) {
  auto session = connect(100);
  const auto failure = failure_of(*session, "SELECT pg_sleep(3600)");
  EXPECT_EQ(failure.remedy(), PgRemedy::reconnect);
  EXPECT_FALSE(failure.refused);
  session->execute("SELECT 1");
  EXPECT_TRUE(session->failure());
}

// A server that froze must not keep what it locked, and one that thaws must know that nothing of it was done.
TEST_F(PgSessionTest, A_transaction_that_waits_too_long_for_its_next_statement_is_undone_for_certain) {
  auto session = PgSession::connect({.url = database_.url(), .node = "nod_1", .idle_ms_max = 50}).take();
  session->run("BEGIN; CREATE TABLE undone (n bigint)");
  while (session->is_alive()) {
  }
  EXPECT_EQ(connect()->execute("SELECT 1 FROM pg_class WHERE relname = 'undone'").count(), 0);
  auto other = PgSession::connect({.url = database_.url(), .idle_ms_max = 50}).take();
  other->run("BEGIN");
  pollfd watched{other->fd(), POLLIN, 0};
  ASSERT_EQ(::poll(&watched, 1, 10'000), 1);
  const auto failure = failure_of(*other, "COMMIT");
  EXPECT_EQ(failure.sqlstate, idle_too_long);
  EXPECT_EQ(failure.remedy(), PgRemedy::reconnect);
}

TEST_F(PgSessionTest, A_session_bears_the_name_of_its_node_and_any_that_the_operator_gave_it) {
  const auto name_of = [](const std::string& url) {
    auto session = PgSession::connect({.url = url, .node = "nod_1"}).take();
    return std::string(session->execute("SELECT current_setting('application_name')").bytes(0, 0));
  };
  EXPECT_EQ(name_of(database_.url()), "sluice nod_1");
  EXPECT_EQ(name_of(database_.url() + "&application_name=" + std::string(60, 'a')), std::string(32, 'a') + " nod_1");
}

TEST_F(PgSessionTest, Notices_arrive_with_whoever_sent_them) {
  auto listener = connect();
  listener->run("LISTEN sluice");
  auto speaker = connect();
  speaker->run("NOTIFY sluice, 'hello'");
  pollfd watched{listener->fd(), POLLIN, 0};
  ASSERT_EQ(::poll(&watched, 1, 10'000), 1);
  const auto notices = listener->take_notices();
  ASSERT_EQ(notices.size(), 1U);
  EXPECT_EQ(notices[0].payload, "hello");
  EXPECT_EQ(notices[0].sender, speaker->process());
}

TEST(PgSession, A_password_is_in_no_message) {
  for (const std::string url : {"postgresql://me:hunter2@127.0.0.1:1/db", "postgresql://me:hunter2@[bad/db",
                                "postgresql://me:hunter2@127.0.0.1:99999/db?nonsense=1"}) {
    const auto session = PgSession::connect({.url = url});
    ASSERT_FALSE(session);
    EXPECT_EQ(session.error().what.find("hunter2"), std::string::npos) << session.error().what;
    EXPECT_FALSE(session.error().what.empty());
  }
}

}  // namespace pg_session_test
}  // namespace sluice::store
