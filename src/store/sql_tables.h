// The tables of a SqlStore.
#pragma once

#include "store/sql_desk.h"

namespace sluice::store {

class SqlTables final : public Tables {
 public:
  explicit SqlTables(SqlDesk& desk) : desk_(desk) {}

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
};

}  // namespace sluice::store
