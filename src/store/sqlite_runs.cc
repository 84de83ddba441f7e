#include "store/sqlite_runs.h"

#include <algorithm>

#include "base/check.h"
#include "journal/run_rules.h"
#include "store/launch_records.h"
#include "store/patch.h"
#include "store/sql_parts.h"
#include "store/sql_rows.h"

namespace sluice::store::sql {

namespace {

std::optional<model::Run> run_numbered(Connection& db, int64_t number) {
  return find_row<model::Run>(db, "SELECT * FROM runs WHERE number = ?", number);
}

int64_t insert_message(Connection& db, const model::Message& message, int64_t conversation,
                       std::optional<int64_t> run) {
  return insert_numbered(db, "INSERT INTO messages VALUES (NULL, ?, ?, ?, ?, ?)", message.id, conversation, run,
                         message.status, model::to_json(message));
}

// The number of the row; 0 when there is nothing to keep.
int64_t insert_batch(Connection& db, int64_t run, const std::vector<model::RunEvent>& events, model::Position last) {
  SLUICE_CHECK(last.value >= events.size());
  if (events.empty()) return 0;
  return insert_numbered(db, "INSERT INTO journal VALUES (NULL, ?, ?, ?)", run, last.value,
                         Blob{model::encode_batch(events)});
}

// What a message is decided by, and the number of the conversation that it goes to; 0 of one that is yet to be made.
struct Looked {
  journal::AcceptLooks looks;
  int64_t conversation = 0;
};

void look_for_conversation(Connection& db, const NewRun& made, Looked& looked) {
  Query query(db,
              "SELECT conversations.*, flights.run FROM conversations LEFT JOIN flights ON flights.conversation = "
              "conversations.number WHERE id = ? AND tenant_id = ?",
              made.run.conversation_id, made.run.tenant_id);
  if (!query.next()) return;
  looked.conversation = read_row(query, looked.looks.conversation.emplace());
  std::optional<int64_t> flight;
  query.read(flight);
  if (flight) looked.looks.flight = run_numbered(db, *flight);
}

Looked look_for(Connection& db, const NewRun& made) {
  Looked looked;
  auto& looks = looked.looks;
  if (made.idempotency) {
    if (auto kept = find_key(db, *made.idempotency, made.run.created_at)) {
      looks.key =
          journal::KnownKey{std::move(kept->request_sha256), run_numbered(db, kept->run.value_or(0)), std::nullopt};
      return looked;
    }
  }
  if (!made.conversation) look_for_conversation(db, made, looked);
  const auto& conversation = made.conversation ? made.conversation : looks.conversation;
  if (!conversation) return looked;
  auto agent = agent_for(db, made.run.tenant_id, conversation->agent_id);
  if (agent) looks.agent = std::move(agent).take();
  looks.names = refusal_of_names(db, names_of(made));
  looks.secrets = refusal_of_secrets(db, made);
  return looked;
}

// A database that one server uses has no column for it, and that server has no number.
void keep_node(Connection& db, model::NodeId node, int64_t run) {
  if (node != model::NodeId{}) execute(db, "UPDATE runs SET node = ? WHERE number = ?", node, run);
}

// Run and assistant message refer to each other by number, so the numbers are made here: one more
// than the last, as SQLite would.
int64_t next_run_number(Connection& db) { return find_number(db, "SELECT max(number) FROM runs").value_or(0) + 1; }

}  // namespace

Result<AcceptOutcome> accept(Connection& db, OpenRuns& open_runs, const NewRun& made) {
  auto looked = look_for(db, made);
  auto decided = decide(made, std::move(looked.looks), made.run.node);
  if (!decided) return decided.error();
  if (auto* outcome = std::get_if<AcceptOutcome>(&decided.value())) return std::move(*outcome);
  auto& accepted = std::get<Accepted>(decided.value());
  const auto& run = accepted.run;
  SLUICE_CHECK(run.head.value == made.events.size());
  SLUICE_CHECK(made.conversation.has_value() == (looked.conversation == 0));
  auto number = looked.conversation;
  if (number == 0) {
    number = insert_conversation(db, accepted.conversation);
  } else {
    execute(db, "UPDATE conversations SET last_message_at = ? WHERE number = ?", accepted.conversation.last_message_at,
            number);
  }
  OpenRun open{.number = next_run_number(db), .conversation = number, .state = run.state, .epoch = run.epoch};
  replace_from(db, number, made.replaces_from);
  insert_message(db, made.user_message, number, std::nullopt);
  open.message = insert_message(db, made.assistant_message, number, open.number);
  if (const int64_t row = insert_batch(db, open.number, made.events, run.head); row > 0) {
    open.rows.add(row, made.events.size());
  }
  SLUICE_CHECK(db.failure() || open.rows.head() == run.head);
  execute(
      db,
      "INSERT INTO runs (number, id, tenant_id, conversation_id, user_message_id, message_id, agent_id, state, epoch, "
      "head, created_at, ended_at, conversation, message, journal_rows) "
      "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
      open.number, run.id, run.tenant_id, run.conversation_id, run.user_message_id, run.message_id, run.agent_id,
      run.state, run.epoch.value, run.head.value, run.created_at, run.ended_at, number, open.message,
      Blob{open.rows.bytes()});
  keep_node(db, run.node, open.number);
  execute(db, "INSERT INTO flights VALUES (?, ?)", number, open.number);
  keep_names(db, names_of(made));
  join_bag(db, run.tenant_id, run.conversation_id, made.attached);
  keep_secrets_of(db, made);
  if (made.idempotency) keep_key(db, *made.idempotency, open.number, std::nullopt, run.created_at);
  if (!db.failure()) open_runs.enter(run.id, std::move(open));
  if (made.ask) accepted.launch = launch_records_at_once(db, accepted, made.ask);
  return AcceptOutcome(std::move(accepted));
}

Result<int64_t> append(Connection& db, OpenRuns& open_runs, const Append& append) {
  const auto* open = open_runs.find(append.run);
  if (open == nullptr) {
    if (!find_number(db, "SELECT number FROM runs WHERE id = ?", append.run)) return no_such("run");
    return Error{ErrorKind::conflict, "run " + append.run.text() + " is over"};
  }
  model::Run run{.id = append.run};
  run.state = open->state;
  run.epoch = open->epoch;
  run.head = open->rows.head();
  const auto decided = decide(append, run);
  if (!decided) return decided.error();
  if (auto refused = refusal_of_gate(db, append)) return *std::move(refused);
  if (auto refused = refusal_of_names(db, append.agui)) return *std::move(refused);
  run = decided.value();

  const int64_t row = insert_batch(db, open->number, append.events, run.head);
  if (db.failure()) return row;  // the group will be rolled back
  if (row > 0) open_runs.add_row(append.run, row, append.events.size());
  SLUICE_CHECK(open->rows.head() == run.head);
  if (append.assistant_message) {
    execute(db, "UPDATE messages SET status = ?, json = ? WHERE number = ?", append.assistant_message->status,
            model::to_json(*append.assistant_message), open->message);
  }
  keep_gate(db, append);
  keep_names(db, append.agui);
  // Flow leaves the run's row as it is: a page for each of many quiet runs is what it would cost.
  if (!append.state) return row;
  execute(db, "UPDATE runs SET state = ?, head = ?, ended_at = ?, journal_rows = ? WHERE number = ?", run.state,
          run.head.value, run.ended_at, Blob{open->rows.bytes()}, open->number);
  if (!model::is_over(run.state)) {
    open_runs.set_state(append.run, run.state);
    return row;
  }
  execute(db, "DELETE FROM flights WHERE conversation = ?", open->conversation);
  open_runs.leave(append.run);
  return row;
}

namespace {

void pass_on(Connection& db, OpenRuns& open_runs, model::Run& run, model::NodeId to) {
  journal::pass_on(run, to);
  const auto number = find_number(db, "SELECT number FROM runs WHERE id = ?", run.id);
  execute(db, "UPDATE runs SET epoch = ? WHERE number = ?", run.epoch.value, number);
  keep_node(db, to, number.value_or(0));
  const auto* open = open_runs.find(run.id);
  if (open == nullptr || db.failure()) return;
  open_runs.set_epoch(run.id, run.epoch);
  SLUICE_CHECK(open->epoch == run.epoch);
  run.head = open->rows.head();
}

}  // namespace

Result<model::Run> take_over(Connection& db, OpenRuns& open_runs, model::RunId run, const Takeover& takeover) {
  auto found = find_row<model::Run>(db, "SELECT * FROM runs WHERE id = ?", run);
  if (!found) return no_such("run");
  const auto* open = open_runs.find(run);
  SLUICE_CHECK(open == nullptr || open->epoch == found->epoch);  // a takeover writes both
  if (auto refused = journal::refusal_of_takeover(*found, takeover.seen)) return *std::move(refused);
  pass_on(db, open_runs, *found, takeover.by);
  return *std::move(found);
}

Result<std::vector<model::Run>> claim(Connection& db, OpenRuns& open_runs, const std::vector<HeldRun>& wanted,
                                      model::NodeId by) {
  std::vector<std::pair<int64_t, model::Run>> found;
  for (const auto& held : wanted) {
    Query query(db, "SELECT * FROM runs WHERE id = ?", held.run);
    if (!query.next()) continue;
    model::Run run;
    const auto number = read_row(query, run);
    if (may_claim(run, held, by)) found.emplace_back(number, std::move(run));
  }
  std::ranges::sort(found, {}, &std::pair<int64_t, model::Run>::first);
  std::vector<model::Run> claimed;
  for (auto& [number, run] : found) {
    pass_on(db, open_runs, run, by);
    SLUICE_CHECK(run.node == by && run.state == model::RunState::held);
    claimed.push_back(std::move(run));
  }
  return claimed;
}

Result<std::vector<model::Run>> unfinished_runs(Connection& db, const OpenRuns& open_runs) {
  std::vector<int64_t> numbers;
  {
    Query query(db, "SELECT run FROM flights ORDER BY run");
    while (query.next()) query.read(numbers.emplace_back());
  }
  std::vector<model::Run> found;
  for (const auto number : numbers) {
    auto run = run_numbered(db, number);
    // One row's damage is no reason to leave the others lying: check_unfinished() names it.
    const bool is_damaged = db.failure() && db.failure()->trouble == Trouble::corrupt;
    if (is_damaged) db.take_failure();
    if (!run || is_damaged) continue;
    if (const auto* open = open_runs.find(run->id)) run->head = open->rows.head();
    found.push_back(*std::move(run));
  }
  return found;
}

Result<std::vector<model::RunId>> carried_runs(Connection& db, model::NodeId node) {
  const bool is_told = node != model::NodeId{};
  std::string sql("SELECT runs.id FROM flights JOIN runs ON runs.number = flights.run");
  if (is_told) sql += " WHERE runs.node = ? OR runs.node NOT IN (SELECT id FROM nodes)";
  sql += " ORDER BY flights.run";
  const auto value = value_of(node);
  Query query(db, sql, std::span(&value, is_told ? 1 : 0));
  std::vector<model::RunId> found;
  while (query.next()) query.read(found.emplace_back());
  return found;
}

}  // namespace sluice::store::sql
