#include "store/pg_hot.h"

#include <algorithm>
#include <chrono>

#include "base/check.h"
#include "store/pg_accept.h"
#include "store/pg_append.h"
#include "store/pg_connection.h"
#include "store/pg_hot_works.h"
#include "store/pg_schema.h"
#include "store/sql_parts.h"

namespace sluice::store {

namespace {

constexpr std::size_t group_max = 1'000;  // so that a long queue is answered as it goes
constexpr int attempts_max = 4;
constexpr int64_t attempts_us_max = 15'000'000;  // after which no further one is begun
constexpr int64_t put_off_us = 5'000'000;        // how long it is remembered, if nobody tries again
constexpr int64_t end_us_max = 10'000'000;       // for a process that is told to end
constexpr auto end_look = std::chrono::milliseconds(10);

// Every statement here finds its rows by a key. Plans that are made once, while tables are small, must say so.
constexpr const char* setup =
    "SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off; SET enable_hashjoin = off; "
    "SET enable_mergejoin = off; SET enable_bitmapscan = off; SET enable_material = off; SET lock_timeout = ";

Error unknown_outcome(const std::string& cause) {
  return {ErrorKind::unavailable,
          "the database did not say whether it wrote; nothing is written until it is reopened (" + cause + ")"};
}

int64_t monotonic_us() {
  using std::chrono::steady_clock;
  return std::chrono::duration_cast<std::chrono::microseconds>(steady_clock::now().time_since_epoch()).count();
}

bool is_at_gate(const Append& append) {
  return append.approval || !append.secrets.empty() || !append.audit.empty() || !append.notices.empty() || append.agui;
}

// As the session would have said it.
PgFailure failure_of(const Failure& failure) {
  switch (failure.trouble) {
    case Trouble::conflict: return {"23505", failure.what};
    case Trouble::invalid: return {"22000", failure.what};
    case Trouble::corrupt: return {"XX001", failure.what};
    case Trouble::full: return {"53100", failure.what};
    case Trouble::busy: return {"40001", failure.what};
    case Trouble::lost:
    case Trouble::unknown: break;
  }
  return {"", failure.what};
}

PgValues key_of(PgLock lock) {
  PgValues values;
  values.number(static_cast<int64_t>(lock));
  return values;
}

bool adds_to_chain(const AppendJob* job) { return !job->append.audit.empty(); }
bool adds_to_chain(const AcceptJob* job) { return !job->made.audit.empty(); }

}  // namespace

PgHot::PgHot(PgHotOptions options, const std::atomic<bool>& others, LoopPoster& poster, world::Metrics& metrics,
             Committer committer)
    : options_(std::move(options)),
      others_(others),
      poster_(poster),
      committer_(committer),
      commits_(metrics.counter("sluice_store_commits_total", "Transactions committed.")),
      operations_(metrics.counter("sluice_store_operations_total", "Write operations that were in them.")),
      commit_time_(metrics.histogram("sluice_store_commit_seconds", "From the start of a group to its commit.")),
      waiting_(poster, "too much is waiting to be written",
               &metrics.gauge("sluice_store_queue_length", "Write operations that wait for the writer.")),
      thread_([this] { run(); }) {}

PgHot::~PgHot() {
  waiting_.stop();
  thread_.join();
}

// ── from the loop's thread ──

void PgHot::accept(NewRun made, Done<AcceptOutcome> done) {
  submit(std::make_unique<AcceptWork>(std::move(made), std::move(done), committer_));
}

void PgHot::append(Append append, Done<CommittedBatch> done) {
  submit(std::make_unique<AppendWork>(std::move(append), std::move(done), committer_));
}

void PgHot::create_conversation(NewConversation made, Done<ConversationOutcome> done) {
  submit(std::make_unique<ConversationWork>(std::move(made), std::move(done)));
}

void PgHot::take_over(model::RunId run, model::Epoch seen, Done<model::Run> done) {
  submit(std::make_unique<TakeOverWork>(run, seen, std::move(done)));
}

void PgHot::reopen(Done<Unit> done) { submit(std::make_unique<ReopenWork>(std::move(done))); }

void PgHot::heed(PgNews wish) { submit(std::make_unique<WishWork>(std::move(wish))); }

// ── the thread ──

void PgHot::run() {
  for (;;) {
    auto works = take_group();
    if (works.empty()) return;
    if (works[0]->is_reopening()) {
      if (auto failure = open_again()) {
        break_down(failure->what);
        works[0]->fail(error_of(*failure).in("reopen the store"));
      }
    } else {
      writing_.begin();
      commit(works);
      writing_.end();
    }
    poster_.post(std::move(works));
  }
}

// Everything that waits, up to a bound and to what must come after something in it; or one reopening. Nothing when it
// is time to stop.
PgHot::HotList PgHot::take_group() {
  std::unordered_set<std::string> taken;
  return waiting_.take(group_max, [&](const HotWork& work, const HotList& works) {
    if (!works.empty() && (work.is_reopening() || works.back()->is_reopening())) return false;
    const auto names = work.names();
    if (std::ranges::any_of(names, [&](const std::string& name) { return taken.contains(name); })) return false;
    taken.insert(names.begin(), names.end());
    return true;
  });
}

void PgHot::commit(HotList& works) {
  const auto fail_all = [&](const Error& error) {
    for (const auto& work : works) work->fail(error);
  };
  const auto put_off = [&](const PgFailure& failure) {
    put_off_until_us_ = monotonic_us() + put_off_us;
    fail_all(error_of(failure));
  };
  SLUICE_CHECK(!works.empty());
  const int64_t until_us = monotonic_us() + attempts_us_max;
  for (int attempt = 1;; ++attempt) {
    if (broken()) return fail_all(unknown_outcome(broken_by_));
    const auto mishap = try_commit(works);
    if (!mishap) return;
    if (mishap->is_unknown) {
      doubtful_ = backend_;
      break_down(mishap->failure.what);
      continue;
    }
    const auto remedy = mishap->failure.remedy();
    if (remedy == PgRemedy::later) return put_off(mishap->failure);
    // Somebody else's commit, or a session's end, came between: it may be another world now.
    const bool may_pass = remedy == PgRemedy::again || remedy == PgRemedy::conflict || remedy == PgRemedy::reconnect;
    const bool is_due = attempt < (remedy == PgRemedy::again ? attempts_max : 2) && monotonic_us() < until_us;
    if (may_pass && is_due) continue;
    if (remedy == PgRemedy::reconnect) return put_off(mishap->failure);
    if (works.size() == 1 || remedy == PgRemedy::again) return fail_all(error_of(mishap->failure));
    break;
  }
  // One of them is to blame. Each alone, so that only that one suffers.
  for (auto& work : works) {
    HotList alone;
    alone.push_back(std::move(work));
    commit(alone);
    work = std::move(alone[0]);
  }
}

std::optional<PgHot::Mishap> PgHot::try_commit(HotList& works) {
  const int64_t began_us = monotonic_us();
  Group group;
  for (const auto& work : works) work->join(group);
  for (const auto* wish : group.wishes) followed_.want(*wish, began_us);
  if (!group.writes() && followed_.owed().empty()) return std::nullopt;
  if (auto mishap = connect()) return mishap;
  if (auto mishap = write(group)) return mishap;
  followed_.settle();
  explain_refusals(*session_, group.appends);
  for (const auto* job : group.appends) SLUICE_CHECK(job->is_written != job->refused.has_value());
  for (const auto* job : group.accepts) SLUICE_CHECK(job->result);
  for (const auto* job : group.conversations) SLUICE_CHECK(job->result);
  for (const auto* job : group.takeovers) SLUICE_CHECK(job->result);
  if (session_->failure()) session_.reset();
  put_off_until_us_ = 0;
  commits_.add();
  operations_.add(works.size() - group.wishes.size());
  commit_time_.observe_us(monotonic_us() - began_us);
  return std::nullopt;
}

// A session that died while nobody wrote is replaced before anything is said to it.
std::optional<PgHot::Mishap> PgHot::connect() {
  if (session_ != nullptr && session_->is_alive()) return std::nullopt;
  session_.reset();
  auto session = PgSession::connect({.url = options_.url,
                                     .setup = setup + std::to_string(pg_lock_ms_max),
                                     .node = options_.node.text(),
                                     .idle_ms_max = pg_idle_ms_max});
  if (!session) return Mishap{{"57P03", session.error().what, std::nullopt}};
  session_ = std::move(session).take();
  const auto served = session_->execute(
      "SELECT CAST(pid AS bigint), CAST(extract(epoch FROM backend_start) * 1000000 AS bigint) "
      "FROM pg_stat_activity WHERE pid = pg_backend_pid()");
  if (auto failure = session_->take_failure()) {
    session_.reset();
    return Mishap{*std::move(failure)};
  }
  if (served.count() == 1) backend_ = {served.number(0, 0), served.number(0, 1)};
  return std::nullopt;
}

std::optional<PgFailure> PgHot::open_again() {
  session_.reset();
  if (auto mishap = connect()) return std::move(mishap->failure);
  if (auto failure = end_doubtful()) {
    session_.reset();
    return failure;
  }
  broken_ = false;
  return std::nullopt;
}

// A connection may be lost at this end only: its process then waits for a lock or a standby, and commits when it gets
// it, after all that was to be taken up has been looked for.
std::optional<PgFailure> PgHot::end_doubtful() {
  if (!doubtful_) return std::nullopt;
  PgValues values;
  values.number(doubtful_->process).number(doubtful_->started_us);
  const int64_t until_us = monotonic_us() + end_us_max;
  for (;;) {
    const auto there = session_->execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        "WHERE pid = $1 AND CAST(extract(epoch FROM backend_start) * 1000000 AS bigint) = $2",
        values);
    if (auto failure = session_->take_failure()) return failure;
    if (there.count() == 0) break;
    if (monotonic_us() >= until_us) return PgFailure{"57P03", "the process of its former session does not end"};
    std::this_thread::sleep_for(end_look);
  }
  doubtful_.reset();
  return std::nullopt;
}

template <typename Take>
std::optional<PgHot::Mishap> PgHot::send_commit(const Group& group, Take take) {
  tell(group);
  const auto commit = session_->joined();
  session_->send("COMMIT");
  PgAnswers answers(session_->finish());
  if (auto failure = session_->take_failure()) return fail_commit(*std::move(failure), commit);
  take(answers);
  return std::nullopt;
}

std::optional<PgHot::Mishap> PgHot::write(Group& group) {
  SLUICE_CHECK(session_ != nullptr);
  auto& session = *session_;
  session.send("BEGIN");
  session.send("SELECT pg_advisory_xact_lock_shared($1)", key_of(PgLock::records));
  PgAppends plain;
  std::vector<AppendJob*> at_gates;
  for (auto* job : group.appends) {
    job->refused.reset();
    if (is_at_gate(job->append)) {
      at_gates.push_back(job);
    } else {
      plain.add(*job);
    }
  }
  plain.send(session);
  send_takeovers(session, group.takeovers, options_.node);
  const auto take = [&](PgAnswers& answers) {
    answers.skip(2);
    plain.take(answers);
    take_takeovers(answers, group.takeovers);
  };
  PgAccepts accepts(group.accepts, group.conversations, options_.node);
  if (at_gates.empty() && accepts.empty()) {
    return send_commit(group, take);
  }
  send_locks(session, at_gates);
  if (!accepts.empty()) accepts.send_looks(session);
  // After the locks of rows, so that two groups never wait for each other.
  const auto adds = [](const auto* job) { return adds_to_chain(job); };
  if (std::ranges::any_of(at_gates, adds) || std::ranges::any_of(group.accepts, adds)) {
    session.send("SELECT pg_advisory_xact_lock($1)", key_of(PgLock::chain));
  }
  PgAnswers answers(session.finish());
  if (auto failure = session.take_failure()) return roll_back(*std::move(failure));
  take(answers);
  take_locks(answers, at_gates);
  return write_rest(group, at_gates, accepts, answers);
}

// What had to be looked at first: accepts, and what gates bring. The latter are few, and go one by one.
std::optional<PgHot::Mishap> PgHot::write_rest(const Group& group, const std::vector<AppendJob*>& at_gates,
                                               PgAccepts& accepts, PgAnswers& answers) {
  auto& session = *session_;
  PgConnection db(session_.get());
  if (!accepts.empty()) accepts.decide(session, answers, db);
  PgAppends passing;
  for (auto* job : at_gates) {
    if (!job->refused) job->refused = sql::refusal_of_gate(db, job->append);
    if (!job->refused) job->refused = sql::refusal_of_names(db, job->append.agui);
    if (job->refused || db.failure()) continue;
    sql::keep_gate(db, job->append);
    sql::keep_names(db, job->append.agui);
    passing.add(*job);
  }
  if (auto failure = session.take_failure()) return roll_back(*std::move(failure));
  if (db.failure()) return roll_back(failure_of(*db.failure()));
  passing.send(session);
  accepts.send_writes(session);
  return send_commit(group, [&](PgAnswers& last) { passing.take(last); });
}

PgHot::Mishap PgHot::roll_back(PgFailure failure) {
  if (failure.remedy() == PgRemedy::reconnect) {
    session_.reset();
  } else {
    session_->run("ROLLBACK");
    if (session_->failure()) session_.reset();
  }
  return {std::move(failure)};
}

// What the server refused before it came to COMMIT was not committed. Silence, and its last words during COMMIT, leave
// it open.
PgHot::Mishap PgHot::fail_commit(PgFailure failure, std::size_t commit) {
  const bool is_certain = failure.sqlstate == idle_too_long ||
                          (failure.refused && (*failure.refused < commit || failure.remedy() != PgRemedy::reconnect));
  auto mishap = roll_back(std::move(failure));
  mishap.is_unknown = !is_certain;
  return mishap;
}

// One notice for the whole group, if there is anybody to hear it: notices are dear, because PostgreSQL lets only one
// commit with a notice happen at a time, and wakes every node.
void PgHot::tell(const Group& group) {
  if (!others_.load(std::memory_order_relaxed)) return;
  PgNews news{.from = options_.node, .runs = followed_.owed()};
  const int64_t now_us = monotonic_us();
  const auto held = [&](std::optional<model::RunState> state) {
    news.has_held = news.has_held || state == model::RunState::held;
  };
  for (const auto* job : group.appends) {
    if (followed_.writes(job->append.run, now_us)) news.runs.push_back(job->append.run);
    held(job->append.state);
  }
  for (const auto* job : group.takeovers) news.runs.push_back(job->run);  // whoever carried it must hear of it
  for (const auto* job : group.accepts) held(job->made.run.state);
  if (news.empty()) return;
  PgValues values;
  values.text(news.spelt());
  session_->send("SELECT pg_notify('sluice', $1)", values);
}

bool PgHot::unwritable() const {
  return broken() || monotonic_us() < put_off_until_us_.load(std::memory_order_relaxed);
}

void PgHot::break_down(std::string cause) {
  broken_by_ = std::move(cause);
  broken_ = true;
}

}  // namespace sluice::store
