// Tables of a workspace and their rows. Part of the store's public header: errors, threads and transactions are those
// of journal/journal.h. All writes are boundaries.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/tables.h"
#include "store/questions.h"

namespace sluice::store {

struct TablePatch {
  std::optional<std::string> name;
  std::vector<model::Column> add_columns;
};

// Found rows, and the columns that they were asked by.
struct FoundRows {
  std::vector<model::TableRow> rows;
  int64_t total = 0;  // without limit and offset
};

// Names are unique within a tenant: `conflict`. `invalid` when it would be one table, column, row or byte too many.
void create_table(Database& database, model::Table made, Done<Unit> done);
void update_table(Database& database, model::TenantId tenant, model::TableId id, TablePatch patch, Timestamp at,
                  Done<model::Table> done);
// With its rows, which tidying up deletes later: until then they are only invisible.
void delete_table(Database& database, model::TenantId tenant, model::TableId id, Done<Unit> done);
// By its id as text, or by its name.
void find_table(Database& database, model::TenantId tenant, std::string id_or_name, Done<model::Table> done);
// Oldest first.
void tables(Database& database, model::TenantId tenant, PageQuery<model::TableId> query, Done<Page<model::Table>> done);

// All or none.
void insert_rows(Database& database, model::TenantId tenant, model::TableId table, std::vector<model::TableRow> rows,
                 Done<Unit> done);
// `patch` as in model::merge_cells().
void change_row(Database& database, model::TenantId tenant, model::TableId table, model::TableRowId row,
                std::string patch, Timestamp at, Done<model::TableRow> done);
void delete_row(Database& database, model::TenantId tenant, model::TableId table, model::TableRowId row,
                Done<Unit> done);
// Oldest first.
void table_rows(Database& database, model::TenantId tenant, model::TableId table, PageQuery<model::TableRowId> query,
                Done<Page<model::TableRow>> done);
// `denied` when too many of the tenant's questions wait already, `invalid` when this one took too long.
void query_table(Database& database, model::TenantId tenant, model::TableId table, model::TableQuery query,
                 Done<FoundRows> done);

}  // namespace sluice::store
