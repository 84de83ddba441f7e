#include "store/simulated_database.h"

#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <deque>

#include "base/check.h"
#include "store/sql_rows.h"
#include "store/sqlite_schema.h"

namespace sluice::store {
namespace {

constexpr int overlapping_statement = 3;  // of a transaction: it has written something by then, or has looked

sqlite3* opened_in_memory() {
  sqlite3* db = nullptr;
  const int code =
      sqlite3_open_v2(":memory:", &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, nullptr);
  SLUICE_CHECK(code == SQLITE_OK);
  return db;
}

}  // namespace

// ── the database ────────────────────────────────────────────────────────────────────────────────

class SimulatedDatabase::InMemory final : public SqliteConnection {
 public:
  InMemory(SimulatedDatabase& owner, const Bytes& content) : SqliteConnection(opened_in_memory()), owner_(owner) {
    set_up_writing();
    copy(content);
    sqlite3_update_hook(
        handle(),
        [](void* self, int operation, const char*, const char* table, sqlite3_int64 number) {
          static_cast<InMemory*>(self)->owner_.note_change(table, number, operation == SQLITE_INSERT);
        },
        this);
    SLUICE_CHECK(!failure());
  }
  // What a new database contains. It is made once, because migrating takes longer than most scenarios.
  static const Bytes& empty() {
    static const auto* const bytes = new Bytes(Migrated().bytes());
    return *bytes;
  }
  Bytes bytes() { return bytes_of(handle()); }

  // A server that is disconnected gets an error.
  void begin_reading() override {
    const auto* asker = owner_.at_work_;
    if (asker != nullptr && !owner_.reaches(asker->node())) return fail(Trouble::unknown, "it is out of reach");
    if (asker != nullptr && owner_.refuses_read(asker->node())) return fail(Trouble::busy, "the database is busy");
    SqliteConnection::begin_reading();
  }
  // The statement after so many more fails, because another transaction has written the same row.
  void overlap_in(int statements) { overlap_in_ = statements; }
  Statement* prepare(std::string_view sql, std::span<const Value> values, Asked asked) override {
    if (overlap_in_ > 0 && --overlap_in_ == 0) fail(Trouble::conflict, "another transaction wrote the row");
    return SqliteConnection::prepare(sql, values, asked);
  }
  // Statements that write are remembered with their values, so that they can be executed again.
  void record(Statements* statements) {
    const auto take = [](unsigned /*what*/, void* to, void* given, void* /*text*/) {
      auto* const statement = static_cast<sqlite3_stmt*>(given);
      if (sqlite3_stmt_readonly(statement) != 0) return 0;
      auto* const sql = sqlite3_expanded_sql(statement);
      static_cast<Statements*>(to)->emplace_back(sql);
      sqlite3_free(sql);
      return 0;
    };
    sqlite3_trace_v2(handle(), statements == nullptr ? 0 : SQLITE_TRACE_STMT, statements == nullptr ? nullptr : take,
                     statements);
  }
  void repeat(const Statements& statements) {
    begin_writing();
    for (const auto& statement : statements) run(statement.c_str());
    commit();
    SLUICE_CHECK(!failure());
  }

 private:
  void copy(const Bytes& content) {
    auto* const copy = static_cast<unsigned char*>(sqlite3_malloc64(content.size()));
    std::ranges::copy(content, copy);
    const auto size = static_cast<sqlite3_int64>(content.size());
    const int code = sqlite3_deserialize(handle(), "main", copy, size, size,
                                         SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_RESIZEABLE);
    SLUICE_CHECK(code == SQLITE_OK);
    run("PRAGMA journal_mode = MEMORY");
  }
  static Bytes bytes_of(sqlite3* db) {
    sqlite3_int64 size = 0;
    auto* const all = sqlite3_serialize(db, "main", &size, 0);
    Bytes copy(all, all + size);
    sqlite3_free(all);
    return copy;
  }
  class Migrated final : public SqliteConnection {
   public:
    Migrated() : SqliteConnection(opened_in_memory()) {
      SLUICE_CHECK(static_cast<bool>(migrate(*this)));
      run(SimulatedNodes::schema());
      SLUICE_CHECK(!failure());
    }
    Bytes bytes() { return bytes_of(handle()); }
  };

  SimulatedDatabase& owner_;
  int overlap_in_ = 0;
};

SimulatedDatabase::SimulatedDatabase() : db_(std::make_unique<InMemory>(*this, InMemory::empty())) {}
SimulatedDatabase::~SimulatedDatabase() { SLUICE_CHECK(servers_.empty()); }

void SimulatedDatabase::wipe() {
  SLUICE_CHECK(servers_.empty());
  db_ = std::make_unique<InMemory>(*this, InMemory::empty());
  open_runs_.load(*db_);
  known_.clear();
  faults_.clear();
  late_.reset();
  note_sync();
}

int64_t SimulatedDatabase::count(std::string_view sql) { return find_number(*db_, sql).value_or(0); }

void SimulatedDatabase::hold_answers(bool held) {
  held_ = held;
  if (held_) return;
  for (auto& [loop, answer] : std::exchange(held_answers_, {})) loop->post(std::move(answer));
}

// Nothing that the statements depend on has changed since, so they do what they did at first.
void SimulatedDatabase::land() {
  const auto late = std::exchange(late_, std::nullopt);
  if (!late) return;
  db_->repeat(late->statements);
  note_sync();
  open_runs_.load(*db_);
  publish(late->by);
}

bool SimulatedDatabase::refuses_list(model::NodeId to) {
  if (refused_lists_ > 0) return refused_lists_-- > 0;
  return watch_ != nullptr && watch_->refuses_list(to);
}

bool SimulatedDatabase::refuses_read(model::NodeId to) {
  ++read_count_;
  if (refused_reads_ > 0) return refused_reads_-- > 0;
  return watch_ != nullptr && watch_->refuses_read(to);
}

std::optional<Fault> SimulatedDatabase::fault_of_next_write(model::NodeId by) {
  const auto ordered = faults_.extract(write_count_++);
  if (!ordered.empty()) return ordered.mapped();
  if (!reaches(by)) return Fault::before_write;
  return watch_ == nullptr ? std::nullopt : watch_->on_write(by);
}

// ── power cuts ──────────────────────────────────────────────────────────────────────────────────

void SimulatedDatabase::prepare_power_cuts(Durability durability) {
  SLUICE_CHECK(unsynced_.empty());
  durability_ = durability;
}

// The transaction is committed, and the write-ahead log has it, but nothing has synced it.
void SimulatedDatabase::note_flow(Statements statements) {
  if (synced_ && !statements.empty()) unsynced_.push_back(std::move(statements));
}

// One sync is of all that was committed before it.
void SimulatedDatabase::note_sync() {
  synced_.reset();
  unsynced_.clear();
}

void SimulatedDatabase::cut_power(std::size_t kept) {
  SLUICE_CHECK(servers_.empty() && durability_ && kept <= unsynced_.size());
  if (kept == unsynced_.size()) return note_sync();
  db_ = std::make_unique<InMemory>(*this, *synced_);
  for (std::size_t i = 0; i < kept; ++i) db_->repeat(unsynced_[i]);
  note_sync();
  forget_changes();
  open_runs_.load(*db_);
  report_lost_events();
}

void SimulatedDatabase::report_lost_events() {
  for (auto& [number, known] : known_) {
    if (model::is_over(known.state)) continue;
    const auto run = find_row<model::Run>(*db_, "SELECT * FROM runs WHERE number = ?", number);
    const auto* open = run ? open_runs_.find(run->id) : nullptr;
    SLUICE_CHECK(open != nullptr && open->rows.head() <= known.head);  // acceptances and ends are boundaries
    if (open->rows.head() == known.head) continue;
    known.head = open->rows.head();
    if (watch_ != nullptr) watch_->on_events_lost(run->id, known.head);
  }
}

// ── notifications ───────────────────────────────────────────────────────────────────────────────

void SimulatedDatabase::note_change(std::string_view table, int64_t number, bool is_insert) {
  if (table == "runs") changes_.runs.insert(number);
  if (table == "journal" && is_insert) changes_.journal.push_back(number);
  if (table == "mail") changes_.mail = true;
  if (table == "nodes") changes_.beat = true;
}

template <typename Notify>
void SimulatedDatabase::notify_others(model::NodeId by, Notify notify, std::optional<model::RunId> followed) {
  if (loses_news_) return;
  for (auto* other : servers_) {
    if (other->node_ == by || other->nodes_ == nullptr || (followed && !other->nodes_->follows(*followed))) continue;
    const int copies = watch_ == nullptr ? 1 : watch_->news_copies(other->node_);
    for (int i = 0; i < copies; ++i) {
      other->loop_.post(other->lifetime_.guard([other, notify] {
        if (other->nodes_ != nullptr && other->nodes_->news() != nullptr) notify(*other->nodes_->news());
      }));
    }
  }
}

void SimulatedDatabase::publish(model::NodeId by) {
  auto changes = std::exchange(changes_, {});
  if (watch_ == nullptr && servers_.size() == 1) return;
  std::map<int64_t, model::Position> heads;
  for (const auto number : changes.journal) {
    Query query(*db_, "SELECT run, last FROM journal WHERE number = ?", number);
    if (!query.next()) continue;
    int64_t run = 0;
    model::Position last;
    query.read(run, last);
    heads[run] = last;
    changes.runs.insert(run);
  }
  for (const auto number : changes.runs) publish_run(by, number, heads[number]);
  if (changes.beat && watch_ != nullptr) watch_->on_beat(by);
  if (changes.mail && watch_ != nullptr) watch_->on_mail_posted();
  if (changes.mail) notify_others(by, [](NodeNews& news) { news.on_mail(); });
}

void SimulatedDatabase::publish_run(model::NodeId by, int64_t number, model::Position head) {
  auto run = find_row<model::Run>(*db_, "SELECT * FROM runs WHERE number = ?", number);
  if (!run) return;
  auto& before = known_[number];
  run->head = std::max({run->head, before.head, head});
  const Known now{run->state, run->epoch, run->head};
  if (now == before) return;
  // A takeover concerns the former carrier, growth only nodes with readers, and sealing none.
  const bool is_taken = before.epoch != model::Epoch{} && before.epoch != run->epoch;
  const bool is_held = run->state == model::RunState::held;
  before = now;
  if (watch_ != nullptr) watch_->on_moved(by, *run);
  const auto moved = [id = run->id](NodeNews& news) { news.on_moved(id); };
  is_taken ? notify_others(by, moved) : notify_others(by, moved, run->id);
  if (is_held) notify_others(by, [](NodeNews& news) { news.on_held(); });
}

// ── one server's connection ─────────────────────────────────────────────────────────────────────

// The writer's side, where faults are injected.
class SimulatedWriteSide final : public WriteSide {
 public:
  SimulatedWriteSide(SimulatedServer& server, SimulatedServer::Waits waits)
      : server_(server), database_(server.database_), waits_(waits) {}

  Result<Unit> reopen() override {
    if (!database_.reaches(server_.node_)) return Error{ErrorKind::unavailable, "the database is out of reach"};
    database_.open_runs_.load(db());
    return Unit{};
  }
  Connection& db() override { return *database_.db_; }

  void begin(Work::Class wanted) override {
    fault_.reset();
    is_written_ = was_overlapped_ = false;
    if (wanted == Work::Class::look) return begin_looking();
    is_synced_ = wanted == Work::Class::boundary || database_.durability_ == SimulatedDatabase::Durability::strict;
    // A boundary of the session of heartbeats is a claim, which writes runs.
    if (waits_ == SimulatedServer::Waits::yes || wanted == Work::Class::boundary) database_.land();
    fault_ = database_.fault_of_next_write(server_.node_);
    // Only one transaction is late at a time, and one of runs or records.
    if (fault_ == Fault::late && waits_ == SimulatedServer::Waits::no) fault_ = Fault::after_write;
    if (fault_ == Fault::collides) return db().fail(Trouble::conflict, "another row was in its way");
    const bool is_flow = database_.durability_ && !is_synced_;
    if (is_flow && !database_.synced_) database_.synced_ = database_.db_->bytes();
    database_.db_->begin_writing();
    if (fault_ == Fault::overlaps) database_.db_->overlap_in(overlapping_statement);
    statements_.clear();
    if (fault_ == Fault::late || is_flow) database_.db_->record(&statements_);
  }
  void commit() override {
    database_.db_->record(nullptr);
    database_.db_->overlap_in(0);
    was_overlapped_ = fault_ == Fault::overlaps && db().failure();
    if (fault_ == Fault::overlaps) fault_.reset();  // the transaction may have fewer statements than that
    if (db().failure()) return;
    if (fault_ == Fault::full) {
      db().run("ROLLBACK");
      return db().fail(Trouble::full, "the disk is full");
    }
    if (fault_ == Fault::before_write || fault_ == Fault::late) {
      db().run("ROLLBACK");
      if (fault_ == Fault::late) database_.late_ = SimulatedDatabase::Late{server_.node_, std::move(statements_)};
    } else {
      db().commit();
      is_written_ = !db().failure().has_value();
      is_synced_ ? database_.note_sync() : database_.note_flow(std::move(statements_));
    }
    if (fault_) db().fail(Trouble::unknown, "it did not say whether it wrote");
  }
  void ended(bool /*committed*/) override {
    if (is_written_) {
      database_.open_runs_.keep_changes();
      database_.publish(server_.node_);
    } else {
      database_.open_runs_.undo_changes();
      database_.forget_changes();
      if (was_overlapped_) database_.let_others_write(server_);
    }
  }
  std::optional<std::string> rest(bool /*idle*/) override { return std::nullopt; }

 private:
  void begin_looking() {
    if (!database_.reaches(server_.node_)) return db().fail(Trouble::lost, "it is out of reach");
    if (database_.refuses_list(server_.node_)) return db().fail(Trouble::busy, "the database is busy");
    database_.db_->begin_writing();
  }

  SimulatedServer& server_;
  SimulatedDatabase& database_;
  const SimulatedServer::Waits waits_;
  std::optional<Fault> fault_;
  SimulatedDatabase::Statements statements_;  // of the transaction, if it may be needed again
  bool is_written_ = false;
  bool is_synced_ = true;
  bool was_overlapped_ = false;
};

// Answers come after the call, perhaps much later: those of one session in their order, and no session waits for
// another's.
class SimulatedServer::Answers final : public world::Loop {
 public:
  explicit Answers(SimulatedServer& server) : server_(server), database_(server.database_), loop_(server.loop_) {}
  Timestamp now() const override { return loop_.now(); }
  int64_t monotonic_us() const override { return loop_.monotonic_us(); }
  world::Timer after(Millis delay, Callback<void()> then) override { return loop_.after(delay, std::move(then)); }
  void defer(Callback<void()> then) override { loop_.defer(std::move(then)); }
  void post(Callback<void()> then) override {
    if (database_.held_) return database_.held_answers_.push_back({&loop_, std::move(then)});
    const auto session = database_.session_at_work_;
    auto& waiting = waiting_[static_cast<std::size_t>(session)];
    const auto delay_ms = database_.watch_ == nullptr ? 0 : database_.watch_->answer_delay_ms(server_.node_, session);
    if (delay_ms == 0 && waiting.empty()) return loop_.post(std::move(then));
    const auto now_us = loop_.monotonic_us();
    const auto due_us = std::max(now_us + delay_ms * 1'000, waiting.empty() ? 0 : waiting.back().due_us);
    auto& answer = waiting.emplace_back(Waiting{due_us, {}, std::move(then)});
    answer.timer = loop_.after({(due_us - now_us) / 1'000}, [this, &waiting] {
      auto first = std::move(waiting.front());
      waiting.pop_front();
      loop_.post(std::move(first.then));
    });
  }

 private:
  struct Waiting {
    int64_t due_us;
    world::Timer timer;
    Callback<void()> then;
  };

  SimulatedServer& server_;
  SimulatedDatabase& database_;
  world::Loop& loop_;
  std::array<std::deque<Waiting>, session_kind_count> waiting_;
};

// Executes operations when they are asked for, and the answer waits for its turn of the loop; or, where writes are
// gathered or the session is slow, all that were asked for since, later.
class SimulatedServer::Inline final : public Executor {
 public:
  Inline(SimulatedServer& server, SessionKind session) : server_(server), session_(session) {
    server_.sessions_.push_back(this);
  }
  ~Inline() override { std::erase(server_.sessions_, this); }
  Inline(const Inline&) = delete;
  Inline& operator=(const Inline&) = delete;

  void start(Callback<bool()> turn) override { turn_ = std::move(turn); }
  void notify() override {
    if (is_due_) return;
    const auto delay_ms = delay();
    if (delay_ms == 0 && !server_.database_.gathers_) return work_off();
    is_due_ = true;
    work_off_in(delay_ms);
  }
  bool may_wait() const override { return false; }
  void finish() override { work_off(); }
  int64_t now_us() const override { return server_.loop_.monotonic_us(); }
  // Now, if there is something to do and nothing delays the session.
  void hurry() {
    if (is_due_ && delay() == 0) work_off();
  }

 private:
  static constexpr int64_t looks_every_ms = 500;  // a delay may end early

  int64_t delay() const {
    auto* watch = server_.database_.watch_;
    return watch == nullptr ? 0 : watch->operation_delay_ms(server_.node_, session_);
  }
  void work_off_in(int64_t delay_ms) {
    auto then = lifetime_.guard([this] {
      if (!is_due_) return;
      const auto left_ms = delay();
      left_ms > 0 ? work_off_in(left_ms) : work_off();
    });
    if (delay_ms == 0) return server_.loop_.post(std::move(then));
    timer_ = server_.loop_.after({std::min(delay_ms, looks_every_ms)}, std::move(then));
  }
  void work_off() {
    is_due_ = false;
    auto& database = server_.database_;
    auto* const before = std::exchange(database.at_work_, &server_);
    const auto session_before = std::exchange(database.session_at_work_, session_);
    while (turn_()) {
    }
    database.at_work_ = before;
    database.session_at_work_ = session_before;
  }

  SimulatedServer& server_;
  const SessionKind session_;
  Callback<bool()> turn_;
  bool is_due_ = false;
  world::Timer timer_;
  Lifetime lifetime_;
};

void SimulatedDatabase::let_others_write(const SimulatedServer& server) {
  for (auto* other : std::vector(servers_)) {
    if (other == &server) continue;
    for (auto* session : std::vector(other->sessions_)) session->hurry();
  }
}

SimulatedServer::SimulatedServer(SimulatedDatabase& database, world::Loop& loop, model::NodeId node)
    : database_(database), loop_(loop), node_(node), answers_(std::make_unique<Answers>(*this)) {
  database_.servers_.push_back(this);
}

SimulatedServer::~SimulatedServer() { std::erase(database_.servers_, this); }

std::unique_ptr<WriteSide> SimulatedServer::write_side(Waits waits) {
  return std::make_unique<SimulatedWriteSide>(*this, waits);
}

// All servers share it: there is one thread, and an operation is over before the next begins.
std::shared_ptr<Connection> SimulatedServer::connection() { return {std::shared_ptr<void>(), database_.db_.get()}; }

std::unique_ptr<Executor> SimulatedServer::executor(SessionKind session) {
  return std::make_unique<Inline>(*this, session);
}

}  // namespace sluice::store
