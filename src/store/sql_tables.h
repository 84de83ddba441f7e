// The tables of a SqlStore.
#pragma once

#include "store/sql_desk.h"

namespace sluice::store {

class SqlTables final : public Tables {
 public:
  // How long one question may look through a table, and how many of one tenant may wait for their turn.
  static constexpr int64_t query_ms_max_by_default = 5'000;
  static constexpr std::size_t queries_waiting_max = 16;

  SqlTables(SqlDesk& desk, int64_t query_ms_max) : desk_(desk), query_ms_max_(query_ms_max) {}

  void create(model::Table made, Done<Unit> done) override;
  void update(model::TenantId tenant, model::TableId id, TablePatch patch, Timestamp at,
              Done<model::Table> done) override;
  void remove(model::TenantId tenant, model::TableId id, Done<Unit> done) override;
  void find(model::TenantId tenant, std::string id_or_name, Done<model::Table> done) override;
  void list(model::TenantId tenant, PageQuery<model::TableId> query, Done<Page<model::Table>> done) override;
  void insert(model::TenantId tenant, model::TableId table, std::vector<model::TableRow> rows,
              Done<Unit> done) override;
  void change_row(model::TenantId tenant, model::TableId table, model::TableRowId row, std::string patch, Timestamp at,
                  Done<model::TableRow> done) override;
  void remove_row(model::TenantId tenant, model::TableId table, model::TableRowId row, Done<Unit> done) override;
  void rows(model::TenantId tenant, model::TableId table, PageQuery<model::TableRowId> query,
            Done<Page<model::TableRow>> done) override;
  void query(model::TenantId tenant, model::TableId table, model::TableQuery query, Done<FoundRows> done) override;

 private:
  SqlDesk& desk_;
  int64_t query_ms_max_;
};

// Of the readers who answer such questions: one at a time, so that tenants take turns.
inline ReadBounds query_bounds() {
  return {.taken_max = 1,
          .tenant_waiting_max = SqlTables::queries_waiting_max,
          .refusal = {ErrorKind::denied, "too many questions about tables of this workspace are waiting"}};
}

namespace sql {

// The rows of deleted tables, and these tables.
int64_t count_deleted_rows(Connection& db);
// So many of them at most; how many there were. A table goes with its last row.
int drop_deleted_rows(Connection& db, int limit);

}  // namespace sql
}  // namespace sluice::store
