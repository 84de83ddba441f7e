#include "store/tables.h"

#include <chrono>

#include "model/tables.h"
#include "store/database.h"
#include "store/sql_parts.h"
#include "store/sql_rows.h"

namespace sluice::store {
namespace {

// A deleted table belongs to no tenant until its rows are gone: no tenant finds it, and its name is its id, so that the
// former name is free. Its rows are deleted by tidying up, in pieces: in one transaction, all writers would wait.
constexpr model::TenantId nobody{};

// `number` is what its rows refer to.
struct NumberedTable {
  int64_t number = 0;
  model::Table table;
};

int64_t read_row(Query& query, model::Table& table) {
  int64_t number = 0;
  std::string columns;
  query.read(number, table.id, table.tenant_id, table.name, columns, table.row_count, table.size_bytes,
             table.created_at, table.updated_at);
  if (const auto document = json::Document::parse(columns)) {
    table.columns = model::columns_from_json(document.value().root());
  }
  return number;
}

int64_t read_row(Query& query, model::TableRow& row) {
  int64_t number = 0;
  int64_t table = 0;
  query.read(number, row.id, table, row.cells, row.created_at, row.updated_at);
  return number;
}

template <typename... Values>
std::optional<NumberedTable> find_table(Connection& db, std::string_view where, const Values&... values) {
  Query query(db, "SELECT * FROM user_tables WHERE " + std::string(where), values...);
  if (!query.next()) return std::nullopt;
  NumberedTable found;
  found.number = read_row(query, found.table);
  return found;
}

std::optional<NumberedTable> table_of(Connection& db, model::TenantId tenant, model::TableId id) {
  return find_table(db, "id = ? AND tenant_id = ?", id, tenant);
}

std::optional<Error> refusal_of_name(Connection& db, const model::Table& table) {
  const auto other = find_table(db, "tenant_id = ? AND name = ? AND id <> ?", table.tenant_id, table.name, table.id);
  if (!other) return std::nullopt;
  return Error{ErrorKind::conflict, "the name is that of table " + other->table.id.text()};
}

void keep_table(Connection& db, const NumberedTable& changed) {
  const auto& table = changed.table;
  execute(db,
          "UPDATE user_tables SET name = ?, columns = ?, row_count = ?, size_bytes = ?, updated_at = ? "
          "WHERE number = ?",
          table.name, model::columns_text(table.columns), table.row_count, table.size_bytes, table.updated_at,
          changed.number);
}

std::optional<model::TableRow> row_of(Connection& db, const NumberedTable& table, model::TableRowId id) {
  Query query(db, "SELECT * FROM user_rows WHERE id = ? AND table_number = ?", id, table.number);
  if (!query.next()) return std::nullopt;
  model::TableRow row;
  read_row(query, row);
  return row;
}

Error too_much(std::string what) { return {ErrorKind::invalid, std::move(what)}; }

Error too_many_tables() {
  return too_much("a workspace has at most " + std::to_string(limits::tables_per_tenant_max) + " tables");
}

// Adds the rows to the table's figures, or says why they do not fit.
std::optional<Error> add_rows(model::Table& table, const std::vector<model::TableRow>& rows) {
  table.row_count += static_cast<int64_t>(rows.size());
  for (const auto& row : rows) table.size_bytes += static_cast<int64_t>(row.cells.size());
  if (table.row_count > limits::table_rows_max) {
    return too_much("a table has at most " + std::to_string(limits::table_rows_max) + " rows");
  }
  if (table.size_bytes > limits::table_bytes_max) {
    return too_much("a table has at most " + std::to_string(limits::table_bytes_max) + " bytes");
  }
  return std::nullopt;
}

// Changes the row and the table's figures, or says why it does not fit.
std::optional<Error> change(model::Table& table, model::TableRow& row, std::string_view patch, Timestamp at) {
  auto cells = model::merge_cells(row.cells, patch);
  if (cells.size() > limits::table_row_bytes_max) {
    return too_much("a row has at most " + std::to_string(limits::table_row_bytes_max) + " bytes");
  }
  table.row_count -= 1;
  table.size_bytes -= static_cast<int64_t>(row.cells.size());
  row.cells = std::move(cells);
  row.updated_at = at;
  return add_rows(table, {row});
}

std::optional<Error> apply(const TablePatch& patch, Timestamp at, model::Table& table) {
  if (patch.name) table.name = *patch.name;
  for (const auto& column : patch.add_columns) {
    if (model::find_column(table.columns, column.name) != nullptr) {
      return too_much("the table has a column \"" + column.name + "\" already");
    }
    table.columns.push_back(column);
  }
  if (table.columns.size() > limits::table_columns_max) {
    return too_much("a table has at most " + std::to_string(limits::table_columns_max) + " columns");
  }
  table.updated_at = at;
  return std::nullopt;
}

// When a search has taken too long.
class Deadline {
 public:
  explicit Deadline(int64_t ms) : at_(std::chrono::steady_clock::now() + std::chrono::milliseconds(ms)) {}
  bool is_over() const { return std::chrono::steady_clock::now() >= at_; }

 private:
  std::chrono::steady_clock::time_point at_;
};

Error took_too_long(const model::Table& table, int64_t ms_max) {
  return {ErrorKind::invalid, "took longer than " + std::to_string(ms_max) + " ms on the " +
                                  std::to_string(table.size_bytes) + " bytes of table " + table.id.text() +
                                  " and was given up: compare with fewer values, or keep less in one table"};
}

}  // namespace

int64_t sql::count_deleted_rows(Connection& db) {
  // A table counts as a row, so that one which has none left is not forgotten.
  return find_number(db, "SELECT CAST(coalesce(sum(row_count + 1), 0) AS BIGINT) FROM user_tables WHERE tenant_id = ?",
                     nobody)
      .value_or(0);
}

int sql::drop_deleted_rows(Connection& db, int limit) {
  const auto table = find_number(db, "SELECT number FROM user_tables WHERE tenant_id = ? LIMIT 1", nobody);
  if (!table) return 0;
  execute(db,
          "DELETE FROM user_rows WHERE number IN "
          "(SELECT number FROM user_rows WHERE table_number = ? ORDER BY number LIMIT ?)",
          *table, limit);
  const int count = db.change_count();
  // The table says how many it has left, so that verifying the store finds no difference meanwhile.
  execute(db, "UPDATE user_tables SET row_count = row_count - ? WHERE number = ?", count, *table);
  if (count == limit) return count;
  execute(db, "DELETE FROM user_tables WHERE number = ?", *table);
  return count + 1;
}

void create_table(Database& database, model::Table made, Done<Unit> done) {
  const auto whose = made.tenant_id;
  database.write(whose, std::move(done), [made = std::move(made)](Connection& db) -> Result<Unit> {
    if (!has_tenant(db, made.tenant_id)) return no_such("tenant");
    if (auto refused = refusal_of_name(db, made)) return *std::move(refused);
    const auto count = find_number(db, "SELECT count(*) FROM user_tables WHERE tenant_id = ?", made.tenant_id);
    if (count.value_or(0) >= limits::tables_per_tenant_max) return too_many_tables();
    execute(db, "INSERT INTO user_tables VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?)", made.id, made.tenant_id, made.name,
            model::columns_text(made.columns), made.row_count, made.size_bytes, made.created_at, made.updated_at);
    return Unit{};
  });
}

void update_table(Database& database, model::TenantId tenant, model::TableId id, TablePatch patch, Timestamp at,
                  Done<model::Table> done) {
  database.write(tenant, std::move(done),
                 [tenant, id, patch = std::move(patch), at](Connection& db) -> Result<model::Table> {
                   auto found = table_of(db, tenant, id);
                   if (!found) return no_such("table");
                   if (auto refused = apply(patch, at, found->table)) return *std::move(refused);
                   if (auto refused = refusal_of_name(db, found->table)) return *std::move(refused);
                   keep_table(db, *found);
                   return found->table;
                 });
}

void delete_table(Database& database, model::TenantId tenant, model::TableId id, Done<Unit> done) {
  database.write(tenant, std::move(done), [tenant, id](Connection& db) -> Result<Unit> {
    const auto found = table_of(db, tenant, id);
    if (!found) return no_such("table");
    execute(db, "UPDATE user_tables SET tenant_id = ?, name = ? WHERE number = ?", nobody, id.text(), found->number);
    return Unit{};
  });
}

void find_table(Database& database, model::TenantId tenant, std::string id_or_name, Done<model::Table> done) {
  database.read(tenant, std::move(done),
                [tenant, id_or_name = std::move(id_or_name)](Connection& db) -> Result<model::Table> {
                  const auto id = model::TableId::parse(id_or_name);
                  auto found = id ? table_of(db, tenant, *id) : std::nullopt;
                  if (!found) found = find_table(db, "tenant_id = ? AND name = ?", tenant, id_or_name);
                  if (!found) return no_such("table");
                  return found->table;
                });
}

void tables(Database& database, model::TenantId tenant, PageQuery<model::TableId> query,
            Done<Page<model::Table>> done) {
  database.read(tenant, std::move(done), [tenant, query](Connection& db) -> Result<Page<model::Table>> {
    std::optional<int64_t> cursor;
    if (const auto& id = cursor_of(query)) {
      cursor = find_number(db, "SELECT number FROM user_tables WHERE id = ? AND tenant_id = ?", *id, tenant);
      if (!cursor) return no_such("table to go on from");
    }
    const auto walk = Walk::of(query, Order::ascending);
    return page_by_number<model::Table>(db, "SELECT * FROM user_tables WHERE tenant_id = ?1", "number", tenant, cursor,
                                        query.limit, walk, [](Query& its) {
                                          model::Table table;
                                          read_row(its, table);
                                          return table;
                                        });
  });
}

void insert_rows(Database& database, model::TenantId tenant, model::TableId table, std::vector<model::TableRow> rows,
                 Done<Unit> done) {
  database.write(tenant, std::move(done), [tenant, table, rows = std::move(rows)](Connection& db) -> Result<Unit> {
    auto found = table_of(db, tenant, table);
    if (!found) return no_such("table");
    if (auto refused = add_rows(found->table, rows)) return *std::move(refused);
    for (const auto& row : rows) {
      execute(db, "INSERT INTO user_rows VALUES (NULL, ?, ?, ?, ?, ?)", row.id, found->number, row.cells,
              row.created_at, row.updated_at);
    }
    keep_table(db, *found);
    return Unit{};
  });
}

void change_row(Database& database, model::TenantId tenant, model::TableId table, model::TableRowId row,
                std::string patch, Timestamp at, Done<model::TableRow> done) {
  database.write(tenant, std::move(done),
                 [tenant, table, id = row, patch = std::move(patch), at](Connection& db) -> Result<model::TableRow> {
                   auto found = table_of(db, tenant, table);
                   if (!found) return no_such("table");
                   auto row = row_of(db, *found, id);
                   if (!row) return no_such("row");
                   if (auto refused = change(found->table, *row, patch, at)) return *std::move(refused);
                   execute(db, "UPDATE user_rows SET cells = ?, updated_at = ? WHERE id = ?", row->cells,
                           row->updated_at, id);
                   keep_table(db, *found);
                   return *row;
                 });
}

void delete_row(Database& database, model::TenantId tenant, model::TableId table, model::TableRowId row,
                Done<Unit> done) {
  database.write(tenant, std::move(done), [tenant, table, id = row](Connection& db) -> Result<Unit> {
    auto found = table_of(db, tenant, table);
    if (!found) return no_such("table");
    const auto row = row_of(db, *found, id);
    if (!row) return no_such("row");
    execute(db, "DELETE FROM user_rows WHERE id = ?", id);
    found->table.row_count -= 1;
    found->table.size_bytes -= static_cast<int64_t>(row->cells.size());
    keep_table(db, *found);
    return Unit{};
  });
}

void table_rows(Database& database, model::TenantId tenant, model::TableId table, PageQuery<model::TableRowId> query,
                Done<Page<model::TableRow>> done) {
  database.read(tenant, std::move(done), [tenant, table, query](Connection& db) -> Result<Page<model::TableRow>> {
    const auto found = table_of(db, tenant, table);
    if (!found) return no_such("table");
    std::optional<int64_t> cursor;
    if (const auto& id = cursor_of(query)) {
      cursor = find_number(db, "SELECT number FROM user_rows WHERE id = ? AND table_number = ?", *id, found->number);
      if (!cursor) return no_such("row to go on from");
    }
    const auto walk = Walk::of(query, Order::ascending);
    return page_by_number<model::TableRow>(db, "SELECT * FROM user_rows WHERE table_number = ?1", "number",
                                           found->number, cursor, query.limit, walk, [](Query& its) {
                                             model::TableRow row;
                                             read_row(its, row);
                                             return row;
                                           });
  });
}

void query_table(Database& database, model::TenantId tenant, model::TableId table, model::TableQuery query,
                 Done<FoundRows> done) {
  database.search(tenant, std::move(done),
                  [tenant, table, query = std::move(query),
                   ms_max = database.search_ms_max()](Connection& db) -> Result<FoundRows> {
                    const Deadline deadline(ms_max);
                    const auto found = table_of(db, tenant, table);
                    if (!found) return no_such("table");
                    model::TableSearch search(found->table.columns, query);
                    Query all_rows(db, "SELECT * FROM user_rows WHERE table_number = ? ORDER BY number", found->number);
                    while (all_rows.next()) {
                      if (deadline.is_over()) return took_too_long(found->table, ms_max);
                      model::TableRow row;
                      read_row(all_rows, row);
                      search.look_at(std::move(row));
                    }
                    if (db.failure() && deadline.is_over()) {
                      db.take_failure();  // the database has its own deadline for statements, and it was that
                      return took_too_long(found->table, ms_max);
                    }
                    auto selection = search.finish();
                    return FoundRows{std::move(selection.rows), selection.total};
                  });
}

}  // namespace sluice::store
