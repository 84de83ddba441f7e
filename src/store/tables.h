// Tables of a workspace and their rows. Part of the store's door: the errors, the threads and the transactions are
// those of store/store.h. All writes are boundaries.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/callback.h"
#include "base/result.h"
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

class Tables {
 public:
  template <typename T>
  using Answer = Callback<void(Result<T>)>;

  virtual ~Tables() = default;

  // Names are unique within a tenant: `conflict`. `invalid` when it would be one table, column, row or byte too many.
  virtual void create(model::Table made, Answer<Unit> done) = 0;
  virtual void update(model::TenantId tenant, model::TableId id, TablePatch patch, Timestamp at,
                      Answer<model::Table> done) = 0;
  // With its rows, which tidying up deletes later: until then they are only invisible.
  virtual void remove(model::TenantId tenant, model::TableId id, Answer<Unit> done) = 0;
  // By its id as text, or by its name.
  virtual void find(model::TenantId tenant, std::string id_or_name, Answer<model::Table> done) = 0;
  // Oldest first.
  virtual void list(model::TenantId tenant, PageQuery<model::TableId> query, Answer<Page<model::Table>> done) = 0;

  // All or none.
  virtual void insert(model::TenantId tenant, model::TableId table, std::vector<model::TableRow> rows,
                      Answer<Unit> done) = 0;
  // `patch` as in model::merge_cells().
  virtual void change_row(model::TenantId tenant, model::TableId table, model::TableRowId row, std::string patch,
                          Timestamp at, Answer<model::TableRow> done) = 0;
  virtual void remove_row(model::TenantId tenant, model::TableId table, model::TableRowId row, Answer<Unit> done) = 0;
  // Oldest first.
  virtual void rows(model::TenantId tenant, model::TableId table, PageQuery<model::TableRowId> query,
                    Answer<Page<model::TableRow>> done) = 0;
  // `denied` when too many of the tenant's questions wait already, `invalid` when this one took too long.
  virtual void query(model::TenantId tenant, model::TableId table, model::TableQuery query, Answer<FoundRows> done) = 0;
};

}  // namespace sluice::store
