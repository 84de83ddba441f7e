#include "store/pg_accept.h"

#include "base/check.h"
#include "journal/run_rules.h"
#include "store/patch.h"
#include "store/pg_fetched.h"
#include "store/pg_schema.h"
#include "store/sql_parts.h"

namespace sluice::store {

namespace {

// The columns that name a key.
struct KeyNames {
  PgArray principals{PgType::bytes};
  PgArray operations{PgType::text};
  PgArray keys{PgType::text};

  void add(const Idempotency& idempotency) {
    principals.add(idempotency.principal.ulid);
    operations.add(idempotency.operation);
    keys.add(idempotency.key);
  }
};

void add_optional(PgArray& array, const std::optional<std::string>& value) {
  value ? array.add(std::string_view(*value)) : array.add_null();
}
void add_optional(PgArray& array, std::optional<int64_t> value) { value ? array.add(*value) : array.add_null(); }

}  // namespace

PgAccepts::PgAccepts(std::vector<AcceptJob*> runs, std::vector<ConversationJob*> conversations, model::NodeId node)
    : runs_(std::move(runs)), conversations_(std::move(conversations)), node_(node) {}

// ── looking ──

void PgAccepts::send_looks(PgSession& session) {
  KeyNames named;
  PgArray places(PgType::bytes);
  PgArray wanted(PgType::bytes);
  PgArray tenants(PgType::bytes);
  for (const auto* job : runs_) {
    if (job->made.idempotency) named.add(*job->made.idempotency);
    if (!job->made.conversation) places.add(job->made.run.conversation_id.ulid);
    if (job->made.conversation) wanted.add(job->made.conversation->agent_id.ulid);
    tenants.add(job->made.run.tenant_id.ulid);
  }
  for (const auto* job : conversations_) {
    if (job->made.idempotency) named.add(*job->made.idempotency);
    wanted.add(job->made.conversation.agent_id.ulid);
    tenants.add(job->made.conversation.tenant_id.ulid);
  }
  PgValues at;
  at.array(places);
  // Numbers come after the lock, so that the messages of a conversation are in the order of their numbers.
  session.send("SELECT * FROM conversations WHERE id = ANY ($1) ORDER BY id FOR NO KEY UPDATE", at);
  PgValues how_many;
  how_many.number(static_cast<int64_t>(runs_.size() + conversations_.size()));
  session.send(
      "SELECT nextval('runs_number_seq'), nextval('messages_number_seq'), nextval('messages_number_seq'), "
      "nextval('conversations_number_seq') FROM generate_series(1, $1)",
      how_many);
  session.send("SELECT " + std::string(run_columns) +
                   " FROM conversations c JOIN heads h ON h.conversation = c.number JOIN runs r ON r.number = h.run "
                   "WHERE c.id = ANY ($1)",
               at);
  PgValues of;
  of.array(places).array(wanted).array(tenants);
  session.send(
      "SELECT * FROM agents WHERE id IN (SELECT agent_id FROM conversations WHERE id = ANY ($1)) UNION "
      "SELECT * FROM agents WHERE id = ANY ($2) UNION "
      "SELECT * FROM agents WHERE tenant_id = ANY ($3) AND is_default <> 0",
      of);
  asked_for_keys_ = named.keys.size() != 0;
  if (!asked_for_keys_) return;
  PgValues keys;
  keys.array(named.principals).array(named.operations).array(named.keys);
  session.send("SELECT k.principal, k.operation, k.key, k.request_sha256, k.response_body, k.created_at, CAST(" +
                   std::string(database_now_ms) + " - k.created_at >= " + std::to_string(limits::idempotency_ms) +
                   " AS int), " + std::string(run_columns) +
                   " FROM unnest($1, $2, $3) AS g (principal, operation, key) "
                   "JOIN idempotency_keys k ON k.principal = g.principal AND k.operation = g.operation AND k.key = "
                   "g.key LEFT JOIN runs r ON r.number = k.run LEFT JOIN heads h ON h.run = r.number",
               keys);
}

void PgAccepts::take_keys(const PgRows& rows) {
  for (int row = 0; row < rows.count(); ++row) {
    const Idempotency named{{rows.id(row, 0)}, std::string(rows.bytes(row, 1)), std::string(rows.bytes(row, 2)), ""};
    Key key{.request_sha256 = std::string(rows.bytes(row, 3)),
            .created_ms = rows.number(row, 5),
            .is_expired = rows.number(row, 6) != 0};
    if (!rows.is_null(row, 4)) key.response_body = rows.bytes(row, 4);
    if (!rows.is_null(row, 7)) key.run = run_from(rows, row, 7);
    known_keys_.emplace(name_of_key(named), std::move(key));
  }
}

// ── deciding ──

void PgAccepts::decide(PgSession& session, PgAnswers& answers, Connection& db) {
  read_fetched<model::Conversation>(session, answers.take(), 0,
                                    [&](int64_t number, model::Conversation conversation, int /*row*/) {
                                      const auto id = conversation.id;
                                      places_[id] = {std::move(conversation), number, std::nullopt};
                                    });
  const auto numbers = answers.take();
  const auto flights = answers.take();
  for (int row = 0; row < flights.count(); ++row) {
    auto run = run_from(flights, row, 0);
    places_[run.conversation_id].flight = std::move(run);
  }
  read_fetched<model::Agent>(session, answers.take(), 0, [&](int64_t /*number*/, model::Agent agent, int /*row*/) {
    if (agent.is_default) default_agents_[agent.tenant_id] = agent.id;
    const auto id = agent.id;
    agents_[id] = std::move(agent);
  });
  if (asked_for_keys_) take_keys(answers.take());
  if (session.failure()) return;
  int row = 0;
  SLUICE_CHECK(static_cast<std::size_t>(numbers.count()) == runs_.size() + conversations_.size());
  const auto next = [&] {
    const Numbers given{numbers.number(row, 0), numbers.number(row, 1), numbers.number(row, 2), numbers.number(row, 3)};
    ++row;
    return given;
  };
  for (auto* job : runs_) job->result.emplace(decide(job->made, next(), db));
  for (auto* job : conversations_) job->result.emplace(decide(job->made, next()));
}

// How old a key is, only the database's clock knows: the clocks of servers may be days apart.
const PgAccepts::Key* PgAccepts::key_of(const std::optional<Idempotency>& idempotency) const {
  if (!idempotency) return nullptr;
  const auto found = known_keys_.find(name_of_key(*idempotency));
  if (found == known_keys_.end() || found->second.is_expired) return nullptr;
  return &found->second;
}

const model::Agent* PgAccepts::agent_for(model::TenantId tenant, model::AgentId wanted) const {
  if (wanted == model::AgentId{}) {
    const auto standing = default_agents_.find(tenant);
    if (standing == default_agents_.end()) return nullptr;
    wanted = standing->second;
  }
  const auto found = agents_.find(wanted);
  return found != agents_.end() && found->second.tenant_id == tenant ? &found->second : nullptr;
}

Result<AcceptOutcome> PgAccepts::decide(const NewRun& made, const Numbers& numbers, Connection& db) {
  journal::AcceptLooks looks;
  if (const auto* kept = key_of(made.idempotency)) looks.key = {kept->request_sha256, kept->run, std::nullopt};
  const auto place = places_.find(made.run.conversation_id);
  if (!made.conversation && place != places_.end() && place->second.conversation.tenant_id == made.run.tenant_id) {
    looks.conversation = place->second.conversation;
    looks.flight = place->second.flight;
  }
  const auto& conversation = made.conversation ? made.conversation : looks.conversation;
  if (!looks.key && conversation) {
    if (const auto* agent = agent_for(made.run.tenant_id, conversation->agent_id)) looks.agent = *agent;
    looks.names = sql::refusal_of_names(db, names_of(made));
    looks.secrets = sql::refusal_of_secrets(db, made);
  }
  auto decided = journal::decide(made, std::move(looks), node_);
  if (!decided) return decided.error();
  if (auto* outcome = std::get_if<AcceptOutcome>(&decided.value())) return std::move(*outcome);

  auto& accepted = std::get<Accepted>(decided.value());
  SLUICE_CHECK(accepted.run.head.value == made.events.size());
  Made run{&made, accepted.conversation, accepted.run, numbers};
  if (!made.conversation) run.numbers.conversation = place->second.number;
  if (made.conversation) made_conversations_.push_back({accepted.conversation, numbers.conversation});
  sql::replace_from(db, run.numbers.conversation, made.replaces_from);
  sql::keep_names(db, names_of(made));
  sql::join_bag(db, made.run.tenant_id, made.run.conversation_id, made.attached);
  sql::keep_secrets_of(db, made);
  keep_key(made.idempotency, numbers.run, std::nullopt);
  made_runs_.push_back(std::move(run));
  return AcceptOutcome(std::move(accepted));
}

Result<ConversationOutcome> PgAccepts::decide(const NewConversation& made, const Numbers& numbers) {
  journal::ConversationLooks looks;
  if (const auto* kept = key_of(made.idempotency)) {
    looks.key = {kept->request_sha256, std::nullopt, kept->response_body.value_or("")};
  }
  if (const auto* agent = agent_for(made.conversation.tenant_id, made.conversation.agent_id)) looks.agent = *agent;
  auto decided = journal::decide(made, std::move(looks));
  if (!decided) return decided.error();
  if (auto* outcome = std::get_if<ConversationOutcome>(&decided.value())) return std::move(*outcome);
  made_conversations_.push_back({std::get<model::Conversation>(std::move(decided).take()), numbers.conversation});
  keep_key(made.idempotency, std::nullopt, made.response_body);
  return ConversationOutcome(Unit{});
}

void PgAccepts::keep_key(const std::optional<Idempotency>& idempotency, std::optional<int64_t> run,
                         const std::optional<std::string>& response_body) {
  if (!idempotency) return;
  auto& kept = kept_keys_.emplace_back(KeptKey{&*idempotency, run, response_body, std::nullopt});
  const auto former = known_keys_.find(name_of_key(*idempotency));
  if (former != known_keys_.end()) kept.replaced = former->second.created_ms;
}

// ── writing ──

void PgAccepts::send_writes(PgSession& session) const {
  if (!made_conversations_.empty()) send_conversations(session);
  if (!made_runs_.empty()) {
    send_messages(session);
    send_runs(session);
    send_journal(session);
  }
  if (!kept_keys_.empty()) send_keys(session);
}

void PgAccepts::send_conversations(PgSession& session) const {
  std::vector<PgArray> columns;
  for (const auto type : {PgType::number, PgType::bytes, PgType::bytes, PgType::bytes, PgType::text, PgType::text,
                          PgType::text, PgType::number, PgType::text, PgType::text, PgType::number, PgType::number,
                          PgType::number, PgType::text, PgType::text, PgType::number, PgType::text}) {
    columns.emplace_back(type);
  }
  for (const auto& [made, number] : made_conversations_) {
    auto column = columns.begin();
    (column++)->add(number);
    (column++)->add(made.id.ulid);
    (column++)->add(made.tenant_id.ulid);
    (column++)->add(made.agent_id.ulid);
    add_optional(*column++, made.user_id);
    add_optional(*column++, made.title);
    (column++)->add(metadata_text(made.metadata));
    add_optional(*column++, made.filler_enabled ? std::optional<int64_t>(*made.filler_enabled ? 1 : 0) : std::nullopt);
    add_optional(*column++, made.repository_id);
    (column++)->add(model::name_of(made.status));
    (column++)->add(made.last_message_at.ms);
    (column++)->add(made.created_at.ms);
    (column++)->add(made.updated_at.ms);
    (column++)->add(made.runtime.agent_type);
    (column++)->add(model::name_of(made.runtime.mode));
    (column++)->add(made.runtime.sticky_ttl_seconds);
    (column++)->add(model::name_of(made.kind));
  }
  PgValues values;
  for (const auto& column : columns) values.array(column);
  session.send(
      "INSERT INTO conversations (number, id, tenant_id, agent_id, user_id, title, metadata, filler_enabled, "
      "repository_id, status, last_message_at, created_at, updated_at, agent_type, mode, sticky_ttl_seconds, kind) "
      "SELECT * FROM unnest($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)",
      values);
}

void PgAccepts::send_messages(PgSession& session) const {
  PgArray numbers(PgType::number);
  PgArray ids(PgType::bytes);
  PgArray places(PgType::number);
  PgArray runs(PgType::number);
  PgArray statuses(PgType::text);
  PgArray texts(PgType::text);
  PgArray moved(PgType::number);
  PgArray times(PgType::number);
  const auto add = [&](const model::Message& message, int64_t number, const Made& made, std::optional<int64_t> run) {
    numbers.add(number);
    ids.add(message.id.ulid);
    places.add(made.numbers.conversation);
    add_optional(runs, run);
    statuses.add(model::name_of(message.status));
    texts.add(model::to_json(message));
  };
  for (const auto& made : made_runs_) {
    add(made.source->user_message, made.numbers.user_message, made, std::nullopt);
    add(made.source->assistant_message, made.numbers.assistant_message, made, made.numbers.run);
    if (made.source->conversation) continue;
    moved.add(made.numbers.conversation);
    times.add(made.conversation.last_message_at.ms);
  }
  PgValues values;
  values.array(numbers).array(ids).array(places).array(runs).array(statuses).array(texts);
  session.send(
      "INSERT INTO messages (number, id, conversation, run, status, json) SELECT * FROM unnest($1, $2, $3, $4, $5, $6)",
      values);
  PgValues latest;
  latest.array(moved).array(times);
  session.send(
      "UPDATE conversations c SET last_message_at = g.at FROM unnest($1, $2) AS g (number, at) "
      "WHERE c.number = g.number",
      latest);
}

void PgAccepts::send_runs(PgSession& session) const {
  std::vector<PgArray> columns;
  for (const auto type :
       {PgType::number, PgType::bytes, PgType::bytes, PgType::bytes, PgType::bytes, PgType::bytes, PgType::bytes,
        PgType::text, PgType::number, PgType::number, PgType::number, PgType::number, PgType::number}) {
    columns.emplace_back(type);
  }
  for (const auto& [source, conversation, run, numbers] : made_runs_) {
    auto column = columns.begin();
    (column++)->add(numbers.run);
    (column++)->add(run.id.ulid);
    (column++)->add(run.tenant_id.ulid);
    (column++)->add(run.conversation_id.ulid);
    (column++)->add(run.user_message_id.ulid);
    (column++)->add(run.message_id.ulid);
    (column++)->add(run.agent_id.ulid);
    (column++)->add(model::name_of(run.state));
    (column++)->add(static_cast<int64_t>(run.epoch.value));
    (column++)->add(static_cast<int64_t>(run.head.value));
    (column++)->add(run.created_at.ms);
    (column++)->add(numbers.conversation);
    (column++)->add(numbers.assistant_message);
  }
  PgValues values;
  for (const auto& column : columns) values.array(column);
  values.id(node_.ulid);
  session.send(
      "INSERT INTO runs (number, id, tenant_id, conversation_id, user_message_id, message_id, agent_id, state, epoch, "
      "head, created_at, conversation, message, node) "
      "SELECT *, $14 FROM unnest($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)",
      values);
  PgValues heads;
  for (const int column : {1, 0, 11, 12, 8, 9, 7}) heads.array(columns[static_cast<std::size_t>(column)]);
  heads.id(node_.ulid);
  session.send(
      "INSERT INTO heads (id, run, conversation, message, epoch, head, state, node) "
      "SELECT *, $8 FROM unnest($1, $2, $3, $4, $5, $6, $7)",
      heads);
}

void PgAccepts::send_journal(PgSession& session) const {
  PgArray runs(PgType::number);
  PgArray lasts(PgType::number);
  PgArray batches(PgType::bytes);
  for (const auto& made : made_runs_) {
    if (made.source->events.empty()) continue;
    runs.add(made.numbers.run);
    lasts.add(static_cast<int64_t>(made.run.head.value));
    batches.add(model::encode_batch(made.source->events));
  }
  PgValues values;
  values.array(runs).array(lasts).array(batches);
  session.send("INSERT INTO journal (run, last, batch) SELECT * FROM unnest($1, $2, $3)", values);
}

void PgAccepts::send_keys(PgSession& session) const {
  KeyNames named;
  PgArray digests(PgType::bytes);
  PgArray runs(PgType::number);
  PgArray bodies(PgType::text);
  KeyNames replaced;
  PgArray replaced_times(PgType::number);
  for (const auto& kept : kept_keys_) {
    named.add(*kept.idempotency);
    digests.add(kept.idempotency->request_sha256);
    add_optional(runs, kept.run);
    add_optional(bodies, kept.response_body);
    if (!kept.replaced) continue;
    replaced.add(*kept.idempotency);
    replaced_times.add(*kept.replaced);
  }
  if (replaced.keys.size() != 0) {
    PgValues old;
    old.array(replaced.principals).array(replaced.operations).array(replaced.keys).array(replaced_times);
    // Not one that another server has made meanwhile.
    session.send(
        "DELETE FROM idempotency_keys k USING unnest($1, $2, $3, $4) AS g (principal, operation, key, at) WHERE "
        "k.principal = g.principal AND k.operation = g.operation AND k.key = g.key AND k.created_at = g.at",
        old);
  }
  PgValues values;
  values.array(named.principals).array(named.operations).array(named.keys).array(digests).array(runs).array(bodies);
  session.send(
      "INSERT INTO idempotency_keys (principal, operation, key, request_sha256, run, response_body, created_at) "
      "SELECT *, " +
          std::string(database_now_ms) + " FROM unnest($1, $2, $3, $4, $5, $6)",
      values);
}

}  // namespace sluice::store
