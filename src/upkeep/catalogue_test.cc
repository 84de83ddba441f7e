#include "upkeep/catalogue.h"

#include <algorithm>
#include <map>

#include "store/filled_store_fixture.h"
#include "upkeep/sqlite_raw.h"

namespace sluice::upkeep {
namespace catalogue_test {

// What a database keeps for itself, made anew where rows arrive, and who carries what.
bool is_local(const std::string& table, const std::string& column) {
  return (table == "runs" && column == "journal_rows") || column == "number" || column == "node";
}

class Catalogue : public store::FilledStoreTest {};

TEST_F(Catalogue, It_has_every_table_and_every_column_of_the_schema) {
  fill();
  auto source = SqliteRawSource::open(path).take();
  std::map<std::string, std::vector<std::string>> found;
  const auto sql =
      "SELECT m.name, c.name, c.type FROM sqlite_schema m JOIN pragma_table_info(m.name) c WHERE m.type = 'table'";
  ASSERT_TRUE(source->read(sql, {}, [&](const RawRow& row) {
    found[std::string(row[0].bytes)].push_back(std::string(row[1].bytes) + " " + std::string(row[2].bytes));
    return true;
  }));
  const auto tables = catalogue();
  EXPECT_EQ(found.size(), tables.size());
  for (const auto& [name, columns] : found) {
    const auto table = std::ranges::find(tables, name, &TableShape::name);
    ASSERT_NE(table, tables.end()) << name << " would be left behind: add it to the catalogue";
    for (const auto& text : columns) {
      const auto column = text.substr(0, text.find(' '));
      const auto known = std::ranges::find(table->columns, column, &ColumnShape::name);
      if (known == table->columns.end()) {
        EXPECT_TRUE(is_local(name, column)) << name << "." << column << " would be left behind";
        continue;
      }
      const auto type = cell_type_of(known->kind);
      const auto* const word = type == CellType::integer ? "INTEGER" : type == CellType::text ? "TEXT" : "BLOB";
      EXPECT_EQ(text, column + " " + word) << name;
    }
  }
}

TEST_F(Catalogue, No_row_that_the_store_wrote_is_found_at_fault) {
  fill();
  auto source = SqliteRawSource::open(path).take();
  ASSERT_TRUE(source->begin());
  for (const auto& table : catalogue()) {
    EXPECT_TRUE(source->read_table(table, [&](const RawRow& row) {
      EXPECT_EQ(fault_in(table, row), "") << table.name;
      return true;
    })) << table.name;
  }
  source->end();
}

TEST(CatalogueFaults, Each_kind_of_column_has_its_own) {
  const TableShape table{"t",
                         {"number"},
                         {{"number", ColumnKind::number, false},
                          {"id", ColumnKind::id, false},
                          {"note", ColumnKind::text, true},
                          {"json", ColumnKind::json, false},
                          {"hash", ColumnKind::digest, false}}};
  const std::string id(16, 'i');
  const std::string hash(32, 'h');
  const auto fault = [&](const Cell& number, std::string_view of_id, const Cell& note, std::string_view json) {
    return fault_in(table, {number, Cell::blob(of_id), note, Cell::text(json), Cell::blob(hash)});
  };
  EXPECT_EQ(fault(Cell::of(1), id, {}, R"({"a":1})"), "");
  EXPECT_EQ(fault({}, id, {}, "{}"), "number is empty");
  EXPECT_EQ(fault(Cell::text("1"), id, {}, "{}"), "number is of another type");
  EXPECT_EQ(fault(Cell::of(1), "short", {}, "{}"), "id is not an id of 16 bytes");
  EXPECT_EQ(fault(Cell::of(1), id, Cell::text("\xff"), "{}"), "note is not UTF-8");
  EXPECT_EQ(fault(Cell::of(1), id, {}, "{\"a\""), "json is not JSON");
  EXPECT_EQ(fault_in(table, {}), "has another number of columns");
}

}  // namespace catalogue_test
}  // namespace sluice::upkeep
