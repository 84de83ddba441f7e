#include <array>
#include <cstring>

#include "base/bytes.h"
#include "store/upkeep/table_walk.h"
#include "store/upkeep/verification.h"

namespace sluice::store {
namespace {

constexpr int64_t told_every = 10'000;  // rows

constexpr std::string_view rebuild_index = "stop the server and rebuild the table's indexes: sqlite3 FILE REINDEX";

bool is_small_key(const TableShape& table) {
  return table.key.size() == 1 && table.columns[0].kind == ColumnKind::number;
}

template <typename AnyId>
std::string text_of(std::string_view bytes) {
  AnyId id;
  std::memcpy(id.ulid.bytes.data(), bytes.data(), id.ulid.bytes.size());
  return id.text();
}

std::string id_text(std::string_view table, std::string_view bytes) {
  if (table == "runs") return text_of<model::RunId>(bytes);
  if (table == "messages") return text_of<model::MessageId>(bytes);
  if (table == "conversations") return text_of<model::ConversationId>(bytes);
  if (table == "tenants") return text_of<model::TenantId>(bytes);
  if (table == "agents") return text_of<model::AgentId>(bytes);
  if (table == "approvals") return text_of<model::ApprovalId>(bytes);
  if (table == "files" || table == "bag_files") return text_of<model::FileId>(bytes);
  if (table == "skills") return text_of<model::SkillId>(bytes);
  Ulid id;
  std::memcpy(id.bytes.data(), bytes.data(), id.bytes.size());
  std::string out;
  append_ulid(out, id);
  return out;
}

}  // namespace

std::string name_of_row(const TableShape& table, const RawRow& row) {
  for (std::size_t i = 0; i < row.size() && i < table.columns.size(); ++i) {
    if (table.columns[i].name == "id" && row[i].bytes.size() == 16) return id_text(table.name, row[i].bytes);
  }
  const auto& first = row[0];
  return table.columns[0].name + " " +
         (first.type == CellType::integer ? std::to_string(first.number) : to_hex(first.bytes));
}

void Verification::report(std::string table, std::string id, std::string what, std::string_view remedy) {
  ++figures_.damage_count;
  inspector_.on_damage({std::move(table), std::move(id), std::move(what), std::string(remedy)});
}

std::optional<std::vector<std::string>> Verification::find(std::string_view sql, int64_t number) {
  std::optional<std::vector<std::string>> found;
  const std::array values{Cell::of(number)};
  const auto read = source_.read(sql, values, [&](const RawRow& row) {
    auto& cells = found.emplace();
    for (const auto& cell : row) {
      cells.push_back(cell.type == CellType::integer ? std::to_string(cell.number) : std::string(cell.bytes));
    }
    return false;
  });
  if (!read) found.reset();
  return found;
}

Result<Inspected> Verification::go() {
  for (const auto& table : tables_) {
    inspector_.on_progress(table.name, figures_.row_count);
    auto complaints = source_.complaints(table);
    if (!complaints) return complaints.error();
    for (auto& complaint : complaints.value()) {
      const bool of_index = complaint.find("index") != std::string::npos;
      report(table.name, "", std::move(complaint), of_index ? rebuild_index : restore_it);
    }
    if (table.name == "journal" || table.name == "sealed_journals") continue;  // read run by run
    if (auto checked = check_table(table); !checked) return checked.error();
  }
  if (auto checked = check_flights(); !checked) return checked.error();
  if (auto checked = check_references(); !checked) return checked.error();
  return figures_;
}

Result<Unit> Verification::check_table(const TableShape& table) {
  if (!is_small_key(table)) return check_small_table(table);
  return walk(source_, table,
              {[&](const RawRow& row) { check_row(table, row); },
               [&](int64_t first, std::optional<int64_t> last, const std::string& why) {
                 const auto range = last == first ? "row " + std::to_string(first)
                                                  : "rows " + std::to_string(first) + " to " +
                                                        (last ? std::to_string(*last) : "the end");
                 report(table.name, range, "cannot be read: " + why, restore_it);
               }});
}

// Those of no number are few, or short.
Result<Unit> Verification::check_small_table(const TableShape& table) {
  auto read = source_.read("SELECT " + column_list(table) + " FROM " + table.name, {}, [&](const RawRow& row) {
    check_row(table, row);
    return true;
  });
  if (read) return read;
  if (read.error().kind != ErrorKind::corrupt) return read;
  report(table.name, "", "cannot be read to its end: " + read.error().what, restore_it);
  return Unit{};
}

void Verification::check_row(const TableShape& table, const RawRow& row) {
  if (++figures_.row_count % told_every == 0) inspector_.on_progress(table.name, figures_.row_count);
  if (auto fault = fault_in(table, row); !fault.empty()) {
    return report(table.name, name_of_row(table, row), std::move(fault), restore_it);
  }
  if (table.name == "runs") return check_run(table, row);
  if (table.name == "messages") return check_message(table, row);
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
  const auto link = next_link(entry, audit_end_);
  const auto id = "number " + std::to_string(number);
  constexpr std::string_view chain_broken =
      "somebody changed it, or the disk did: compare it with a backup; it stays as it is";
  if (number != link.number) {
    report("audit", id, "entries are missing before it: the last was " + std::to_string(audit_end_.number),
           chain_broken);
  } else if (text("previous_sha256") != link.previous_sha256) {
    report("audit", id, "it does not follow the entry before it", chain_broken);
  } else if (sha256 != link.sha256) {
    report("audit", id, "it is not what was written: its hash differs", chain_broken);
  }
  audit_end_ = {number, sha256};
}

void Verification::check_workflow_run(const TableShape& table, const RawRow& row) {
  const auto count = find("SELECT count(*), coalesce(max(position), 0) FROM workflow_events WHERE run = $1",
                          row[table.index_of("number")].number);
  if (!count) return;
  const auto head = std::to_string(row[table.index_of("head")].number);
  if ((*count)[0] == head && (*count)[1] == head) return;
  report(table.name, name_of_row(table, row), "it has " + (*count)[0] + " events, and its row says " + head,
         restore_it);
}

void Verification::check_user_table(const TableShape& table, const RawRow& row) {
  const auto count =
      find("SELECT count(*) FROM user_rows WHERE table_number = $1", row[table.index_of("number")].number);
  const auto said = std::to_string(row[table.index_of("row_count")].number);
  if (!count || (*count)[0] == said) return;
  report(table.name, name_of_row(table, row), "it has " + (*count)[0] + " rows, and says " + said, restore_it);
}

void Verification::name_content(const TableShape& table, const RawRow& row) {
  if (table.name == "bag_files" && !row[table.index_of("deleted_at")].is_null()) return;
  inspector_.on_content({table.name, name_of_row(table, row), std::string(row[table.index_of("sha256")].bytes),
                         row[table.index_of("size_bytes")].number});
}

// In one statement, which sees one moment: a server may be ending runs meanwhile.
Result<Unit> Verification::check_flights() {
  constexpr std::string_view stray =
      "SELECT flights.conversation, flights.run FROM flights LEFT JOIN runs ON runs.number = flights.run "
      "AND runs.conversation = flights.conversation AND runs.ended_at IS NULL WHERE runs.number IS NULL";
  auto read = source_.read(stray, {}, [&](const RawRow& row) {
    report("flights", "conversation " + std::to_string(row[0].number),
           "it waits for run number " + std::to_string(row[1].number) + ", which is not under way",
           "the conversation takes no message: restore it from a backup, or begin another");
    return true;
  });
  if (!read && read.error().kind != ErrorKind::corrupt) return read;
  return Unit{};  // what cannot be read was told with its table
}

Result<Inspected> verify_store(const std::string& place, Inspector& inspector) {
  auto source = open_source(place);
  if (!source) return source.error();
  return Verification(*source.value(), inspector).go();
}

}  // namespace sluice::store
