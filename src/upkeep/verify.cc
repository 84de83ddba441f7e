#include <array>
#include <cstring>

#include "store/on_disk.h"
#include "upkeep/run_check.h"

namespace sluice::upkeep {
namespace {

constexpr int64_t report_every = 10'000;  // rows

constexpr std::string_view rebuild_index = "stop the server and rebuild the table's indexes: sqlite3 FILE REINDEX";

bool is_small_key(const TableShape& table) {
  return table.key.size() == 1 && table.columns[0].kind == ColumnKind::number;
}

// ── a table of which pages may be damaged ──

struct WalkTaker {
  std::function<void(const RawRow&)> on_row;
  // Rows numbered from `first` to `last` cannot be read, or all rows up to the end if `last` is empty.
  std::function<void(int64_t first, std::optional<int64_t> last, const std::string& why)> on_gap;
};

constexpr int64_t page_rows = 256;

// Reads a table whose key is a number, and continues after rows that cannot be read. It reads pages, each in a
// transaction of its own, so that a server which uses the store need not keep old rows for long.
class Walk {
 public:
  Walk(RawSource& source, const TableShape& table)
      : source_(source),
        key_(table.index_of(table.key[0])),
        sql_("SELECT " + column_list(table) + " FROM " + table.name + " WHERE " + table.key[0] + " > $1 ORDER BY " +
             table.key[0] + " LIMIT $2") {}

  Result<Unit> go(const WalkTaker& taker) {
    for (;;) {
      int64_t count = 0;
      if (auto begun = source_.begin(); !begun) return begun;
      auto read = page(page_rows, [&](const RawRow& row) {
        at_ = row[key_].number;
        ++count;
        taker.on_row(row);
        return true;
      });
      source_.end();
      if (!read && read.error().kind != ErrorKind::corrupt) return read;
      if (!read) {
        const auto first = at_ + 1;
        const auto next = store::end_of_gap(at_, [this](int64_t number) { return is_readable_after(number); });
        taker.on_gap(first, next, read.error().what);
        if (!next) return Unit{};
        at_ = *next;
      } else if (count < page_rows) {
        return Unit{};
      }
    }
  }

 private:
  Result<Unit> page(int64_t limit, const RowTaker& take) {
    const std::array values{Cell::of(at_), Cell::of(limit)};
    return source_.read(sql_, values, take);
  }
  bool is_readable_after(int64_t number) {
    const auto before = std::exchange(at_, number);
    const bool readable = static_cast<bool>(page(1, [](const RawRow&) { return true; }));
    at_ = before;
    return readable;
  }
  RawSource& source_;
  std::size_t key_;
  std::string sql_;
  int64_t at_ = 0;  // numbers begin with 1
};

struct Reference {
  std::string_view table;
  std::string_view column;
  std::string_view to_table;
  std::string_view to_column;
};

// References that hold at every moment: the row is written together with its target or after it, and is deleted with it
// or never.
constexpr std::array references = {
    Reference{"messages", "conversation", "conversations", "number"},
    Reference{"messages", "run", "runs", "number"},
    Reference{"runs", "conversation", "conversations", "number"},
    Reference{"runs", "message", "messages", "number"},
    Reference{"journal", "run", "runs", "number"},
    Reference{"sealed_journals", "run", "runs", "number"},
    Reference{"approvals", "run_id", "runs", "id"},
    Reference{"threads", "conversation_id", "conversations", "id"},
    Reference{"agui_runs", "run", "runs", "id"},
    Reference{"one_time_tokens", "execution", "executions", "number"},
    Reference{"user_rows", "table_number", "user_tables", "number"},
    Reference{"workflow_events", "run", "workflow_runs", "number"},
};

constexpr int64_t named_max = 100;  // for each reference, because a lost page may leave thousands

// ── all tables ──

class Verification {
 public:
  Verification(RawSource& source, Inspector& inspector)
      : source_(source), tables_(catalogue()), findings_(inspector), runs_(source, tables_, findings_) {}

  Result<Inspected> go();
  Result<Inspected> go_through_unfinished();

 private:
  Result<Unit> check_table(const TableShape& table);
  Result<Unit> check_small_table(const TableShape& table);
  void check_row(const TableShape& table, const RawRow& row);
  void check_audit(const TableShape& table, const RawRow& row);
  void check_workflow_run(const TableShape& table, const RawRow& row);
  void check_user_table(const TableShape& table, const RawRow& row);
  void name_content(const TableShape& table, const RawRow& row);
  Result<Unit> check_flights();
  Result<Unit> check_references();

  RawSource& source_;
  const std::vector<TableShape> tables_;
  Findings findings_;
  RunCheck runs_;
  store::ChainEnd audit_end_;
};

Result<Inspected> Verification::go() {
  for (const auto& table : tables_) {
    findings_.inspector.on_progress(table.name, findings_.figures.row_count);
    auto complaints = source_.complaints(table);
    if (!complaints) return complaints.error();
    for (auto& complaint : complaints.value()) {
      const bool of_index = complaint.find("index") != std::string::npos;
      findings_.report(table.name, "", std::move(complaint), of_index ? rebuild_index : restore_it);
    }
    if (table.name == "journal" || table.name == "sealed_journals") continue;  // read run by run
    if (auto checked = check_table(table); !checked) return checked.error();
  }
  if (auto checked = check_flights(); !checked) return checked.error();
  if (auto checked = check_references(); !checked) return checked.error();
  return findings_.figures;
}

Result<Unit> Verification::check_table(const TableShape& table) {
  if (!is_small_key(table)) return check_small_table(table);
  return Walk(source_, table)
      .go({[&](const RawRow& row) { check_row(table, row); },
           [&](int64_t first, std::optional<int64_t> last, const std::string& why) {
             const auto range =
                 last == first ? "row " + std::to_string(first)
                               : "rows " + std::to_string(first) + " to " + (last ? std::to_string(*last) : "the end");
             findings_.report(table.name, range, "cannot be read: " + why, restore_it);
           }});
}

// Tables without a number have few or short rows, so one transaction may read all of them.
Result<Unit> Verification::check_small_table(const TableShape& table) {
  auto read = source_.read("SELECT " + column_list(table) + " FROM " + table.name, {}, [&](const RawRow& row) {
    check_row(table, row);
    return true;
  });
  if (read) return read;
  if (read.error().kind != ErrorKind::corrupt) return read;
  findings_.report(table.name, "", "cannot be read to its end: " + read.error().what, restore_it);
  return Unit{};
}

void Verification::check_row(const TableShape& table, const RawRow& row) {
  if (++findings_.figures.row_count % report_every == 0)
    findings_.inspector.on_progress(table.name, findings_.figures.row_count);
  if (auto fault = fault_in(table, row); !fault.empty()) {
    return findings_.report(table.name, name_of_row(table, row), std::move(fault), restore_it);
  }
  if (table.name == "runs") return runs_.check_run(row);
  if (table.name == "messages") return runs_.check_message(row);
  if (table.name == "audit") return check_audit(table, row);
  if (table.name == "workflow_runs") return check_workflow_run(table, row);
  if (table.name == "user_tables") return check_user_table(table, row);
  if (table.name == "skills" || table.name == "files" || table.name == "bag_files") return name_content(table, row);
}

void Verification::check_audit(const TableShape& table, const RawRow& row) {
  model::AuditEntry entry;
  const auto text = [&](std::string_view column) { return std::string(row[table.index_of(column)].bytes); };
  if (const auto tenant = text("tenant_id"); !tenant.empty()) {
    std::memcpy(entry.tenant_id.emplace().ulid.bytes.data(), tenant.data(), tenant.size());
  }
  entry.action = text("action");
  entry.subject = text("subject");
  entry.actor = text("actor");
  entry.detail = text("detail");
  entry.at.ms = row[table.index_of("at")].number;
  const auto number = row[table.index_of("number")].number;
  const auto sha256 = text("sha256");
  const auto link = store::next_link(entry, audit_end_);
  const auto id = "number " + std::to_string(number);
  constexpr std::string_view chain_broken =
      "somebody changed it, or the disk did: compare it with a backup; it stays as it is";
  if (number != link.number) {
    findings_.report("audit", id, "entries are missing before it: the last was " + std::to_string(audit_end_.number),
                     chain_broken);
  } else if (text("previous_sha256") != link.previous_sha256) {
    findings_.report("audit", id, "it does not follow the entry before it", chain_broken);
  } else if (sha256 != link.sha256) {
    findings_.report("audit", id, "it is not what was written: its hash differs", chain_broken);
  }
  audit_end_ = {number, sha256};
}

void Verification::check_workflow_run(const TableShape& table, const RawRow& row) {
  const auto count = find(source_, "SELECT count(*), coalesce(max(position), 0) FROM workflow_events WHERE run = $1",
                          row[table.index_of("number")].number);
  if (!count) return;
  const auto head = std::to_string(row[table.index_of("head")].number);
  if ((*count)[0] == head && (*count)[1] == head) return;
  findings_.report(table.name, name_of_row(table, row), "it has " + (*count)[0] + " events, and its row says " + head,
                   restore_it);
}

void Verification::check_user_table(const TableShape& table, const RawRow& row) {
  const auto count =
      find(source_, "SELECT count(*) FROM user_rows WHERE table_number = $1", row[table.index_of("number")].number);
  const auto said = std::to_string(row[table.index_of("row_count")].number);
  if (!count || (*count)[0] == said) return;
  findings_.report(table.name, name_of_row(table, row), "it has " + (*count)[0] + " rows, and says " + said,
                   restore_it);
}

void Verification::name_content(const TableShape& table, const RawRow& row) {
  if (table.name == "bag_files" && !row[table.index_of("deleted_at")].is_null()) return;
  findings_.inspector.on_content({table.name, name_of_row(table, row), std::string(row[table.index_of("sha256")].bytes),
                                  row[table.index_of("size_bytes")].number});
}

// One statement sees one moment. With two, a run that a server ends in between would look like damage.
Result<Unit> Verification::check_flights() {
  constexpr std::string_view stray =
      "SELECT flights.conversation, flights.run FROM flights LEFT JOIN runs ON runs.number = flights.run "
      "AND runs.conversation = flights.conversation AND runs.ended_at IS NULL WHERE runs.number IS NULL";
  auto read = source_.read(stray, {}, [&](const RawRow& row) {
    findings_.report("flights", "conversation " + std::to_string(row[0].number),
                     "it waits for run number " + std::to_string(row[1].number) + ", which is not under way",
                     "the conversation takes no message: restore it from a backup, or begin another");
    return true;
  });
  if (!read && read.error().kind != ErrorKind::corrupt) return read;
  return Unit{};  // rows that cannot be read were reported with their table
}

// One statement for each reference sees one moment. With two, a row that a server writes in between would look like
// damage.
Result<Unit> Verification::check_references() {
  for (const auto& [from, column, to_table, to_column] : references) {
    const auto& table = table_named(tables_, from);
    int64_t count = 0;
    const auto reference = std::string(from) + "." + std::string(column);
    const auto read = source_.read(
        "SELECT " + column_list(table) + " FROM " + table.name + " WHERE " + std::string(column) +
            " IS NOT NULL AND NOT EXISTS (SELECT 1 FROM " + std::string(to_table) + " target WHERE target." +
            std::string(to_column) + " = " + reference + ")",
        {}, [&](const RawRow& row) {
          if (++count > named_max) return true;
          findings_.report(table.name, name_of_row(table, row),
                           "its " + std::string(column) + " is not in " + std::string(to_table), restore_it);
          return true;
        });
    // Rows that cannot be read were reported with their table.
    if (!read && read.error().kind != ErrorKind::corrupt) return read.error();
    if (count > named_max) {
      findings_.report(table.name, "", std::to_string(count - named_max) + " more whose " + reference + " is nowhere",
                       restore_it);
    }
  }
  return Unit{};
}

Result<Inspected> Verification::go_through_unfinished() {
  const auto& runs = table_named(tables_, "runs");
  const auto is_damage_reported = [&](const Result<Unit>& read, const std::string& table, const std::string& id) {
    if (!read && read.error().kind == ErrorKind::corrupt)
      findings_.report(table, id, "cannot be read: " + read.error().what, restore_it);
    return read || read.error().kind == ErrorKind::corrupt;
  };
  std::vector<int64_t> numbers;
  if (auto begun = source_.begin(); !begun) return begun.error();
  auto read = source_.read("SELECT run FROM flights", {}, [&](const RawRow& row) {
    numbers.push_back(row[0].number);
    return true;
  });
  bool fine = is_damage_reported(read, "flights", "");
  for (std::size_t i = 0; fine && i < numbers.size(); ++i) {
    const std::array values{Cell::of(numbers[i])};
    read = source_.read("SELECT " + column_list(runs) + " FROM runs WHERE number = $1", values, [&](const RawRow& row) {
      check_row(runs, row);
      return true;
    });
    fine = is_damage_reported(read, "runs", "row " + std::to_string(numbers[i]));
  }
  source_.end();
  if (!fine) return read.error();
  return findings_.figures;
}

}  // namespace

Result<Inspected> verify_store(const std::string& place, Inspector& inspector) {
  auto source = open_source(place);
  if (!source) return source.error();
  return Verification(*source.value(), inspector).go();
}

Result<Inspected> check_unfinished(const std::string& place, Inspector& inspector) {
  auto source = open_source(place);
  if (!source) return source.error();
  return Verification(*source.value(), inspector).go_through_unfinished();
}

// ── contents in use ──

namespace {

bool is_hex(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }

// Takes whatever looks like a digest. Keeping a content too many costs some space; deleting one too many loses a file.
void each_digest(std::string_view text, const std::function<void(std::string_view)>& take) {
  std::size_t length = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && is_hex(text[i])) {
      ++length;
      if (length >= 64) take(text.substr(i - 63, 64));
    } else {
      length = 0;
    }
  }
}

}  // namespace

Result<Unit> each_content(const std::string& place, const std::function<void(std::string_view sha256)>& take) {
  auto source = open_source(place);
  if (!source) return source.error();
  auto& db = *source.value();
  if (auto begun = db.begin(); !begun) return begun;
  const RowTaker whole = [&](const RawRow& row) {
    for (const auto& cell : row) each_digest(cell.bytes, take);
    return true;
  };
  for (const auto* sql :
       {"SELECT sha256 FROM skills", "SELECT sha256 FROM files",
        "SELECT sha256 FROM bag_files WHERE deleted_at IS NULL", "SELECT env_json, config_json FROM executions"}) {
    if (auto read = db.read(sql, {}, whole); !read) return db.end(), read;
  }
  std::vector<int64_t> unfinished;
  auto read = db.read("SELECT run FROM flights", {}, [&](const RawRow& row) {
    unfinished.push_back(row[0].number);
    return true;
  });
  for (std::size_t i = 0; read && i < unfinished.size(); ++i) read = db.read_journal(unfinished[i], whole);
  db.end();
  return read;
}

}  // namespace sluice::upkeep
