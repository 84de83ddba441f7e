// Checks a run's row, its journal and its message against each other.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "upkeep/journal_check.h"
#include "upkeep/raw_database.h"
#include "upkeep/upkeep.h"

namespace sluice::upkeep {

inline constexpr std::string_view restore_it =
    "it is not served, all else is; restore it from a backup, or live without it";

// What one look through a store has found so far. The checks of single rows have no result: they report here, because
// one damaged row must not keep the others from being checked.
class Findings {
 public:
  explicit Findings(Inspector& inspector) : inspector(inspector) {}
  void report(std::string table, std::string id, std::string what, std::string_view remedy);

  Inspector& inspector;
  Inspected figures;
};

// The name that people know a row by: its id, otherwise its number or key.
std::string name_of_row(const TableShape& table, const RawRow& row);
// The first row of the answer as texts; empty if there is none or it cannot be read.
std::optional<std::vector<std::string>> find(RawSource& source, std::string_view sql, int64_t number);

class RunCheck {
 public:
  RunCheck(RawSource& source, const std::vector<TableShape>& tables, Findings& findings)
      : source_(source),
        runs_(table_named(tables, "runs")),
        messages_(table_named(tables, "messages")),
        findings_(findings) {}

  // Both rows passed fault_in().
  void check_run(const RawRow& row);
  void check_message(const RawRow& row);

 private:
  // False if the journal cannot be read, which was reported.
  bool read_journal(const std::string& id, int64_t number, JournalCheck& check);
  void check_message_of(const std::string& id, const RawRow& run, model::RunState state, const JournalCheck& journal);

  RawSource& source_;
  const TableShape& runs_;
  const TableShape& messages_;
  Findings& findings_;
};

}  // namespace sluice::upkeep
