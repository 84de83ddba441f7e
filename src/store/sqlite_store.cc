#include "store/sqlite_store.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "store/sqlite_records.h"
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

Result<std::unique_ptr<Store>> SqliteStore::open(WriterOptions options, int reader_count, world::Loop& loop,
                                                 world::Metrics& metrics) {
  const std::string doing = "open store " + options.path;
  if (auto made = make_private(options.path); !made) return std::move(made.error()).in(doing);
  Opened opened;
  auto locked = lock(options.path + ".lock");
  if (!locked) return std::move(locked.error()).in(doing);
  opened.lock.emplace(std::move(locked).take());
  auto writer = Writer::open(options);
  if (!writer) return std::move(writer.error()).in(doing);
  opened.writer.emplace(std::move(writer).take());
  for (int i = 0; i < std::max(1, reader_count); ++i) {
    auto reader = Connection::open(options.path, Connection::Mode::reader);
    if (!reader) return std::move(reader.error()).in(doing);
    opened.readers.push_back(std::move(reader).take());
  }
  return std::unique_ptr<Store>(new SqliteStore(std::move(opened), options, loop, metrics));
}

Result<SqliteStore::FileLock> SqliteStore::lock(const std::string& path) {
  FileLock held(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (held.fd_ < 0) return Error{ErrorKind::invalid, path + " cannot be made: " + std::strerror(errno)};
  if (::flock(held.fd_, LOCK_EX | LOCK_NB) != 0) {
    return Error{ErrorKind::conflict, "another server uses it"};
  }
  return held;
}

SqliteStore::FileLock::~FileLock() {
  if (fd_ >= 0) ::close(fd_);
}

SqliteStore::SqliteStore(Opened opened, const WriterOptions& options, world::Loop& loop, world::Metrics& metrics)
    : lock_(std::move(*opened.lock)),
      sealed_journals_(metrics.counter("sluice_store_sealed_journals_total", "Journals of finished runs sealed.")),
      postman_(loop),
      writer_(std::move(*opened.writer), options, postman_, metrics),
      readers_(std::move(opened.readers), options.path, writer_, postman_) {}

CommittedBatch SqliteStore::committed(std::vector<model::RunEvent> events, model::Position first) {
  CommittedBatch batch;
  batch.reserve(events.size());
  for (auto& event : events) batch.push_back(commit(std::move(event), {first.value + batch.size()}));
  return batch;
}

// ── tenants, keys, agents ──

void SqliteStore::create_tenant(model::Tenant tenant, model::Agent default_agent, Done<Unit> done) {
  write(std::move(done), [tenant = std::move(tenant), agent = std::move(default_agent)](Connection& db) {
    return sql::create_tenant(db, tenant, agent);
  });
}

void SqliteStore::update_tenant(model::TenantId id, TenantPatch patch, Timestamp at, Done<model::Tenant> done) {
  write(std::move(done),
        [id, patch = std::move(patch), at](Connection& db) { return sql::update_tenant(db, id, patch, at); });
}

void SqliteStore::tenant(model::TenantId id, Done<model::Tenant> done) {
  read(std::move(done), [id](Connection& db) { return sql::tenant(db, id); });
}

void SqliteStore::tenants(PageQuery<model::TenantId> query, Done<Page<model::Tenant>> done) {
  read(std::move(done), [query](Connection& db) { return sql::tenants(db, query); });
}

void SqliteStore::create_service_key(model::ServiceKey key, Done<Unit> done) {
  write(std::move(done), [key = std::move(key)](Connection& db) { return sql::create_service_key(db, key); });
}

void SqliteStore::revoke_service_key(model::TenantId tenant, model::ServiceKeyId id, Timestamp at,
                                     Done<model::ServiceKey> done) {
  write(std::move(done), [tenant, id, at](Connection& db) { return sql::revoke_service_key(db, tenant, id, at); });
}

void SqliteStore::service_keys(model::TenantId tenant, PageQuery<model::ServiceKeyId> query,
                               Done<Page<model::ServiceKey>> done) {
  read(std::move(done), [tenant, query](Connection& db) { return sql::service_keys(db, tenant, query); });
}

void SqliteStore::find_service_key(std::string secret_sha256, Done<KeyHolder> done) {
  read(std::move(done),
       [secret = std::move(secret_sha256)](Connection& db) { return sql::find_service_key(db, secret); });
}

void SqliteStore::create_approver_key(model::ApproverKey key, Done<Unit> done) {
  write(std::move(done), [key = std::move(key)](Connection& db) { return sql::create_approver_key(db, key); });
}

void SqliteStore::revoke_approver_key(model::TenantId tenant, model::ApproverKeyId id, Timestamp at,
                                      Done<model::ApproverKey> done) {
  write(std::move(done), [tenant, id, at](Connection& db) { return sql::revoke_approver_key(db, tenant, id, at); });
}

void SqliteStore::approver_keys(model::TenantId tenant, PageQuery<model::ApproverKeyId> query,
                                Done<Page<model::ApproverKey>> done) {
  read(std::move(done), [tenant, query](Connection& db) { return sql::approver_keys(db, tenant, query); });
}

void SqliteStore::create_agent(model::Agent agent, Done<Unit> done) {
  write(std::move(done), [agent = std::move(agent)](Connection& db) { return sql::create_agent(db, agent); });
}

void SqliteStore::update_agent(model::TenantId tenant, model::AgentId id, AgentPatch patch, Timestamp at,
                               Done<model::Agent> done) {
  write(std::move(done), [tenant, id, patch = std::move(patch), at](Connection& db) {
    return sql::update_agent(db, tenant, id, patch, at);
  });
}

void SqliteStore::delete_agent(model::TenantId tenant, model::AgentId id, Done<Unit> done) {
  write(std::move(done), [tenant, id](Connection& db) { return sql::delete_agent(db, tenant, id); });
}

void SqliteStore::agent(model::TenantId tenant, model::AgentId id, Done<model::Agent> done) {
  read(std::move(done), [tenant, id](Connection& db) { return sql::agent(db, tenant, id); });
}

void SqliteStore::default_agent(model::TenantId tenant, Done<model::Agent> done) {
  read(std::move(done), [tenant](Connection& db) { return sql::default_agent(db, tenant); });
}

void SqliteStore::agents(model::TenantId tenant, PageQuery<model::AgentId> query, Done<Page<model::Agent>> done) {
  read(std::move(done), [tenant, query](Connection& db) { return sql::agents(db, tenant, query); });
}

// ── conversations and messages ──

void SqliteStore::create_conversation(NewConversation made, Done<ConversationOutcome> done) {
  write(std::move(done), [made = std::move(made)](Connection& db) { return sql::create_conversation(db, made); });
}

void SqliteStore::update_conversation(model::TenantId tenant, model::ConversationId id, ConversationPatch patch,
                                      Timestamp at, Done<model::Conversation> done) {
  write(std::move(done), [tenant, id, patch = std::move(patch), at](Connection& db) {
    return sql::update_conversation(db, tenant, id, patch, at);
  });
}

void SqliteStore::conversation(model::TenantId tenant, model::ConversationId id, Done<model::Conversation> done) {
  read(std::move(done), [tenant, id](Connection& db) { return sql::conversation(db, tenant, id); });
}

void SqliteStore::conversations(model::TenantId tenant, ConversationFilter filter,
                                PageQuery<model::ConversationId> query, Done<Page<model::Conversation>> done) {
  read(std::move(done), [tenant, filter = std::move(filter), query](Connection& db) {
    return sql::conversations(db, tenant, filter, query);
  });
}

void SqliteStore::messages(model::TenantId tenant, model::ConversationId conversation, Order order,
                           PageQuery<model::MessageId> query, Done<Page<StoredMessage>> done) {
  read(std::move(done), [tenant, conversation, order, query](Connection& db) {
    return sql::messages(db, tenant, conversation, order, query);
  });
}

void SqliteStore::message(model::TenantId tenant, model::MessageId id, Done<StoredMessage> done) {
  read(std::move(done), [tenant, id](Connection& db) { return sql::message(db, tenant, id); });
}

void SqliteStore::history(model::ConversationId conversation, model::MessageId before, int count_max,
                          Done<std::vector<Turn>> done) {
  read(std::move(done),
       [conversation, before, count_max](Connection& db) { return sql::history(db, conversation, before, count_max); });
}

// ── runs and their journals ──

// Events become Committed when the answer is told, which is after the commit and needs no copy.
class SqliteStore::AcceptWork final : public Work {
 public:
  AcceptWork(SqliteStore& store, NewRun made, Done<AcceptOutcome> done)
      : store_(store), made_(std::move(made)), done_(std::move(done)) {}
  Class work_class() const override { return Class::boundary; }
  void attempt(Connection& db) override {
    result_.emplace(sql::accept(db, store_.writer_.open_runs(), made_));
    if (const auto* open = store_.writer_.open_runs().find(made_.run.id)) rows_ = open->rows;
  }
  void fail(Error error) override { result_.emplace(std::move(error)); }
  void answer() override {
    if (*result_) {
      if (auto* accepted = std::get_if<Accepted>(&result_->value())) {
        store_.open_rows_[made_.run.id] = std::move(rows_);
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
  void attempt(Connection& db) override { row_.emplace(sql::append(db, store_.writer_.open_runs(), append_)); }
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
    if (taken.value().rows) open_rows_[taken.value().run.id] = *std::move(taken.value().rows);
    done(std::move(taken.value().run));
  };
  write(std::move(noted), [this, run, seen](Connection& db) -> Result<TakenOver> {
    auto taken = sql::take_over(db, writer_.open_runs(), run, seen);
    if (!taken) return taken.error();
    const auto* open = writer_.open_runs().find(run);
    return TakenOver{std::move(taken).take(), open != nullptr ? std::optional(open->rows) : std::nullopt};
  });
}

void SqliteStore::journal(model::RunId run, model::Position after, std::size_t bytes_max, Done<JournalPage> done) {
  std::optional<JournalRows> rows;
  if (const auto open = open_rows_.find(run); open != open_rows_.end()) rows = open->second;
  read(std::move(done), [this, run, rows = std::move(rows), after, bytes_max](Connection& db) -> Result<JournalPage> {
    auto slice = sql::journal(db, unpacked_rows_, run, rows, after, bytes_max);
    if (!slice) return slice.error();
    return JournalPage{committed(std::move(slice.value().events), slice.value().first), slice.value().run};
  });
}

void SqliteStore::run(model::TenantId tenant, model::RunId id, Done<model::Run> done) {
  read(std::move(done), [tenant, id](Connection& db) { return sql::run(db, tenant, id); });
}

void SqliteStore::run_of_message(model::TenantId tenant, model::MessageId assistant_message, Done<model::Run> done) {
  read(std::move(done),
       [tenant, assistant_message](Connection& db) { return sql::run_of_message(db, tenant, assistant_message); });
}

void SqliteStore::runs(model::TenantId tenant, RunFilter filter, PageQuery<model::RunId> query,
                       Done<Page<model::Run>> done) {
  read(std::move(done),
       [tenant, filter = std::move(filter), query](Connection& db) { return sql::runs(db, tenant, filter, query); });
}

void SqliteStore::unfinished_runs(Done<std::vector<model::Run>> done) {
  // Asked of the writer: it alone knows the heads.
  write(std::move(done), [this](Connection& db) { return sql::unfinished_runs(db, writer_.open_runs()); });
}

// ── the store itself ──

void SqliteStore::reopen(Done<Unit> done) {
  open_rows_.clear();  // whoever takes a run over learns anew where its journal is
  const auto attempt = [](Connection&) -> Result<Unit> { return Unit{}; };
  writer_.submit(std::make_unique<Operation<Unit, decltype(attempt)>>(Work::Class::reopen, attempt, std::move(done)));
}

void SqliteStore::tidy_up(Timestamp now, Done<int> done) {
  Done<int> counted = [this, done = std::move(done)](Result<int> sealed) mutable {
    unpacked_rows_.clear();  // so that none is kept long for a reader who went away
    if (sealed) sealed_journals_.add(static_cast<uint64_t>(sealed.value()));
    done(std::move(sealed));
  };
  const auto attempt = [now](Connection& db) { return sql::tidy_up(db, now); };
  writer_.submit(std::make_unique<Operation<int, decltype(attempt)>>(Work::Class::flow, attempt, std::move(counted)));
}

}  // namespace sluice::store
