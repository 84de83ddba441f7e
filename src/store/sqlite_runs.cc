#include "store/sqlite_runs.h"

#include "store/patch.h"
#include "store/sql_bags.h"
#include "store/sql_gates.h"
#include "store/sql_records.h"
#include "store/sql_rows.h"
#include "store/sql_threads.h"

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
  if (events.empty()) return 0;
  return insert_numbered(db, "INSERT INTO journal VALUES (NULL, ?, ?, ?)", run, last.value,
                         Blob{model::encode_batch(events)});
}

// Where a message is to go, and what is in its way.
struct Destination {
  model::Conversation conversation;
  int64_t number = 0;             // 0 for one that is yet to be made
  std::optional<int64_t> flight;  // the run that is not over
};

Result<Destination> destination_of(Connection& db, const NewRun& made) {
  if (made.conversation) return Destination{*made.conversation, 0, std::nullopt};
  Query query(db,
              "SELECT conversations.*, flights.run FROM conversations LEFT JOIN flights ON flights.conversation = "
              "conversations.number WHERE id = ? AND tenant_id = ?",
              made.run.conversation_id, made.run.tenant_id);
  if (!query.next()) return no_such("conversation");
  Destination found;
  found.number = read_row(query, found.conversation);
  query.read(found.flight);
  return found;
}

// Run and assistant message refer to each other by number, so the numbers are made here: one more
// than the last, as SQLite would.
int64_t next_run_number(Connection& db) { return find_number(db, "SELECT max(number) FROM runs").value_or(0) + 1; }

}  // namespace

Result<AcceptOutcome> accept(Connection& db, OpenRuns& open_runs, const NewRun& made) {
  if (made.idempotency) {
    if (const auto kept = find_key(db, *made.idempotency, made.run.created_at)) {
      if (kept->request_sha256 != made.idempotency->request_sha256) return AcceptOutcome(KeyConflict{});
      return AcceptOutcome(Replay{run_numbered(db, kept->run.value_or(0)), std::nullopt});
    }
  }
  auto found = destination_of(db, made);
  if (!found) return found.error();
  const auto names = names_of(made);
  if (auto refused = refusal_of_names(db, names)) return *std::move(refused);
  auto& [conversation, number, flight] = found.value();
  if (conversation.status == model::ConversationStatus::archived) return AcceptOutcome(Archived{});
  if (flight) {
    auto run = run_numbered(db, *flight);
    if (run) return AcceptOutcome(Busy{*std::move(run)});
  }
  auto agent = agent_for(db, made.run.tenant_id, conversation.agent_id);
  if (!agent) return agent.error();
  if (made.only_replay) return AcceptOutcome(NotCreated{});
  if (auto refused = refusal_of_secrets(db, made)) return *std::move(refused);

  settle(agent.value(), conversation);
  conversation.last_message_at = made.user_message.created_at;
  if (number == 0) {
    number = insert_conversation(db, conversation);
  } else {
    execute(db, "UPDATE conversations SET last_message_at = ? WHERE number = ?", conversation.last_message_at, number);
  }
  auto run = made.run;
  run.agent_id = conversation.agent_id;
  run.epoch = {1};
  run.head = {made.events.size()};
  OpenRun open{.number = next_run_number(db), .conversation = number, .state = run.state, .epoch = run.epoch};
  replace_from(db, number, made.replaces_from);
  insert_message(db, made.user_message, number, std::nullopt);
  open.message = insert_message(db, made.assistant_message, number, open.number);
  if (const int64_t row = insert_batch(db, open.number, made.events, run.head); row > 0) {
    open.rows.add(row, made.events.size());
  }
  execute(db, "INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", open.number, run.id,
          run.tenant_id, run.conversation_id, run.user_message_id, run.message_id, run.agent_id, run.state,
          run.epoch.value, run.head.value, run.created_at, run.ended_at, number, open.message, Blob{open.rows.bytes()});
  execute(db, "INSERT INTO flights VALUES (?, ?)", number, open.number);
  keep_names(db, names);
  join_bag(db, run.tenant_id, run.conversation_id, made.attached);
  keep_secrets_of(db, made);
  if (made.idempotency) keep_key(db, *made.idempotency, open.number, std::nullopt, run.created_at);
  if (!db.failure()) open_runs.enter(run.id, std::move(open));
  return AcceptOutcome(Accepted{std::move(conversation), std::move(agent).take(), std::move(run), {}});
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
  if (auto refused = refusal(append, run)) return *std::move(refused);
  if (auto refused = refusal_of_gate(db, append)) return *std::move(refused);
  if (auto refused = refusal_of_names(db, append.agui)) return *std::move(refused);
  apply(append, run);

  const int64_t row = insert_batch(db, open->number, append.events, run.head);
  if (db.failure()) return row;  // the group will be rolled back
  if (row > 0) open_runs.add_row(append.run, row, append.events.size());
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

Result<model::Run> take_over(Connection& db, OpenRuns& open_runs, model::RunId run, model::Epoch seen) {
  auto found = find_row<model::Run>(db, "SELECT * FROM runs WHERE id = ?", run);
  if (!found) return no_such("run");
  const auto* open = open_runs.find(run);
  const auto epoch = open == nullptr ? found->epoch : open->epoch;
  if (epoch != seen) return Error{ErrorKind::conflict, "somebody else has taken the run over"};
  if (model::is_over(found->state)) return Error{ErrorKind::conflict, "the run is over"};
  found->epoch.value = epoch.value + 1;
  execute(db, "UPDATE runs SET epoch = ? WHERE id = ?", found->epoch.value, run);
  if (open == nullptr || db.failure()) return *std::move(found);
  open_runs.set_epoch(run, found->epoch);
  found->head = open->rows.head();
  return *std::move(found);
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

Result<std::vector<model::RunId>> carried_runs(Connection& db) {
  Query query(db, "SELECT runs.id FROM flights JOIN runs ON runs.number = flights.run");
  std::vector<model::RunId> found;
  while (query.next()) query.read(found.emplace_back());
  return found;
}

}  // namespace sluice::store::sql
