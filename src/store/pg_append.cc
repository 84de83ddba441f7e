#include "store/pg_append.h"

#include <unordered_map>
#include <unordered_set>

#include "base/check.h"
#include "journal/run_rules.h"
#include "store/patch.h"
#include "store/sql_rows.h"

namespace sluice::store {

namespace {

constexpr std::string_view flow_sql =
    "WITH given AS (SELECT * FROM unnest($1, $2, $3, $4, $5) WITH ORDINALITY AS g (id, epoch, head, count, batch, "
    "at)), "
    "moved AS (UPDATE heads h SET head = h.head + g.count FROM given g "
    "WHERE h.id = g.id AND h.epoch = g.epoch AND h.head = g.head RETURNING g.at, h.run, h.head, g.batch), "
    "kept AS (INSERT INTO journal (run, last, batch) SELECT run, head, batch FROM moved WHERE batch IS NOT NULL) "
    "SELECT at FROM moved";

// A row that is updated cannot be deleted by the same statement, so runs that end go their own way.
constexpr std::string_view boundary_sql =
    "WITH given AS (SELECT * FROM unnest($1, $2, $3, $4, $5, $6, $7, $8, $9) WITH ORDINALITY AS g (id, epoch, head, "
    "count, batch, state, ended_at, status, json, at)), "
    "moved AS (UPDATE heads h SET head = h.head + g.count, state = coalesce(g.state, h.state) FROM given g "
    "WHERE g.ended_at IS NULL AND h.id = g.id AND h.epoch = g.epoch AND h.head = g.head "
    "RETURNING g.at, h.run, h.message, h.head, g.batch, g.state, g.ended_at, g.status, g.json), "
    "ended AS (DELETE FROM heads h USING given g "
    "WHERE g.ended_at IS NOT NULL AND h.id = g.id AND h.epoch = g.epoch AND h.head = g.head "
    "RETURNING g.at, h.run, h.message, h.head + g.count, g.batch, g.state, g.ended_at, g.status, g.json), "
    "written AS (SELECT * FROM moved UNION ALL SELECT * FROM ended), "
    "kept AS (INSERT INTO journal (run, last, batch) SELECT run, head, batch FROM written WHERE batch IS NOT NULL), "
    "told AS (UPDATE messages m SET status = w.status, json = w.json FROM written w "
    "WHERE w.json IS NOT NULL AND m.number = w.message), "
    "stated AS (UPDATE runs r SET state = w.state, head = w.head, ended_at = w.ended_at FROM written w "
    "WHERE w.state IS NOT NULL AND r.number = w.run) "
    "SELECT at FROM written";

// The arrays that both have: id, epoch, head, count, batch.
PgValues common_values(const std::vector<AppendJob*>& jobs) {
  PgArray ids(PgType::bytes);
  PgArray epochs(PgType::number);
  PgArray heads(PgType::number);
  PgArray counts(PgType::number);
  PgArray batches(PgType::bytes);
  for (const auto* job : jobs) {
    const auto& append = job->append;
    ids.add(append.run.ulid);
    epochs.add(static_cast<int64_t>(append.epoch.value));
    heads.add(static_cast<int64_t>(append.head.value));
    counts.add(static_cast<int64_t>(append.events.size()));
    if (append.events.empty()) {
      batches.add_null();
    } else {
      batches.add(model::encode_batch(append.events));
    }
  }
  PgValues values;
  values.array(ids).array(epochs).array(heads).array(counts).array(batches);
  return values;
}

PgValues boundary_values(const std::vector<AppendJob*>& jobs) {
  PgArray states(PgType::text);
  PgArray ends(PgType::number);
  PgArray statuses(PgType::text);
  PgArray messages(PgType::text);
  for (const auto* job : jobs) {
    const auto& append = job->append;
    const auto end = end_of(append);
    append.state ? states.add(model::name_of(*append.state)) : states.add_null();
    end ? ends.add(end->ms) : ends.add_null();
    if (append.assistant_message) {
      statuses.add(model::name_of(append.assistant_message->status));
      messages.add(model::to_json(*append.assistant_message));
    } else {
      statuses.add_null();
      messages.add_null();
    }
  }
  auto values = common_values(jobs);
  values.array(states).array(ends).array(statuses).array(messages);
  return values;
}

PgValues ids_of_runs(const std::vector<AppendJob*>& jobs) {
  PgArray ids(PgType::bytes);
  for (const auto* job : jobs) ids.add(job->append.run.ulid);
  PgValues values;
  values.array(ids);
  return values;
}

void mark_written(const PgRows& rows, const std::vector<AppendJob*>& jobs) {
  for (int row = 0; row < rows.count(); ++row) {
    auto& job = *jobs.at(static_cast<std::size_t>(rows.number(row, 0) - 1));
    SLUICE_CHECK(!job.is_written);  // one statement writes an append once
    job.is_written = true;
  }
}

std::string select_runs() {
  return "SELECT " + std::string(run_columns) +
         " FROM runs r LEFT JOIN heads h ON h.run = r.number WHERE r.id = ANY ($1)";
}

std::unordered_map<model::RunId, model::Run> runs_by_id(const PgRows& rows) {
  std::unordered_map<model::RunId, model::Run> known;
  for (int row = 0; row < rows.count(); ++row) {
    auto run = run_from(rows, row, 0);
    known.emplace(run.id, std::move(run));
  }
  return known;
}

void refuse_by(const PgRows& rows, const std::vector<AppendJob*>& jobs) {
  const auto known = runs_by_id(rows);
  for (auto* job : jobs) {
    const auto found = known.find(job->append.run);
    job->refused.reset();
    if (found == known.end()) {
      job->refused = no_such("run");
    } else if (const auto decided = decide(job->append, found->second); !decided) {
      job->refused = decided.error();
    }
  }
}

}  // namespace

model::Run run_from(const PgRows& rows, int row, int first) {
  model::Run run;
  run.id.ulid = rows.id(row, first);
  run.tenant_id.ulid = rows.id(row, first + 1);
  run.conversation_id.ulid = rows.id(row, first + 2);
  run.user_message_id.ulid = rows.id(row, first + 3);
  run.message_id.ulid = rows.id(row, first + 4);
  run.agent_id.ulid = rows.id(row, first + 5);
  run.state = model::run_state_named(rows.bytes(row, first + 6)).value_or(model::RunState::accepted);
  run.epoch.value = static_cast<uint64_t>(rows.number(row, first + 7));
  run.head.value = static_cast<uint64_t>(rows.number(row, first + 8));
  run.created_at.ms = rows.number(row, first + 9);
  if (!rows.is_null(row, first + 10)) run.ended_at = Timestamp{rows.number(row, first + 10)};
  run.node.ulid = rows.id(row, first + 11);
  return run;
}

void PgAppends::add(AppendJob& job) {
  job.is_written = false;
  (job.append.state || job.append.assistant_message ? boundary_ : flow_).push_back(&job);
}

void PgAppends::send(PgSession& session) const {
  if (!flow_.empty()) session.send(flow_sql, common_values(flow_));
  if (!boundary_.empty()) session.send(boundary_sql, boundary_values(boundary_));
}

void PgAppends::take(PgAnswers& answers) const {
  if (!flow_.empty()) mark_written(answers.take(), flow_);
  if (!boundary_.empty()) mark_written(answers.take(), boundary_);
}

void send_locks(PgSession& session, const std::vector<AppendJob*>& jobs) {
  if (jobs.empty()) return;
  session.send("SELECT 1 FROM heads WHERE id = ANY ($1) ORDER BY id FOR UPDATE", ids_of_runs(jobs));
  session.send(select_runs(), ids_of_runs(jobs));
}

void take_locks(PgAnswers& answers, const std::vector<AppendJob*>& jobs) {
  if (jobs.empty()) return;
  answers.take();
  refuse_by(answers.take(), jobs);
}

void explain_refusals(PgSession& session, const std::vector<AppendJob*>& jobs) {
  std::vector<AppendJob*> refused;
  for (auto* job : jobs) {
    if (!job->is_written && !job->refused) refused.push_back(job);
  }
  if (refused.empty()) return;
  const auto rows = session.execute(select_runs(), ids_of_runs(refused));
  if (!session.failure()) refuse_by(rows, refused);
  for (auto* job : refused) {
    if (job->refused) continue;
    job->refused = Error{ErrorKind::conflict, "run " + job->append.run.text() + " was somebody else's for a moment"};
  }
}

void send_takeovers(PgSession& session, const std::vector<TakeOverJob*>& jobs, model::NodeId node) {
  if (jobs.empty()) return;
  PgArray ids(PgType::bytes);
  PgArray epochs(PgType::number);
  for (auto* job : jobs) {
    job->result.reset();
    ids.add(job->run.ulid);
    epochs.add(static_cast<int64_t>(job->seen.value));
  }
  PgValues values;
  values.array(ids).array(epochs).id(node.ulid);
  session.send(
      "UPDATE heads h SET epoch = h.epoch + 1, node = $3 FROM unnest($1, $2) AS g (id, epoch) "
      "WHERE h.id = g.id AND h.epoch = g.epoch",
      values);
  // Both tables have the same epoch, so whoever moved the head moves this.
  session.send(
      "UPDATE runs r SET epoch = r.epoch + 1, node = $3 FROM unnest($1, $2) AS g (id, epoch) "
      "WHERE r.id = g.id AND r.epoch = g.epoch AND r.ended_at IS NULL RETURNING r.id",
      values);
  PgValues asked;
  asked.array(ids);
  session.send(select_runs(), asked);
}

void take_takeovers(PgAnswers& answers, const std::vector<TakeOverJob*>& jobs) {
  if (jobs.empty()) return;
  answers.take();
  const auto taken = answers.take();
  const auto found = answers.take();
  std::unordered_set<model::RunId> ours;
  for (int row = 0; row < taken.count(); ++row) ours.insert({taken.id(row, 0)});
  auto known = runs_by_id(found);
  for (auto* job : jobs) {
    const auto run = known.find(job->run);
    if (run == known.end()) {
      job->result.emplace(no_such("run"));
    } else if (!ours.contains(job->run)) {
      const auto moved = Error{ErrorKind::conflict, "run " + job->run.text() + " was another server's for a moment"};
      job->result.emplace(journal::refusal_of_takeover(run->second, job->seen).value_or(moved));
    } else {
      job->result.emplace(std::move(run->second));
    }
  }
}

}  // namespace sluice::store
