#include "store/memory_tables.h"

#include "store/memory_answer.h"
#include "store/table_rules.h"

namespace sluice::store {
namespace {

Error taken(const model::Table& other) { return {ErrorKind::conflict, "the name is that of table " + other.id.text()}; }

}  // namespace

MemoryDisk::TableRows* MemoryTables::table_of(model::TenantId tenant, model::TableId id) {
  auto* const found = disk_.tables_.find(id);
  return found == nullptr || found->table.tenant_id != tenant ? nullptr : found;
}

MemoryDisk::TableRows* MemoryTables::table_named(model::TenantId tenant, std::string_view name) {
  for (auto& [number, row] : disk_.tables_) {
    if (row.table.tenant_id == tenant && row.table.name == name) return &row;
  }
  return nullptr;
}

void MemoryTables::create(model::Table made, Done<Unit> done) {
  desk_.write<Unit>(std::move(done), [&]() -> Result<Unit> {
    if (disk_.tenants_.find(made.tenant_id) == nullptr) return no_such("tenant");
    if (const auto* other = table_named(made.tenant_id, made.name)) return taken(other->table);
    int64_t count = 0;
    for (const auto& [number, row] : disk_.tables_) count += row.table.tenant_id == made.tenant_id ? 1 : 0;
    if (count >= limits::tables_per_tenant_max) return too_many_tables();
    disk_.tables_.add(made.id, {made, {}});
    return Unit{};
  });
}

void MemoryTables::update(model::TenantId tenant, model::TableId id, TablePatch patch, Timestamp at,
                          Done<model::Table> done) {
  desk_.write<model::Table>(std::move(done), [&]() -> Result<model::Table> {
    auto* const found = table_of(tenant, id);
    if (found == nullptr) return no_such("table");
    if (patch.name) {
      if (const auto* other = table_named(tenant, *patch.name); other != nullptr && other != found) {
        return taken(other->table);
      }
    }
    auto changed = found->table;
    if (auto refused = apply(patch, at, changed)) return *std::move(refused);
    return found->table = changed;
  });
}

void MemoryTables::remove(model::TenantId tenant, model::TableId id, Done<Unit> done) {
  desk_.write<Unit>(std::move(done), [&]() -> Result<Unit> {
    if (table_of(tenant, id) == nullptr) return no_such("table");
    disk_.tables_.remove(id);
    return Unit{};
  });
}

void MemoryTables::find(model::TenantId tenant, std::string id_or_name, Done<model::Table> done) {
  const auto id = model::TableId::parse(id_or_name);
  const auto* found = id ? table_of(tenant, *id) : nullptr;
  if (found == nullptr) found = table_named(tenant, id_or_name);
  if (found == nullptr) return desk_.answer<model::Table>(no_such("table"), std::move(done));
  desk_.answer<model::Table>(found->table, std::move(done));
}

void MemoryTables::list(model::TenantId tenant, PageQuery<model::TableId> query, Done<Page<model::Table>> done) {
  std::vector<model::Table> tables;
  for (const auto& [number, row] : disk_.tables_) {
    if (row.table.tenant_id == tenant) tables.push_back(row.table);
  }
  desk_.answer<Page<model::Table>>(cut_page(tables, query, id_of, all), std::move(done));
}

void MemoryTables::insert(model::TenantId tenant, model::TableId table, std::vector<model::TableRow> rows,
                          Done<Unit> done) {
  desk_.write<Unit>(std::move(done), [&]() -> Result<Unit> {
    auto* const found = table_of(tenant, table);
    if (found == nullptr) return no_such("table");
    auto grown = found->table;
    if (auto refused = add_rows(grown, rows)) return *std::move(refused);
    found->table = grown;
    found->rows.insert(found->rows.end(), rows.begin(), rows.end());
    return Unit{};
  });
}

void MemoryTables::change_row(model::TenantId tenant, model::TableId table, model::TableRowId row, std::string patch,
                              Timestamp at, Done<model::TableRow> done) {
  desk_.write<model::TableRow>(std::move(done), [&]() -> Result<model::TableRow> {
    auto* const found = table_of(tenant, table);
    if (found == nullptr) return no_such("table");
    const auto its = std::ranges::find(found->rows, row, &model::TableRow::id);
    if (its == found->rows.end()) return no_such("row");
    auto changed_table = found->table;
    auto changed = *its;
    if (auto refused = change(changed_table, changed, patch, at)) return *std::move(refused);
    found->table = changed_table;
    return *its = changed;
  });
}

void MemoryTables::remove_row(model::TenantId tenant, model::TableId table, model::TableRowId row, Done<Unit> done) {
  desk_.write<Unit>(std::move(done), [&]() -> Result<Unit> {
    auto* const found = table_of(tenant, table);
    if (found == nullptr) return no_such("table");
    const auto its = std::ranges::find(found->rows, row, &model::TableRow::id);
    if (its == found->rows.end()) return no_such("row");
    found->table.row_count -= 1;
    found->table.size_bytes -= static_cast<int64_t>(its->cells.size());
    found->rows.erase(its);
    return Unit{};
  });
}

void MemoryTables::rows(model::TenantId tenant, model::TableId table, PageQuery<model::TableRowId> query,
                        Done<Page<model::TableRow>> done) {
  const auto* const found = table_of(tenant, table);
  if (found == nullptr) return desk_.answer<Page<model::TableRow>>(no_such("table"), std::move(done));
  desk_.answer<Page<model::TableRow>>(cut_page(found->rows, query, id_of, all), std::move(done));
}

void MemoryTables::query(model::TenantId tenant, model::TableId table, model::TableQuery query, Done<FoundRows> done) {
  const auto* const found = table_of(tenant, table);
  if (found == nullptr) return desk_.answer<FoundRows>(no_such("table"), std::move(done));
  auto selection = model::select_rows(found->table.columns, found->rows, query);
  desk_.answer<FoundRows>(FoundRows{std::move(selection.rows), selection.total}, std::move(done));
}

}  // namespace sluice::store
