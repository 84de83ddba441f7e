// Runs, their journals and their messages against each other.
#include <array>
#include <cstring>

#include "store/sealed_row.h"
#include "store/sql_parts.h"
#include "store/upkeep/verification.h"

namespace sluice::store {

void Verification::check_run(const TableShape& table, const RawRow& row) {
  ++figures_.run_count;
  const auto id = name_of_row(table, row);
  const auto number = row[table.index_of("number")].number;
  const auto state = model::run_state_named(row[table.index_of("state")].bytes);
  if (!state) return report("runs", id, "its state is a word that is not one of ours", restore_it);
  const bool is_over = model::is_over(*state);
  if (is_over == row[table.index_of("ended_at")].is_null()) {
    report("runs", id, is_over ? "it is over, and has no time of its end" : "it has ended, and is not over",
           restore_it);
  }
  if (!is_over && !find("SELECT run FROM flights WHERE run = $1", number)) {
    report("runs", id, "it is not over, and no conversation waits for it", restore_it);
  }
  const auto conversation =
      find("SELECT id FROM conversations WHERE number = $1", row[table.index_of("conversation")].number);
  if (conversation && (*conversation)[0] != row[table.index_of("conversation_id")].bytes) {
    report("runs", id, "its conversation is another one than it says", restore_it);
  }

  JournalCheck journal;
  if (!read_journal(id, number, journal)) return;
  const auto said = static_cast<uint64_t>(row[table.index_of("head")].number);
  // Of a run that goes on, the row may lag behind.
  journal.end(*state, is_over ? said : std::max(said, journal.event_count()));
  figures_.event_count += static_cast<int64_t>(journal.event_count());
  if (!journal.fault().empty()) return report("journal", id, journal.fault(), restore_it);
  if (is_over) check_message_of(id, row, *state, journal);
}

bool Verification::read_journal(const std::string& id, int64_t number, JournalCheck& check) {
  bool unpackable = true;
  const std::array values{Cell::of(number)};
  const auto read = source_.read("SELECT last, batch_zstd FROM sealed_journals WHERE run = $1 ORDER BY last", values,
                                 [&](const RawRow& row) {
                                   const auto batch = unpack(row[1].bytes);
                                   unpackable = batch.has_value();
                                   return unpackable && check.take(static_cast<uint64_t>(row[0].number), *batch);
                                 });
  if (!read) return report("sealed_journals", id, "cannot be read: " + read.error().what, restore_it), false;
  if (!unpackable) {
    const auto after = std::to_string(check.event_count());
    return report("sealed_journals", id, "the row after event " + after + " cannot be unpacked", restore_it), false;
  }
  // What is not sealed yet comes after what is.
  const auto open = source_.read_journal(
      number, [&](const RawRow& row) { return check.take(static_cast<uint64_t>(row[0].number), row[1].bytes); });
  if (!open) return report("journal", id, open.error().what, restore_it), false;
  return true;
}

void Verification::check_message_of(const std::string& id, const RawRow& run, model::RunState state,
                                    const JournalCheck& journal) {
  const auto& runs = table_named(tables_, "runs");
  const auto found =
      find("SELECT id, status, json FROM messages WHERE number = $1", run[runs.index_of("message")].number);
  // One that cannot be read is told with its table.
  if (!found) return;
  const auto& [message_id, status, json] = std::tie((*found)[0], (*found)[1], (*found)[2]);
  const std::string of = "the message of " + id + " ";
  constexpr std::string_view journal_is_right = "its journal has it right: restore the row from a backup";
  if (message_id != run[runs.index_of("message_id")].bytes) {
    return report("messages", id, of + "is another one than the run says", restore_it);
  }
  const bool is_replaced = status == sql::replaced_status && state == model::RunState::completed;
  if (!is_replaced && status != model::name_of(model::message_status(state))) {
    report("messages", id, of + "is " + status + ", and the run is " + std::string(model::name_of(state)),
           journal_is_right);
  }
  if (state == model::RunState::completed && json != journal.completed_body()) {
    return report("messages", id, of + "is not what its journal ends with", journal_is_right);
  }
  const auto message = model::message_from_json(json);
  if (message && message.value().content != journal.text()) {
    report("messages", id, of + "does not say what its journal tells", restore_it);
  }
}

void Verification::check_message(const TableShape& table, const RawRow& row) {
  const auto id = name_of_row(table, row);
  const auto message = model::message_from_json(row[table.index_of("json")].bytes);
  if (!message) return report("messages", id, message.error().what, restore_it);
  const auto& ulid = message.value().id.ulid.bytes;
  if (std::memcmp(ulid.data(), row[table.index_of("id")].bytes.data(), ulid.size()) != 0) {
    report("messages", id, "it says that it is " + message.value().id.text(), restore_it);
  }
  const auto& status = row[table.index_of("status")].bytes;
  const bool is_replaced = status == sql::replaced_status && message.value().status == model::MessageStatus::completed;
  if (!is_replaced && status != model::name_of(message.value().status)) {
    report("messages", id, "its status is not what it says itself", restore_it);
  }
}

Result<Inspected> Verification::go_through_unfinished() {
  const auto& runs = table_named(tables_, "runs");
  const auto damage_told = [&](const Result<Unit>& read, const std::string& table, const std::string& id) {
    if (!read && read.error().kind == ErrorKind::corrupt)
      report(table, id, "cannot be read: " + read.error().what, restore_it);
    return read || read.error().kind == ErrorKind::corrupt;
  };
  std::vector<int64_t> numbers;
  if (auto begun = source_.begin(); !begun) return begun.error();
  auto read = source_.read("SELECT run FROM flights", {}, [&](const RawRow& row) {
    numbers.push_back(row[0].number);
    return true;
  });
  bool fine = damage_told(read, "flights", "");
  for (std::size_t i = 0; fine && i < numbers.size(); ++i) {
    const std::array values{Cell::of(numbers[i])};
    read = source_.read("SELECT " + column_list(runs) + " FROM runs WHERE number = $1", values, [&](const RawRow& row) {
      check_row(runs, row);
      return true;
    });
    fine = damage_told(read, "runs", "row " + std::to_string(numbers[i]));
  }
  source_.end();
  if (!fine) return read.error();
  return figures_;
}

Result<Inspected> check_unfinished(const std::string& place, Inspector& inspector) {
  auto source = open_source(place);
  if (!source) return source.error();
  return Verification(*source.value(), inspector).go_through_unfinished();
}

// ── contents in use ──

namespace {

bool is_hex(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }

// Whatever looks like a digest: too many are kept rather than one too few.
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

}  // namespace sluice::store
