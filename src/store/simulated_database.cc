#include "store/simulated_database.h"

#include <sqlite3.h>

#include <algorithm>

#include "base/check.h"
#include "store/sql_rows.h"
#include "store/sqlite_schema.h"

namespace sluice::store {
namespace {

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
  explicit InMemory(SimulatedDatabase& owner) : SqliteConnection(opened_in_memory()), owner_(owner) {
    set_up_writing();
    copy_template();
    sqlite3_update_hook(
        handle(),
        [](void* self, int operation, const char*, const char* table, sqlite3_int64 number) {
          static_cast<InMemory*>(self)->owner_.note_change(table, number, operation == SQLITE_INSERT);
        },
        this);
    SLUICE_CHECK(!failure());
  }
  // Readers that are cut off hear so.
  void begin_reading() override {
    const auto* asker = owner_.at_work_;
    if (asker != nullptr && !owner_.reaches(asker->node())) return fail(Trouble::unknown, "it is out of reach");
    if (asker != nullptr && owner_.refuses_read(asker->node())) return fail(Trouble::busy, "the database is busy");
    SqliteConnection::begin_reading();
  }
  // Statements that write are remembered, as they would be said again.
  void record(std::vector<std::string>* statements) {
    const auto take = [](unsigned /*what*/, void* to, void* statement, void* /*text*/) {
      auto* const said = static_cast<sqlite3_stmt*>(statement);
      if (sqlite3_stmt_readonly(said) != 0) return 0;
      auto* const sql = sqlite3_expanded_sql(said);
      static_cast<std::vector<std::string>*>(to)->emplace_back(sql);
      sqlite3_free(sql);
      return 0;
    };
    sqlite3_trace_v2(handle(), statements == nullptr ? 0 : SQLITE_TRACE_STMT, statements == nullptr ? nullptr : take,
                     statements);
  }
  void copy_template() {
    static const auto* const bytes =
        new std::vector<unsigned char>(migrated());  // to migrate takes longer than most stories
    auto* const copy = static_cast<unsigned char*>(sqlite3_malloc64(bytes->size()));
    std::ranges::copy(*bytes, copy);
    const auto size = static_cast<sqlite3_int64>(bytes->size());
    const int code = sqlite3_deserialize(handle(), "main", copy, size, size,
                                         SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_RESIZEABLE);
    SLUICE_CHECK(code == SQLITE_OK);
    run("PRAGMA journal_mode = MEMORY");
  }

 private:
  class Migrated final : public SqliteConnection {
   public:
    Migrated() : SqliteConnection(opened_in_memory()) {
      SLUICE_CHECK(static_cast<bool>(migrate(*this)));
      run(SqlNodes::schema());
      SLUICE_CHECK(!failure());
    }
    std::vector<unsigned char> bytes() {
      sqlite3_int64 size = 0;
      auto* const all = sqlite3_serialize(handle(), "main", &size, 0);
      std::vector<unsigned char> copy(all, all + size);
      sqlite3_free(all);
      return copy;
    }
  };
  static std::vector<unsigned char> migrated() { return Migrated().bytes(); }

  SimulatedDatabase& owner_;
};

SimulatedDatabase::SimulatedDatabase() : db_(std::make_unique<InMemory>(*this)) {}
SimulatedDatabase::~SimulatedDatabase() { SLUICE_CHECK(servers_.empty()); }

void SimulatedDatabase::wipe() {
  SLUICE_CHECK(servers_.empty());
  db_ = std::make_unique<InMemory>(*this);
  open_runs_.load(*db_);
  known_.clear();
  faults_.clear();
  late_.reset();
}

void SimulatedDatabase::hold_answers(bool held) {
  held_ = held;
  if (held_) return;
  for (auto& [loop, answer] : std::exchange(held_answers_, {})) loop->post(std::move(answer));
}

// Nothing that the statements depend on has changed since, so they do what they did at first.
void SimulatedDatabase::land() {
  const auto late = std::exchange(late_, std::nullopt);
  if (!late) return;
  db_->begin_writing();
  for (const auto& statement : late->statements) db_->run(statement.c_str());
  db_->commit();
  SLUICE_CHECK(!db_->failure());
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

// ── what others hear of it ──────────────────────────────────────────────────────────────────────

void SimulatedDatabase::note_change(std::string_view table, int64_t number, bool is_insert) {
  if (table == "runs") changes_.runs.insert(number);
  if (table == "journal" && is_insert) changes_.journal.push_back(number);
  if (table == "mail") changes_.mail = true;
  if (table == "nodes") changes_.beat = true;
}

template <typename Tell>
void SimulatedDatabase::tell_others(model::NodeId by, Tell tell, std::optional<model::RunId> followed) {
  if (loses_news_) return;
  for (auto* other : servers_) {
    if (other->node_ == by || other->nodes_ == nullptr || (followed && !other->nodes_->follows(*followed))) continue;
    const int copies = watch_ == nullptr ? 1 : watch_->news_copies(other->node_);
    for (int i = 0; i < copies; ++i) {
      other->loop_.post([alive = other->alive_, tell] {
        if (*alive == nullptr || (*alive)->nodes_ == nullptr || (*alive)->nodes_->news() == nullptr) return;
        tell(*(*alive)->nodes_->news());
      });
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
  if (changes.mail) tell_others(by, [](NodeNews& news) { news.on_mail(); });
}

void SimulatedDatabase::publish_run(model::NodeId by, int64_t number, model::Position head) {
  auto run = find_row<model::Run>(*db_, "SELECT * FROM runs WHERE number = ?", number);
  if (!run) return;
  auto& before = known_[number];
  run->head = std::max({run->head, before.head, head});
  const Known now{run->state, run->epoch, run->head};
  if (now == before) return;
  // A takeover concerns whoever carried it, growth only those who read it, and sealing nobody.
  const bool is_taken = before.epoch != model::Epoch{} && before.epoch != run->epoch;
  const bool is_held = run->state == model::RunState::held;
  before = now;
  if (watch_ != nullptr) watch_->on_moved(by, *run);
  const auto moved = [id = run->id](NodeNews& news) { news.on_moved(id); };
  is_taken ? tell_others(by, moved) : tell_others(by, moved, run->id);
  if (is_held) tell_others(by, [](NodeNews& news) { news.on_held(); });
}

// ── one server's way to it ──────────────────────────────────────────────────────────────────────

// The writer's side, where the misfortunes are.
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
    is_written_ = false;
    if (wanted == Work::Class::look) return begin_looking();
    if (waits_ == SimulatedServer::Waits::yes) database_.land();
    fault_ = database_.fault_of_next_write(server_.node_);
    // Only one transaction is late at a time, and one of runs or records.
    if (fault_ == Fault::late && waits_ == SimulatedServer::Waits::no) fault_ = Fault::after_write;
    if (fault_ == Fault::collides) return db().fail(Trouble::conflict, "another row was in its way");
    database_.db_->begin_writing();
    statements_.clear();
    if (fault_ == Fault::late) database_.db_->record(&statements_);
  }
  void commit() override {
    database_.db_->record(nullptr);
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
  std::vector<std::string> statements_;  // of the transaction, if it shall be late
  bool is_written_ = false;
};

// Answers come after the call, and perhaps much later.
class SimulatedServer::Answers final : public world::Loop {
 public:
  Answers(SimulatedDatabase& database, world::Loop& loop) : database_(database), loop_(loop) {}
  Timestamp now() const override { return loop_.now(); }
  int64_t monotonic_us() const override { return loop_.monotonic_us(); }
  world::Timer after(Millis delay, Callback<void()> then) override { return loop_.after(delay, std::move(then)); }
  void defer(Callback<void()> then) override { loop_.defer(std::move(then)); }
  void post(Callback<void()> then) override {
    if (database_.held_) return database_.held_answers_.push_back({&loop_, std::move(then)});
    loop_.post(std::move(then));
  }

 private:
  SimulatedDatabase& database_;
  world::Loop& loop_;
};

// Does what is handed in at once, and the answer waits for its turn of the loop; or, where writes are gathered, all
// that was handed in since, in a turn of its own.
class SimulatedServer::Inline final : public Executor {
 public:
  explicit Inline(SimulatedServer& server) : server_(server) {}
  void start(Callback<bool()> turn) override { turn_ = std::move(turn); }
  void notify() override {
    if (!server_.database_.gathers_) return work_off();
    if (std::exchange(is_due_, true)) return;
    server_.loop_.post([this, alive = std::weak_ptr(alive_)] {
      if (!alive.expired()) work_off();
    });
  }
  bool may_wait() const override { return false; }
  void finish() override { work_off(); }
  int64_t now_us() const override { return server_.loop_.monotonic_us(); }

 private:
  void work_off() {
    is_due_ = false;
    auto& at_work = server_.database_.at_work_;
    SLUICE_CHECK(at_work == nullptr);
    at_work = &server_;
    while (turn_()) {
    }
    at_work = nullptr;
  }

  SimulatedServer& server_;
  Callback<bool()> turn_;
  bool is_due_ = false;
  std::shared_ptr<char> alive_ = std::make_shared<char>();
};

SimulatedServer::SimulatedServer(SimulatedDatabase& database, world::Loop& loop, model::NodeId node)
    : database_(database),
      loop_(loop),
      node_(node),
      answers_(std::make_unique<Answers>(database, loop)),
      alive_(std::make_shared<SimulatedServer*>(this)) {
  database_.servers_.push_back(this);
}

SimulatedServer::~SimulatedServer() {
  *alive_ = nullptr;
  std::erase(database_.servers_, this);
}

std::unique_ptr<WriteSide> SimulatedServer::write_side(Waits waits) {
  return std::make_unique<SimulatedWriteSide>(*this, waits);
}

// Everybody's: there is one thread, and an operation is over before the next begins.
std::shared_ptr<Connection> SimulatedServer::connection() { return {std::shared_ptr<void>(), database_.db_.get()}; }

std::unique_ptr<Executor> SimulatedServer::executor() { return std::make_unique<Inline>(*this); }

}  // namespace sluice::store
