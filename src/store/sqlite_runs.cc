#include "store/sqlite_runs.h"

#include "store/patch.h"
#include "store/sqlite_records.h"
#include "store/sqlite_rows.h"

namespace sluice::store::sql {

namespace {

std::optional<model::Run> run_numbered(Connection& db, int64_t number) {
  return find_row<model::Run>(db, "SELECT * FROM runs WHERE number = ?", number);
}

void insert_message(Connection& db, const model::Message& message, int64_t conversation, std::optional<int64_t> run) {
  execute(db, "INSERT INTO messages VALUES (NULL, ?, ?, ?, ?, ?)", message.id, conversation, run, message.status,
          model::to_json(message));
}

void insert_batch(Connection& db, int64_t run, const std::vector<model::RunEvent>& events, model::Position last) {
  if (events.empty()) return;
  execute(db, "INSERT INTO journal VALUES (NULL, ?, ?, ?)", run, last.value, Blob{model::encode_batch(events)});
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

Result<AcceptOutcome> accept(Connection& db, const NewRun& made) {
  if (made.idempotency) {
    if (const auto kept = find_key(db, *made.idempotency, made.run.created_at)) {
      if (kept->request_sha256 != made.idempotency->request_sha256) return AcceptOutcome(KeyConflict{});
      return AcceptOutcome(Replay{run_numbered(db, kept->run.value_or(0)), std::nullopt});
    }
  }
  auto found = destination_of(db, made);
  if (!found) return found.error();
  auto& [conversation, number, flight] = found.value();
  if (conversation.status == model::ConversationStatus::archived) return AcceptOutcome(Archived{});
  if (flight) {
    auto run = run_numbered(db, *flight);
    if (run) return AcceptOutcome(Busy{*std::move(run)});
  }
  auto agent = agent_for(db, made.run.tenant_id, conversation.agent_id);
  if (!agent) return agent.error();

  conversation.agent_id = agent.value().id;
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
  const int64_t run_number = next_run_number(db);
  insert_message(db, made.user_message, number, std::nullopt);
  insert_message(db, made.assistant_message, number, run_number);
  execute(db, "INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", run_number, run.id, run.tenant_id,
          run.conversation_id, run.user_message_id, run.message_id, run.agent_id, run.state, run.epoch.value,
          run.head.value, run.created_at, run.ended_at, number, db.last_number());
  execute(db, "INSERT INTO flights VALUES (?, ?)", number, run_number);
  insert_batch(db, run_number, made.events, run.head);
  if (made.idempotency) keep_key(db, *made.idempotency, run_number, std::nullopt, run.created_at);
  return AcceptOutcome(Accepted{std::move(conversation), std::move(agent).take(), std::move(run), {}});
}

Result<Unit> append(Connection& db, const Append& append) {
  model::Run run;
  int64_t number = 0;
  int64_t conversation = 0;
  int64_t message = 0;
  {
    Query query(db, "SELECT * FROM runs WHERE id = ?", append.run);
    if (!query.next()) return no_such("run");
    number = read_row(query, run);
    query.read(conversation, message);
  }
  if (auto refused = refusal(append, run)) return *std::move(refused);
  apply(append, run);
  insert_batch(db, number, append.events, run.head);
  execute(db, "UPDATE runs SET state = ?, head = ?, ended_at = ? WHERE number = ?", run.state, run.head.value,
          run.ended_at, number);
  if (append.assistant_message) {
    execute(db, "UPDATE messages SET status = ?, json = ? WHERE number = ?", append.assistant_message->status,
            model::to_json(*append.assistant_message), message);
  }
  if (model::is_over(run.state)) execute(db, "DELETE FROM flights WHERE conversation = ?", conversation);
  return Unit{};
}

Result<model::Run> take_over(Connection& db, model::RunId run, model::Epoch seen) {
  auto found = find_row<model::Run>(db, "SELECT * FROM runs WHERE id = ?", run);
  if (!found) return no_such("run");
  if (found->epoch != seen) return Error{ErrorKind::conflict, "somebody else has taken the run over"};
  ++found->epoch.value;
  execute(db, "UPDATE runs SET epoch = ? WHERE id = ?", found->epoch.value, run);
  return *std::move(found);
}

Result<model::Run> run(Connection& db, model::TenantId tenant, model::RunId id) {
  auto found = find_row<model::Run>(db, "SELECT * FROM runs WHERE id = ? AND tenant_id = ?", id, tenant);
  if (!found) return no_such("run");
  return *std::move(found);
}

Result<model::Run> run_of_message(Connection& db, model::TenantId tenant, model::MessageId assistant_message) {
  auto found = find_row<model::Run>(
      db, "SELECT runs.* FROM messages JOIN runs ON runs.number = messages.run WHERE messages.id = ? AND tenant_id = ?",
      assistant_message, tenant);
  if (!found) return no_such("run");
  return *std::move(found);
}

Result<Page<model::Run>> runs(Connection& db, model::TenantId tenant, std::optional<model::ConversationId> conversation,
                              const PageQuery<model::RunId>& query) {
  std::optional<int64_t> cursor;
  if (const auto& id = cursor_of(query)) {
    cursor = find_number(db, "SELECT number FROM runs WHERE id = ? AND tenant_id = ?", *id, tenant);
    if (!cursor) return no_such("run to go on from");
  }
  const auto walk = Walk::of(query, Order::descending);
  const auto read = [](Query& row) {
    model::Run listed;
    read_row(row, listed);
    return listed;
  };
  if (!conversation) {
    return page_by_number<model::Run>(db, "SELECT * FROM runs WHERE tenant_id = ?1", "number", tenant, cursor,
                                      query.limit, walk, read);
  }
  const auto number =
      find_number(db, "SELECT number FROM conversations WHERE id = ? AND tenant_id = ?", *conversation, tenant);
  if (!number) return no_such("conversation");
  // Messages and runs of a conversation are made together, so their orders agree.
  if (cursor) cursor = find_number(db, "SELECT message FROM runs WHERE number = ?", *cursor);
  return page_by_number<model::Run>(
      db, "SELECT runs.* FROM messages JOIN runs ON runs.number = messages.run WHERE messages.conversation = ?1",
      "messages.number", *number, cursor, query.limit, walk, read);
}

Result<std::vector<model::Run>> unfinished_runs(Connection& db) {
  Query query(db, "SELECT runs.* FROM flights JOIN runs ON runs.number = flights.run ORDER BY runs.number");
  std::vector<model::Run> found;
  while (query.next()) read_row(query, found.emplace_back());
  return found;
}

}  // namespace sluice::store::sql
