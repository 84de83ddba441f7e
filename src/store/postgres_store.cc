#include "store/postgres_store.h"

#include <algorithm>

#include "store/pg_journal.h"
#include "store/pg_schema.h"

namespace sluice::store {

Result<std::unique_ptr<Store>> open_postgres(PostgresOptions options, world::Loop& loop, world::Metrics& metrics) {
  return PostgresStore::open(std::move(options), loop, metrics);
}

Result<std::unique_ptr<Store>> PostgresStore::open(PostgresOptions options, world::Loop& loop,
                                                   world::Metrics& metrics) {
  constexpr std::string_view doing = "open the store in PostgreSQL";
  {
    auto session =
        PgSession::connect({.url = options.url, .node = options.node.text(), .idle_ms_max = pg_reader_idle_ms_max});
    if (!session) return std::move(session.error()).in(doing);
    if (auto migrated = migrate(*session.value()); !migrated) return std::move(migrated.error()).in(doing);
  }
  Opened opened{std::make_unique<PgWriteSide>(options.url, options.node), {}};
  if (auto side = opened.side->reopen(); !side) return std::move(side.error()).in(doing);
  const Address address(options.url, options.node);
  for (int i = 0; i < std::max(1, options.reader_count); ++i) {
    auto reader = address.open_reader();
    if (!reader) return std::move(reader.error()).in(doing);
    opened.readers.push_back(std::move(reader).take());
  }
  return std::unique_ptr<Store>(new PostgresStore(std::move(opened), options, loop, metrics));
}

Result<std::shared_ptr<Connection>> PostgresStore::Address::open_reader() const {
  auto session =
      PgSession::connect({.url = url_, .setup = setup_, .node = node_.text(), .idle_ms_max = pg_reader_idle_ms_max});
  if (!session) return session.error();
  return std::shared_ptr<Connection>(std::make_shared<PgConnection>(std::move(session).take()));
}

PostgresStore::PostgresStore(Opened opened, const PostgresOptions& options, world::Loop& loop, world::Metrics& metrics)
    : side_(std::move(opened.side)),
      silent_ms_max_(options.silent_ms_max),
      address_(options.url, options.node),
      search_address_(options.url, options.node,
                      "SET statement_timeout = " + std::to_string(Database::search_ms_max_by_default) + ";"),
      poster_(loop),
      writer_(*side_, poster_, metrics),
      readers_(std::move(opened.readers), address_, writer_, poster_),
      searchers_(opened_when_needed(1), search_address_, writer_, poster_, search_bounds()),
      database_(writer_, readers_, searchers_, Database::Sharing::shared),
      nodes_(options.url, options.node, loop, poster_),
      hot_({options.url, options.node}, nodes_.others(), poster_, metrics, &PostgresStore::committed),
      tidying_(tidy_side_, writer_, readers_, metrics) {
  nodes_.on_wish([this](PgNews wish) { hot_.heed(std::move(wish)); });
}

// ── runs and their journals ──

void PostgresStore::create_conversation(NewConversation made, Done<ConversationOutcome> done) {
  hot_.create_conversation(std::move(made), std::move(done));
}

void PostgresStore::accept(NewRun made, Done<AcceptOutcome> done) { hot_.accept(std::move(made), std::move(done)); }

void PostgresStore::append(Append append, Done<CommittedBatch> done) {
  hot_.append(std::move(append), std::move(done));
}

void PostgresStore::take_over(model::RunId run, model::Epoch seen, Done<model::Run> done) {
  hot_.take_over(run, seen, std::move(done));
}

void PostgresStore::read(model::RunId run, model::Position after, std::size_t bytes_max, Done<JournalPage> done) {
  database_.read(run, std::move(done), [this, run, after, bytes_max](Connection& db) -> Result<JournalPage> {
    auto slice = pg::journal(db, unpacked_rows_, run, after, bytes_max);
    if (!slice) return slice.error();
    return JournalPage{committed(std::move(slice.value().events), slice.value().first), slice.value().run};
  });
}

void PostgresStore::unfinished_runs(Done<UnfinishedRuns> done) {
  database_.read(std::move(done), [](Connection& db) { return pg::unfinished_runs(db); });
}

void PostgresStore::carried_runs(Done<std::vector<model::RunId>> done) {
  database_.read(std::move(done), [node = nodes_.self()](Connection& db) { return pg::carried_runs(db, node); });
}

// ── the store itself ──

bool PostgresStore::broken() const {
  const auto waited_ms = std::max(side_->writing_ms(), hot_.writing_ms());
  return writer_.unwritable() || hot_.unwritable() || waited_ms >= silent_ms_max_;
}

void PostgresStore::reopen(Done<Unit> done) {
  Done<Unit> then = [this, done = std::move(done)](Result<Unit> reopened) mutable {
    if (!reopened) return done(std::move(reopened));
    hot_.reopen(std::move(done));
  };
  const auto attempt = [](Connection&) -> Result<Unit> { return Unit{}; };
  writer_.submit(std::make_unique<Operation<Unit, decltype(attempt)>>(Work::Class::reopen, attempt, std::move(then)));
}

void PostgresStore::tidy_up(Timestamp now, Done<int> done) {
  unpacked_rows_.clear();  // so that none is kept long for a reader who went away
  tidying_.tidy_up(now, std::move(done));
}

}  // namespace sluice::store
