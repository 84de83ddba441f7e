// Rows that refer to rows which are not there.
#include <array>

#include "store/upkeep/verification.h"

namespace sluice::store {
namespace {

struct Reference {
  std::string_view table;
  std::string_view column;
  std::string_view to_table;
  std::string_view to_column;
};

// What is written together with what it refers to, or after it, and goes with it or never.
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

constexpr int64_t named_max = 100;  // of one kind: after a lost page there may be many

}  // namespace

// In one statement each, which sees one moment: a server may be at work.
Result<Unit> Verification::check_references() {
  for (const auto& [from, column, to_table, to_column] : references) {
    const auto& table = table_named(tables_, from);
    int64_t count = 0;
    const auto reference = std::string(from) + "." + std::string(column);
    const auto read =
        source_.read("SELECT " + column_list(table) + " FROM " + table.name + " WHERE " + std::string(column) +
                         " IS NOT NULL AND NOT EXISTS (SELECT 1 FROM " + std::string(to_table) +
                         " target WHERE target." + std::string(to_column) + " = " + reference + ")",
                     {}, [&](const RawRow& row) {
                       if (++count > named_max) return true;
                       report(table.name, name_of_row(table, row),
                              "its " + std::string(column) + " is not in " + std::string(to_table), restore_it);
                       return true;
                     });
    // What cannot be read was told with its table.
    if (!read && read.error().kind != ErrorKind::corrupt) return read.error();
    if (count > named_max) {
      report(table.name, "", std::to_string(count - named_max) + " more whose " + reference + " is nowhere",
             restore_it);
    }
  }
  return Unit{};
}

}  // namespace sluice::store
