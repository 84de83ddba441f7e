#include "model/tables.h"

#include <gtest/gtest.h>

namespace sluice::model {
namespace tables_test {

const std::vector<Column> columns = {{"name", ColumnType::text, true},
                                     {"age", ColumnType::number, false},
                                     {"member", ColumnType::boolean, false},
                                     {"joined", ColumnType::timestamp, false},
                                     {"tags", ColumnType::json, false}};

std::vector<TableRow> people() {
  std::vector<TableRow> rows;
  for (const char* cells : {R"({"name":"Ada","age":36,"member":true,"joined":"2026-01-02T00:00:00.000Z","tags":["a"]})",
                            R"({"name":"bob","age":7.5,"member":false})", R"({"name":"Åsa","age":36})",
                            R"({"name":"Eve \"x\" %' OR 1=1 --","tags":{"k":null}})"}) {
    rows.push_back({.cells = cells});
  }
  return rows;
}

Selection select(const TableQuery& query) {
  TableSearch search(columns, query);
  for (auto& row : people()) search.look_at(std::move(row));
  return search.finish();
}

std::vector<std::string> names(const TableQuery& query) {
  std::vector<std::string> out;
  for (const auto& row : select(query).rows) {
    const auto cells = json::Document::parse(row.cells);
    const auto name = cells.value().root().find("name");
    out.emplace_back(name ? *name->string() : "-");
  }
  return out;
}

using Names = std::vector<std::string>;

Names where(FilterOp op, std::string column, std::vector<std::string> values) {
  return names({.filter = Filter{op, std::move(column), std::move(values), {}}});
}

TEST(TableQuery, Without_conditions_gives_all_rows_oldest_first) {
  EXPECT_EQ(names({}), (Names{"Ada", "bob", "Åsa", "Eve \"x\" %' OR 1=1 --"}));
}

TEST(TableQuery, Compares_as_the_columns_type_says) {
  EXPECT_EQ(where(FilterOp::eq, "age", {"36.0"}), (Names{"Ada", "Åsa"}));
  EXPECT_EQ(where(FilterOp::lt, "age", {"36"}), Names{"bob"});
  EXPECT_EQ(where(FilterOp::gte, "age", {"7.5"}), (Names{"Ada", "bob", "Åsa"}));
  EXPECT_EQ(where(FilterOp::eq, "member", {"true"}), Names{"Ada"});
  EXPECT_EQ(where(FilterOp::gt, "joined", {"\"2026-01-01T00:00:00.000Z\""}), Names{"Ada"});
  EXPECT_EQ(where(FilterOp::eq, "tags", {R"(["a"])"}), Names{"Ada"});
  EXPECT_EQ(where(FilterOp::in, "name", {R"("bob")", R"("Ada")", R"("Zoe")"}), (Names{"Ada", "bob"}));
  EXPECT_EQ(where(FilterOp::starts_with, "name", {R"("Å")"}), Names{"Åsa"});
  EXPECT_EQ(where(FilterOp::contains, "name", {R"("%' OR 1=1")"}), Names{"Eve \"x\" %' OR 1=1 --"});
  EXPECT_EQ(where(FilterOp::contains, "name", {R"("%' or 1=1")"}), Names{});
}

TEST(TableQuery, Nothing_is_like_an_empty_cell_which_only_differs) {
  EXPECT_EQ(where(FilterOp::is_null, "joined", {}), (Names{"bob", "Åsa", "Eve \"x\" %' OR 1=1 --"}));
  EXPECT_EQ(where(FilterOp::ne, "age", {"36"}), (Names{"bob", "Eve \"x\" %' OR 1=1 --"}));
  EXPECT_EQ(where(FilterOp::lte, "age", {"1e300"}), (Names{"Ada", "bob", "Åsa"}));
  EXPECT_EQ(where(FilterOp::contains, "name", {R"("")"}).size(), 4U);
}

TEST(TableQuery, Conditions_are_taken_together) {
  const Filter grown{FilterOp::gte, "age", {"18"}, {}};
  const Filter member{FilterOp::eq, "member", {"true"}, {}};
  EXPECT_EQ(names({.filter = Filter{FilterOp::all, "", {}, {grown, member}}}), Names{"Ada"});
  EXPECT_EQ(names({.filter = Filter{FilterOp::any, "", {}, {grown, member}}}), (Names{"Ada", "Åsa"}));
  EXPECT_EQ(names({.filter = Filter{FilterOp::none, "", {}, {grown}}}), (Names{"bob", "Eve \"x\" %' OR 1=1 --"}));
}

TEST(TableQuery, Orders_by_several_columns_and_leaves_equal_rows_as_they_came) {
  EXPECT_EQ(names({.order = {{"age", true}, {"name", false}}}), (Names{"Ada", "Åsa", "bob", "Eve \"x\" %' OR 1=1 --"}));
  EXPECT_EQ(names({.order = {{"age", false}}}), (Names{"Eve \"x\" %' OR 1=1 --", "bob", "Ada", "Åsa"}));
}

TEST(TableQuery, Pages_and_counts) {
  const auto page = select({.limit = 2, .offset = 1});
  EXPECT_EQ(page.total, 4);
  EXPECT_EQ(page.rows.size(), 2U);
  EXPECT_EQ(names({.limit = 2, .offset = 1}), (Names{"bob", "Åsa"}));
  EXPECT_TRUE(select({.offset = 9}).rows.empty());
}

TEST(TableQuery, Shows_the_columns_asked_for) {
  const auto rows = select({.columns = {"age", "joined"}, .limit = 2}).rows;
  EXPECT_EQ(rows[0].cells, R"({"age":36,"joined":"2026-01-02T00:00:00.000Z"})");
  EXPECT_EQ(rows[1].cells, R"({"age":7.5})");
}

TEST(TableCells, Are_of_their_columns_type) {
  const auto fault = [](ColumnType type, std::string_view text) {
    const auto document = json::Document::parse(text);
    return std::string(fault_of_cell(type, document.value().root()));
  };
  for (const auto type : {ColumnType::text, ColumnType::number, ColumnType::boolean, ColumnType::timestamp}) {
    EXPECT_EQ(fault(type, "null"), "");
    EXPECT_NE(fault(type, "[]"), "");
  }
  EXPECT_EQ(fault(ColumnType::text, "\"x\""), "");
  EXPECT_NE(fault(ColumnType::text, "1"), "");
  EXPECT_EQ(fault(ColumnType::number, "-1.5e3"), "");
  EXPECT_NE(fault(ColumnType::number, "\"1\""), "");
  EXPECT_EQ(fault(ColumnType::timestamp, "\"2026-01-31T12:00:00Z\""), "");
  EXPECT_NE(fault(ColumnType::timestamp, "\"2026-01-31T12:00:00+02:00\""), "");
  EXPECT_NE(fault(ColumnType::timestamp, "\"yesterday\""), "");
  EXPECT_EQ(fault(ColumnType::json, "{\"a\":[1]}"), "");
}

TEST(TableCells, Times_are_kept_in_one_spelling) {
  const auto document = json::Document::parse("\"2026-01-31T12:00:00Z\"");
  EXPECT_EQ(cell_text(ColumnType::timestamp, document.value().root()), "\"2026-01-31T12:00:00.000Z\"");
}

TEST(TableCells, A_change_replaces_adds_and_empties) {
  EXPECT_EQ(merge_cells(R"({"a":1,"b":"x","c":true})", R"({"b":"y","c":null,"d":[1]})"), R"({"a":1,"b":"y","d":[1]})");
}

TEST(TableJson, Columns_come_back_as_they_were) {
  const auto document = json::Document::parse(columns_text(columns));
  EXPECT_EQ(columns_from_json(document.value().root()), columns);
}

}  // namespace tables_test
}  // namespace sluice::model
