#include "upkeep/run_check.h"

#include <array>
#include <cstring>

#include "base/bytes.h"
#include "store/on_disk.h"

namespace sluice::upkeep {
namespace {

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

void Findings::report(std::string table, std::string id, std::string what, std::string_view remedy) {
  ++figures.damage_count;
  inspector.on_damage({std::move(table), std::move(id), std::move(what), std::string(remedy)});
}

std::optional<std::vector<std::string>> find(RawSource& source, std::string_view sql, int64_t number) {
  std::optional<std::vector<std::string>> found;
  const std::array values{Cell::of(number)};
  const auto read = source.read(sql, values, [&](const RawRow& row) {
    auto& cells = found.emplace();
    for (const auto& cell : row) {
      cells.push_back(cell.type == CellType::integer ? std::to_string(cell.number) : std::string(cell.bytes));
    }
    return false;
  });
  if (!read) found.reset();
  return found;
}

void RunCheck::check_run(const RawRow& row) {
  ++findings_.figures.run_count;
  const auto id = name_of_row(runs_, row);
  const auto number = row[runs_.index_of("number")].number;
  const auto state = model::run_state_named(row[runs_.index_of("state")].bytes);
  if (!state) return findings_.report("runs", id, "its state is a word that is not one of ours", restore_it);
  const bool is_over = model::is_over(*state);
  if (is_over == row[runs_.index_of("ended_at")].is_null()) {
    findings_.report("runs", id, is_over ? "it is over, and has no time of its end" : "it has ended, and is not over",
                     restore_it);
  }
  if (!is_over && !find(source_, "SELECT run FROM flights WHERE run = $1", number)) {
    findings_.report("runs", id, "it is not over, and no conversation waits for it", restore_it);
  }
  const auto conversation =
      find(source_, "SELECT id FROM conversations WHERE number = $1", row[runs_.index_of("conversation")].number);
  if (conversation && (*conversation)[0] != row[runs_.index_of("conversation_id")].bytes) {
    findings_.report("runs", id, "its conversation is another one than it says", restore_it);
  }

  JournalCheck journal;
  if (!read_journal(id, number, journal)) return;
  const auto said = static_cast<uint64_t>(row[runs_.index_of("head")].number);
  // While a run is not over, its row may lag behind its journal.
  journal.end(*state, is_over ? said : std::max(said, journal.event_count()));
  findings_.figures.event_count += static_cast<int64_t>(journal.event_count());
  if (!journal.fault().empty()) return findings_.report("journal", id, journal.fault(), restore_it);
  if (is_over) check_message_of(id, row, *state, journal);
}

bool RunCheck::read_journal(const std::string& id, int64_t number, JournalCheck& check) {
  bool unpackable = true;
  const std::array values{Cell::of(number)};
  const auto read = source_.read("SELECT last, batch_zstd FROM sealed_journals WHERE run = $1 ORDER BY last", values,
                                 [&](const RawRow& row) {
                                   const auto batch = store::unpack(row[1].bytes);
                                   unpackable = batch.has_value();
                                   return unpackable && check.take(static_cast<uint64_t>(row[0].number), *batch);
                                 });
  if (!read) return findings_.report("sealed_journals", id, "cannot be read: " + read.error().what, restore_it), false;
  if (!unpackable) {
    const auto after = std::to_string(check.event_count());
    return findings_.report("sealed_journals", id, "the row after event " + after + " cannot be unpacked", restore_it),
           false;
  }
  // Journals are sealed from their beginning, so the open rows come after the sealed ones.
  const auto open = source_.read_journal(
      number, [&](const RawRow& row) { return check.take(static_cast<uint64_t>(row[0].number), row[1].bytes); });
  if (!open) return findings_.report("journal", id, open.error().what, restore_it), false;
  return true;
}

void RunCheck::check_message_of(const std::string& id, const RawRow& run, model::RunState state,
                                const JournalCheck& journal) {
  const auto found =
      find(source_, "SELECT id, status, json FROM messages WHERE number = $1", run[runs_.index_of("message")].number);
  // A message that cannot be read was reported with its table.
  if (!found) return;
  const auto& [message_id, status, json] = std::tie((*found)[0], (*found)[1], (*found)[2]);
  const std::string of = "the message of " + id + " ";
  constexpr std::string_view journal_is_right = "its journal has it right: restore the row from a backup";
  if (message_id != run[runs_.index_of("message_id")].bytes) {
    return findings_.report("messages", id, of + "is another one than the run says", restore_it);
  }
  const bool is_replaced = status == store::replaced_status && state == model::RunState::completed;
  if (!is_replaced && status != model::name_of(model::message_status(state))) {
    findings_.report("messages", id, of + "is " + status + ", and the run is " + std::string(model::name_of(state)),
                     journal_is_right);
  }
  if (state == model::RunState::completed && json != journal.completed_body()) {
    return findings_.report("messages", id, of + "is not what its journal ends with", journal_is_right);
  }
  const auto message = model::message_from_json(json);
  if (message && message.value().content != journal.text()) {
    findings_.report("messages", id, of + "does not say what its journal tells", restore_it);
  }
}

void RunCheck::check_message(const RawRow& row) {
  const auto id = name_of_row(messages_, row);
  const auto message = model::message_from_json(row[messages_.index_of("json")].bytes);
  if (!message) return findings_.report("messages", id, message.error().what, restore_it);
  const auto& ulid = message.value().id.ulid.bytes;
  if (std::memcmp(ulid.data(), row[messages_.index_of("id")].bytes.data(), ulid.size()) != 0) {
    findings_.report("messages", id, "it says that it is " + message.value().id.text(), restore_it);
  }
  const auto& status = row[messages_.index_of("status")].bytes;
  const bool is_replaced =
      status == store::replaced_status && message.value().status == model::MessageStatus::completed;
  if (!is_replaced && status != model::name_of(message.value().status)) {
    findings_.report("messages", id, "its status is not what it says itself", restore_it);
  }
}

}  // namespace sluice::upkeep
