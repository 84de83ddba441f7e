// The contract of every store, about tables and their rows.
#include "store/store_contract.h"

namespace sluice::store {
namespace tables_contract_test {

class TablesContract : public StoreContract {
 public:
  model::Table a_table(model::TenantId tenant, std::string name) {
    return {.id = make_id<model::TableId>(),
            .tenant_id = tenant,
            .name = std::move(name),
            .columns = {{"city", model::ColumnType::text, true}, {"size", model::ColumnType::number, false}},
            .created_at = {10},
            .updated_at = {11}};
  }
  model::TableRow a_row(std::string cells) {
    return {.id = make_id<model::TableRowId>(), .cells = std::move(cells), .created_at = {20}, .updated_at = {20}};
  }
  // One operation of the tables, to its answer.
  template <typename T, typename... Given, typename... Sent>
  Result<T> ask(void (*operation)(Database&, Given...), Sent... sent) {
    std::optional<Result<T>> answer;
    operation(store_->database(), std::move(sent)..., [&](Result<T> result) { answer.emplace(std::move(result)); });
    EXPECT_TRUE(loop_.run_until([&] { return answer.has_value(); }));
    return std::move(*answer);
  }
  model::Table table(model::TenantId tenant, const std::string& name) {
    return ask<model::Table>(&store::find_table, tenant, name).take();
  }
  template <typename T>
  static ErrorKind kind_of(const Result<T>& result) {
    return result ? ErrorKind::corrupt : result.error().kind;
  }
};

INSTANTIATE_TEST_SUITE_P(Stores, TablesContract, every_backend, name_of_backend);

TEST_P(TablesContract, A_table_is_kept_found_by_id_and_name_changed_and_removed_with_its_rows) {
  const auto tenant = make_tenant();
  const auto made = a_table(tenant, "cities");
  ASSERT_TRUE(ask<Unit>(&store::create_table, made));
  restart();
  EXPECT_EQ(model::to_json(table(tenant, "cities")), model::to_json(made));
  EXPECT_EQ(model::to_json(table(tenant, made.id.text())), model::to_json(made));

  const auto patch = TablePatch{.name = "towns", .add_columns = {{"note", model::ColumnType::json, false}}};
  const auto changed = ask<model::Table>(&store::update_table, tenant, made.id, patch, Timestamp{50});
  ASSERT_TRUE(changed);
  EXPECT_EQ(changed.value().columns.size(), 3U);
  EXPECT_EQ(changed.value().updated_at.ms, 50);
  EXPECT_EQ(model::to_json(table(tenant, "towns")), model::to_json(changed.value()));
  EXPECT_EQ(kind_of(ask<model::Table>(&store::update_table, tenant, made.id, patch, Timestamp{51})), ErrorKind::invalid)
      << "the column is there already";

  ASSERT_TRUE(ask<Unit>(&store::insert_rows, tenant, made.id, std::vector{a_row("{}")}));
  ASSERT_TRUE(ask<Unit>(&store::delete_table, tenant, made.id));
  EXPECT_EQ(kind_of(ask<model::Table>(&store::find_table, tenant, made.id.text())), ErrorKind::not_found);
  EXPECT_EQ(kind_of(ask<FoundRows>(&store::query_table, tenant, made.id, model::TableQuery{})), ErrorKind::not_found);
}

TEST_P(TablesContract, A_deleted_table_is_invisible_at_once_and_its_rows_go_later) {
  const auto tenant = make_tenant();
  const auto gone = a_table(tenant, "cities");
  ASSERT_TRUE(ask<Unit>(&store::create_table, gone));
  const auto row = a_row(R"({"city":"Rome"})");
  std::vector rows{row};
  for (int i = 1; i < 250; ++i) rows.push_back(a_row("{}"));
  ASSERT_TRUE(ask<Unit>(&store::insert_rows, tenant, gone.id, rows));
  ASSERT_TRUE(ask<Unit>(&store::delete_table, tenant, gone.id));
  const auto expect_gone = [&] {
    EXPECT_EQ(kind_of(ask<model::Table>(&store::find_table, tenant, gone.id.text())), ErrorKind::not_found);
    EXPECT_EQ(kind_of(ask<Unit>(&store::delete_table, tenant, gone.id)), ErrorKind::not_found);
    EXPECT_EQ(kind_of(ask<Unit>(&store::insert_rows, tenant, gone.id, std::vector{a_row("{}")})), ErrorKind::not_found);
    EXPECT_EQ(kind_of(ask<Unit>(&store::delete_row, tenant, gone.id, row.id)), ErrorKind::not_found);
    EXPECT_EQ(kind_of(ask<FoundRows>(&store::query_table, tenant, gone.id, model::TableQuery{})), ErrorKind::not_found);
    EXPECT_EQ(kind_of(ask<Page<model::TableRow>>(&store::table_rows, tenant, gone.id, PageQuery<model::TableRowId>{})),
              ErrorKind::not_found);
  };
  expect_gone();
  const auto next = a_table(tenant, "cities");
  ASSERT_TRUE(ask<Unit>(&store::create_table, next)) << "the name is free";
  ASSERT_TRUE(ask<Unit>(&store::insert_rows, tenant, next.id, std::vector{a_row(R"({"city":"Oslo"})")}));
  restart();
  expect_gone();
  get(&Store::tidy_up, Timestamp{60'000});
  expect_gone();
  const auto listed = ask<Page<model::Table>>(&store::tables, tenant, PageQuery<model::TableId>{}).take();
  EXPECT_EQ(ids_of(listed), std::vector{next.id});
  EXPECT_EQ(ask<FoundRows>(&store::query_table, tenant, next.id, model::TableQuery{}).take().total, 1);
  EXPECT_EQ(figure("sluice_store_deleted_rows"), 0);
}

TEST_P(TablesContract, Names_are_unique_within_a_tenant) {
  const auto tenant = make_tenant();
  const auto other = make_tenant();
  ASSERT_TRUE(ask<Unit>(&store::create_table, a_table(tenant, "cities")));
  ASSERT_TRUE(ask<Unit>(&store::create_table, a_table(other, "cities")));
  EXPECT_EQ(kind_of(ask<Unit>(&store::create_table, a_table(tenant, "cities"))), ErrorKind::conflict);
  const auto second = a_table(tenant, "towns");
  ASSERT_TRUE(ask<Unit>(&store::create_table, second));
  EXPECT_EQ(kind_of(ask<model::Table>(&store::update_table, tenant, second.id,
                                      TablePatch{.name = "cities", .add_columns = {}}, Timestamp{5})),
            ErrorKind::conflict);
  EXPECT_TRUE(ask<model::Table>(&store::update_table, tenant, second.id, TablePatch{.name = "towns", .add_columns = {}},
                                Timestamp{5}))
      << "its own name is no conflict";
}

TEST_P(TablesContract, Nobody_sees_the_table_of_another_tenant) {
  const auto tenant = make_tenant();
  const auto other = make_tenant();
  const auto made = a_table(tenant, "cities");
  const auto row = a_row(R"({"city":"Rome"})");
  ASSERT_TRUE(ask<Unit>(&store::create_table, made));
  ASSERT_TRUE(ask<Unit>(&store::insert_rows, tenant, made.id, std::vector{row}));
  EXPECT_EQ(kind_of(ask<model::Table>(&store::find_table, other, made.id.text())), ErrorKind::not_found);
  EXPECT_EQ(kind_of(ask<model::Table>(&store::find_table, other, std::string("cities"))), ErrorKind::not_found);
  EXPECT_EQ(kind_of(ask<Unit>(&store::insert_rows, other, made.id, std::vector{a_row("{}")})), ErrorKind::not_found);
  EXPECT_EQ(kind_of(ask<Unit>(&store::delete_table, other, made.id)), ErrorKind::not_found);
  EXPECT_EQ(kind_of(ask<Unit>(&store::delete_row, other, made.id, row.id)), ErrorKind::not_found);
  EXPECT_EQ(kind_of(ask<model::TableRow>(&store::change_row, other, made.id, row.id, std::string("{}"), Timestamp{1})),
            ErrorKind::not_found);
  const auto theirs = ask<Page<model::Table>>(&store::tables, other, PageQuery<model::TableId>{});
  ASSERT_TRUE(theirs);
  EXPECT_TRUE(theirs.value().rows.empty());
}

TEST_P(TablesContract, Rows_are_inserted_changed_removed_and_counted) {
  const auto tenant = make_tenant();
  const auto made = a_table(tenant, "cities");
  ASSERT_TRUE(ask<Unit>(&store::create_table, made));
  const auto rome = a_row(R"({"city":"Rome","size":3})");
  const auto oslo = a_row(R"({"city":"Oslo"})");
  ASSERT_TRUE(ask<Unit>(&store::insert_rows, tenant, made.id, std::vector{rome, oslo}));
  EXPECT_EQ(table(tenant, "cities").row_count, 2);

  const auto changed =
      ask<model::TableRow>(&store::change_row, tenant, made.id, oslo.id, std::string(R"({"size":1})"), Timestamp{70});
  ASSERT_TRUE(changed);
  EXPECT_EQ(changed.value().cells, R"({"city":"Oslo","size":1})");
  EXPECT_EQ(changed.value().updated_at.ms, 70);
  restart();
  const auto found =
      ask<FoundRows>(&store::query_table, tenant, made.id, model::TableQuery{.order = {{"size", false}}});
  ASSERT_TRUE(found);
  ASSERT_EQ(found.value().rows.size(), 2U);
  EXPECT_EQ(found.value().rows[0].id, oslo.id);
  EXPECT_EQ(found.value().total, 2);

  ASSERT_TRUE(ask<Unit>(&store::delete_row, tenant, made.id, rome.id));
  EXPECT_EQ(kind_of(ask<Unit>(&store::delete_row, tenant, made.id, rome.id)), ErrorKind::not_found);
  EXPECT_EQ(table(tenant, "cities").row_count, 1);
  EXPECT_EQ(table(tenant, "cities").size_bytes, static_cast<int64_t>(changed.value().cells.size()));
}

TEST_P(TablesContract, One_row_too_many_and_none_is_inserted) {
  const auto tenant = make_tenant();
  const auto made = a_table(tenant, "cities");
  ASSERT_TRUE(ask<Unit>(&store::create_table, made));
  std::vector<model::TableRow> rows;
  for (int64_t i = 0; i < limits::table_rows_max; ++i) rows.push_back(a_row("{}"));
  auto too_many = rows;
  too_many.push_back(a_row("{}"));
  EXPECT_EQ(kind_of(ask<Unit>(&store::insert_rows, tenant, made.id, too_many)), ErrorKind::invalid);
  EXPECT_EQ(table(tenant, "cities").row_count, 0);
  ASSERT_TRUE(ask<Unit>(&store::insert_rows, tenant, made.id, rows));
  EXPECT_EQ(kind_of(ask<Unit>(&store::insert_rows, tenant, made.id, std::vector{a_row("{}")})), ErrorKind::invalid);
}

TEST_P(TablesContract, Lists_of_tables_and_rows_are_paged) {
  const auto tenant = make_tenant();
  std::vector<model::TableId> tables;
  for (const char* name : {"a", "b", "c", "d", "e"}) {
    const auto made = a_table(tenant, name);
    ASSERT_TRUE(ask<Unit>(&store::create_table, made));
    tables.push_back(made.id);
  }
  expect_pages(tables, make_id<model::TableId>(), [&](const PageQuery<model::TableId>& query) {
    return ask<Page<model::Table>>(&store::tables, tenant, query);
  });
  std::vector<model::TableRowId> rows;
  for (int i = 0; i < 5; ++i) {
    const auto row = a_row("{}");
    ASSERT_TRUE(ask<Unit>(&store::insert_rows, tenant, tables[0], std::vector{row}));
    rows.push_back(row.id);
  }
  expect_pages(rows, make_id<model::TableRowId>(), [&](const PageQuery<model::TableRowId>& query) {
    return ask<Page<model::TableRow>>(&store::table_rows, tenant, tables[0], query);
  });
}

}  // namespace tables_contract_test
}  // namespace sluice::store
