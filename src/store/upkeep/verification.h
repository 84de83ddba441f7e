// One look through a store for damage.
#pragma once

#include "store/maintenance.h"
#include "store/patch.h"
#include "store/upkeep/journal_check.h"
#include "store/upkeep/raw_database.h"

namespace sluice::store {

class Verification {
 public:
  Verification(RawSource& source, Inspector& inspector)
      : source_(source), inspector_(inspector), tables_(catalogue()) {}

  Result<Inspected> go();
  Result<Inspected> go_through_unfinished();

 private:
  // ── verify.cc: any table ──
  Result<Unit> check_table(const TableShape& table);
  Result<Unit> check_small_table(const TableShape& table);
  void check_row(const TableShape& table, const RawRow& row);
  void check_audit(const TableShape& table, const RawRow& row);
  void check_workflow_run(const TableShape& table, const RawRow& row);
  void check_user_table(const TableShape& table, const RawRow& row);
  void name_content(const TableShape& table, const RawRow& row);
  Result<Unit> check_flights();

  // ── verify_references.cc ──
  Result<Unit> check_references();

  // ── verify_runs.cc ──
  void check_run(const TableShape& table, const RawRow& row);
  // False: it cannot be read, and that was said.
  bool read_journal(const std::string& id, int64_t number, JournalCheck& check);
  void check_message_of(const std::string& id, const RawRow& run, model::RunState state, const JournalCheck& journal);
  void check_message(const TableShape& table, const RawRow& row);

  // The first row; empty when there is none, or it cannot be read.
  std::optional<std::vector<std::string>> find(std::string_view sql, int64_t number);
  void report(std::string table, std::string id, std::string what, std::string_view remedy);

  RawSource& source_;
  Inspector& inspector_;
  const std::vector<TableShape> tables_;
  Inspected figures_;
  ChainEnd audit_end_;
};

// A row as people know it: its id, else its number or key.
std::string name_of_row(const TableShape& table, const RawRow& row);

inline constexpr std::string_view restore_it =
    "it is not served, all else is; restore it from a backup, or live without it";

}  // namespace sluice::store
