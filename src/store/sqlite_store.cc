#include "store/sqlite_store.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/sql_parts.h"
#include "store/sqlite_runs.h"

namespace sluice::store {

namespace {

// Conversations are nobody else's business. Done by path and before SQLite opens the file: closing
// a descriptor of it later would drop the locks this process holds.
Result<Unit> make_private(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd >= 0) ::close(fd);
  if (::chmod(path.c_str(), 0600) == 0) return Unit{};
  return Error{ErrorKind::invalid, path + " cannot be opened for writing: is the folder there, and ours?"};
}

}  // namespace

Result<std::unique_ptr<Store>> open_sqlite(SqliteOptions options, world::Loop& loop, world::Metrics& metrics) {
  return SqliteStore::open({.path = std::move(options.path), .strict = options.strict}, options.reader_count, loop,
                           metrics);
}

Result<std::unique_ptr<Store>> SqliteStore::open(SqliteWriting options, int reader_count, world::Loop& loop,
                                                 world::Metrics& metrics) {
  const std::string doing = "open store " + options.path;
  if (auto made = make_private(options.path); !made) return std::move(made.error()).in(doing);
  auto locked = lock_database(options.path);
  if (!locked) return std::move(locked.error()).in(doing);
  auto file = std::make_unique<File>(options.path);
  const auto search_ms_max = options.search_ms_max_for_test.value_or(Database::search_ms_max_by_default);
  auto side = SqliteWriteSide::open(std::move(options), metrics);
  if (!side) return std::move(side.error()).in(doing);
  Parts parts{.lock = std::move(locked).take(), .search_ms_max = search_ms_max};
  parts.open_runs = &side.value()->open_runs();
  parts.side = std::move(side).take();
  for (int i = 0; i < std::max(1, reader_count); ++i) {
    auto reader = file->open_reader();
    if (!reader) return std::move(reader.error()).in(doing);
    parts.readers.push_back(std::move(reader).take());
  }
  parts.file = std::move(file);
  return std::unique_ptr<Store>(new SqliteStore(std::move(parts), loop, metrics));
}

Result<std::shared_ptr<Connection>> SqliteStore::File::open_reader() const {
  auto opened = SqliteConnection::open(path_, SqliteConnection::Mode::reader);
  if (!opened) return opened.error();
  return std::shared_ptr<Connection>(std::move(opened).take());
}

SqliteStore::SqliteStore(Parts parts, world::Loop& loop, world::Metrics& metrics)
    : loop_(loop),
      lock_(std::move(parts.lock)),
      is_alone_(parts.is_alone),
      side_(std::move(parts.side)),
      open_runs_(*parts.open_runs),
      file_(std::move(parts.file)),
      poster_(loop),
      writer_(*side_, poster_, metrics, parts.executors),
      readers_(std::move(parts.readers), *file_, writer_, poster_, {}, parts.executors),
      searchers_(opened_when_needed(1), *file_, writer_, poster_, search_bounds(), parts.executors),
      database_(writer_, readers_, searchers_, Database::Sharing::alone, parts.search_ms_max),
      nodes_({}, loop),
      tidying_(tidy_side_, writer_, readers_, metrics) {}

// ── runs and their journals ──

void SqliteStore::create_conversation(NewConversation made, Done<ConversationOutcome> done) {
  const auto whose = made.conversation.tenant_id;
  database_.write(whose, std::move(done),
                  [made = std::move(made)](Connection& db) { return sql::create_conversation(db, made); });
}

// Events become Committed when the answer is told, which is after the commit and needs no copy.
class SqliteStore::AcceptWork final : public Work {
 public:
  AcceptWork(SqliteStore& store, NewRun made, Done<AcceptOutcome> done)
      : store_(store), made_(std::move(made)), done_(std::move(done)) {
    made_.run.node = store.nodes().self();
  }
  Class work_class() const override { return Class::boundary; }
  void attempt(Connection& db) override {
    result_.emplace(sql::accept(db, store_.open_runs_, made_));
    if (const auto* open = store_.open_runs_.find(made_.run.id)) rows_ = open->rows;
  }
  void fail(Error error) override { result_.emplace(std::move(error)); }
  void answer() override {
    if (*result_) {
      if (auto* accepted = std::get_if<Accepted>(&result_->value())) {
        if (store_.is_alone_) store_.open_rows_[made_.run.id] = std::move(rows_);
        accepted->events = committed(std::move(made_.events), {1});
      }
    }
    done_(*std::move(result_));
  }

 private:
  SqliteStore& store_;
  NewRun made_;
  Done<AcceptOutcome> done_;
  JournalRows rows_;
  std::optional<Result<AcceptOutcome>> result_;
};

class SqliteStore::AppendWork final : public Work {
 public:
  AppendWork(SqliteStore& store, Append append, Done<CommittedBatch> done)
      : store_(store), append_(std::move(append)), done_(std::move(done)) {}
  Class work_class() const override {
    const bool at_gate = append_.approval || !append_.secrets.empty() || !append_.audit.empty();
    return at_gate || append_.commit_class == CommitClass::boundary ? Class::boundary : Class::flow;
  }
  void attempt(Connection& db) override { row_.emplace(sql::append(db, store_.open_runs_, append_)); }
  void fail(Error error) override { row_.emplace(std::move(error)); }
  void answer() override {
    if (!*row_) return done_(std::move(row_->error()));
    note_row(row_->value());
    done_(committed(std::move(append_.events), {append_.head.value + 1}));
  }

 private:
  void note_row(int64_t row) {
    if (append_.state && model::is_over(*append_.state)) {
      store_.open_rows_.erase(append_.run);
    } else if (const auto open = store_.open_rows_.find(append_.run); row > 0 && open != store_.open_rows_.end()) {
      open->second.add(row, append_.events.size());
    }
  }

  SqliteStore& store_;
  Append append_;
  Done<CommittedBatch> done_;
  std::optional<Result<int64_t>> row_;
};

void SqliteStore::accept(NewRun made, Done<AcceptOutcome> done) {
  writer_.submit(std::make_unique<AcceptWork>(*this, std::move(made), std::move(done)));
}

void SqliteStore::append(Append append, Done<CommittedBatch> done) {
  writer_.submit(std::make_unique<AppendWork>(*this, std::move(append), std::move(done)));
}

void SqliteStore::take_over(model::RunId run, model::Epoch seen, Done<model::Run> done) {
  struct TakenOver {
    model::Run run;
    std::optional<JournalRows> rows;
  };
  Done<TakenOver> noted = [this, done = std::move(done)](Result<TakenOver> taken) mutable {
    if (!taken) return done(std::move(taken.error()));
    if (taken.value().rows && is_alone_) open_rows_[taken.value().run.id] = *std::move(taken.value().rows);
    done(std::move(taken.value().run));
  };
  database_.write(std::move(noted), [this, run, seen, self = nodes().self()](Connection& db) -> Result<TakenOver> {
    auto taken = sql::take_over(db, open_runs_, run, {seen, self});
    if (!taken) return taken.error();
    const auto* open = open_runs_.find(run);
    return TakenOver{std::move(taken).take(), open != nullptr ? std::optional(open->rows) : std::nullopt};
  });
}

void SqliteStore::read(model::RunId run, model::Position after, std::size_t bytes_max, Done<JournalPage> done) {
  std::optional<sql::KnownRows> known;
  if (const auto open = open_rows_.find(run); open != open_rows_.end()) {
    known = sql::rows_for_page(open->second, after, bytes_max);
  }
  database_.read(run, std::move(done),
                 [this, run, known = std::move(known), after, bytes_max](Connection& db) -> Result<JournalPage> {
                   auto slice = sql::journal(db, unpacked_rows_, run, known, after, bytes_max);
                   if (!slice) return slice.error();
                   return JournalPage{committed(std::move(slice.value().events), slice.value().first),
                                      slice.value().run};
                 });
}

void SqliteStore::unfinished_runs(Done<UnfinishedRuns> done) {
  // One server uses the store, so that server's clock is the store's.
  Done<std::vector<model::Run>> listed = [this, done = std::move(done)](Result<std::vector<model::Run>> runs) mutable {
    if (!runs) return done(runs.error());
    done(UnfinishedRuns{std::move(runs).take(), loop_.now()});
  };
  // The writer is asked, because it alone knows the heads.
  const auto attempt = [this](Connection& db) { return sql::unfinished_runs(db, open_runs_); };
  using Listing = Operation<std::vector<model::Run>, decltype(attempt)>;
  writer_.submit(std::make_unique<Listing>(Work::Class::look, attempt, std::move(listed)));
}

void SqliteStore::carried_runs(Done<std::vector<model::RunId>> done) {
  database_.read(std::move(done), [self = nodes().self()](Connection& db) { return sql::carried_runs(db, self); });
}

// ── the store itself ──

void SqliteStore::reopen(Done<Unit> done) {
  using OpenRows = std::unordered_map<model::RunId, JournalRows>;
  // Runs go on without being taken over, so it is learned here where their journals are by now.
  Done<OpenRows> noted = [this, done = std::move(done)](Result<OpenRows> rows) mutable {
    if (!rows) return done(std::move(rows.error()));
    if (is_alone_) open_rows_ = std::move(rows).take();
    done(Unit{});
  };
  const auto attempt = [this](Connection&) -> Result<OpenRows> { return open_runs_.all_rows(); };
  writer_.submit(
      std::make_unique<Operation<OpenRows, decltype(attempt)>>(Work::Class::reopen, attempt, std::move(noted)));
}

void SqliteStore::tidy_up(Timestamp now, Done<int> done) {
  unpacked_rows_.clear();  // so that none is kept long for a reader who went away
  tidying_.tidy_up(now, std::move(done));
}

}  // namespace sluice::store
