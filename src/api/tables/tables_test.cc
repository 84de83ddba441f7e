#include "api/api_fixture.h"

namespace sluice::api {
namespace tables_test {

class TablesTest : public ApiTest {
 protected:
  std::string at(std::string_view rest) { return workspace_of(acme) + "/tables" + std::string(rest); }
  Answer make_cities() {
    return post(
        at(""),
        R"({"name":"cities","columns":[{"name":"city","type":"text","required":true},)"
        R"({"name":"size","type":"number"},{"name":"seen","type":"timestamp"},{"name":"more","type":"json"}]})");
  }
  Answer insert(const std::string& rows) { return post(at("/cities/rows"), R"({"rows":)" + rows + "}"); }
  Answer query(std::string body) { return post(at("/cities/query"), std::move(body)); }
  static void expect_fault(const Answer& answer, const std::string& pointer) {
    EXPECT_EQ(answer->status, 422) << answer->body;
    EXPECT_NE(answer->body.find("\"pointer\":\"" + pointer + "\""), std::string::npos) << answer->body;
  }
};

TEST_F(TablesTest, A_table_is_created_filled_queried_and_deleted) {
  const auto made = make_cities();
  ASSERT_EQ(made->status, 201) << made->body;
  const auto rows =
      insert(R"([{"city":"Rome","size":3,"seen":"2026-01-31T12:00:00Z"},{"city":"Oslo","more":{"a":[1]}}])");
  ASSERT_EQ(rows->status, 201) << rows->body;
  EXPECT_EQ(get(at("/" + made->text("id")))->status, 200);
  EXPECT_NE(get(at("/cities"))->body.find(R"("row_count":2)"), std::string::npos);
  const auto found = query(R"({"filter":{"column":"size","op":"gt","value":1},"columns":["city"]})");
  EXPECT_NE(found->body.find(R"("values":{"city":"Rome"})"), std::string::npos) << found->body;
  EXPECT_NE(found->body.find(R"("total":1,"has_more":false)"), std::string::npos) << found->body;
  EXPECT_NE(query(R"({"limit":1})")->body.find(R"("total":2,"has_more":true)"), std::string::npos);
  EXPECT_EQ(patch(at("/cities"), R"({"name":"towns","add_columns":[{"name":"note","type":"text"}]})")->status, 200);
  EXPECT_EQ(get(at("/cities"))->status, 404);
  EXPECT_EQ(remove(at("/towns"))->status, 204);
  EXPECT_EQ(get(at("/towns"))->status, 404);
}

TEST_F(TablesTest, A_row_is_changed_and_deleted) {
  make_cities();
  const auto rows = insert(R"([{"city":"Rome","size":3}])");
  const auto id = rows->body.substr(rows->body.find("row_"), 30);
  EXPECT_NE(patch(at("/cities/rows/" + id), R"({"size":null,"more":"x"})")
                ->body.find(R"("values":{"city":"Rome","more":"x"})"),
            std::string::npos);
  expect_fault(patch(at("/cities/rows/" + id), R"({"city":null})"), "/city");
  EXPECT_EQ(remove(at("/cities/rows/" + id))->status, 204);
  EXPECT_EQ(remove(at("/cities/rows/" + id))->status, 404);
  EXPECT_EQ(remove(at("/cities/rows/row_x"))->status, 404);
}

TEST_F(TablesTest, A_row_in_which_everything_is_wrong_gets_a_short_answer) {
  std::string columns;
  for (int i = 10; i < 74; ++i) {
    columns += (columns.empty() ? "" : ",") + (R"({"name":"c)" + std::to_string(i)) + std::string(61, 'x') +
               R"(","type":"text"})";
  }
  ASSERT_EQ(post(at(""), R"({"name":"wide","columns":[)" + columns + "]}")->status, 201);
  std::string row;
  for (int i = 0; i < 20'000; ++i) row += (row.empty() ? "\"" : ",\"") + std::to_string(i) + "\":0";
  const auto answer = post(at("/wide/rows"), R"({"rows":[{)" + row + "}]}");
  EXPECT_EQ(answer->status, 422);
  EXPECT_LT(answer->body.size(), 64U * 1024);
  EXPECT_NE(answer->body.find("More than 100 fields are not valid; these are the first 100."), std::string::npos);
  EXPECT_NE(answer->body.find("/rows/0/99"), std::string::npos);
  EXPECT_EQ(answer->body.find("/rows/0/100"), std::string::npos);
  EXPECT_NE(answer->body.find("and 59 more"), std::string::npos) << "five of 64 columns are named";
}

TEST_F(TablesTest, A_name_of_a_megabyte_is_not_sent_back) {
  make_cities();
  const auto answer = insert(R"([{"city":"x",")" + std::string(1024 * 1024, 'y') + "\":0}]");
  EXPECT_EQ(answer->status, 422);
  EXPECT_LT(answer->body.size(), 8U * 1024);
  EXPECT_NE(answer->body.find("/rows/0/yyy"), std::string::npos);
}

TEST_F(TablesTest, Invalid_rows_are_refused_with_pointers_and_no_row_is_stored) {
  make_cities();
  expect_fault(insert(R"([{"city":"Rome"},{"size":1}])"), "/rows/1/city");
  expect_fault(insert(R"([{"city":7}])"), "/rows/0/city");
  expect_fault(insert(R"([{"city":"x","sise":1}])"), "/rows/0/sise");
  expect_fault(insert(R"([{"city":"x","seen":"today"}])"), "/rows/0/seen");
  expect_fault(insert(R"([7])"), "/rows/0");
  expect_fault(insert(R"([])"), "/rows");
  expect_fault(insert(R"([{"city":")" + std::string(70'000, 'x') + R"("}])"), "/rows/0");
  EXPECT_NE(get(at("/cities"))->body.find(R"("row_count":0)"), std::string::npos);
}

TEST_F(TablesTest, A_hostile_filter_is_refused_or_finds_nothing) {
  make_cities();
  insert(R"([{"city":"Rome"}])");
  expect_fault(query(R"({"filter":{"column":"1=1; DROP TABLE user_rows; --","op":"eq","value":"x"}})"),
               "/filter/column");
  expect_fault(query(R"({"filter":{"column":"city","op":"regex","value":"(a+)+$"}})"), "/filter/op");
  expect_fault(query(R"({"filter":{"column":"size","op":"contains","value":"1"}})"), "/filter/op");
  expect_fault(query(R"({"filter":{"column":"size","op":"eq","value":"1 OR 1=1"}})"), "/filter/value");
  expect_fault(query(R"({"filter":{"column":"city","op":"eq"}})"), "/filter/value");
  expect_fault(query(R"({"filter":{"and":[]}})"), "/filter/and");
  expect_fault(query(R"({"order":[{"column":"city COLLATE NOCASE"}]})"), "/order/0/column");
  std::string deep = R"({"column":"city","op":"is_null"})";
  for (int i = 0; i < 7; ++i) deep = R"({"not":)" + deep + "}";
  EXPECT_EQ(query(R"({"filter":)" + deep + "}")->status, 422);
  std::string wide;
  for (int i = 0; i < 70; ++i) wide += std::string(i == 0 ? "" : ",") + R"({"column":"city","op":"is_null"})";
  EXPECT_EQ(query(R"({"filter":{"or":[)" + wide + "]}}")->status, 422);
  EXPECT_NE(query(R"({"filter":{"column":"city","op":"eq","value":"' OR '1'='1"}})")->body.find(R"("total":0)"),
            std::string::npos);
}

TEST_F(TablesTest, A_query_that_compares_too_much_is_refused_before_it_runs) {
  make_cities();
  std::string rows;
  for (int i = 0; i < 40; ++i)
    rows += std::string(i == 0 ? "" : ",") + R"({"city":")" + std::string(60'000, 'x') + "\"}";
  for (int i = 0; i < 5; ++i) ASSERT_EQ(insert("[" + rows + "]")->status, 201);
  std::string conditions;
  for (int i = 0; i < 64; ++i) {
    conditions += std::string(i == 0 ? "" : ",") + R"({"column":"city","op":"contains","value":"xxxxxxxxxxxxxxxxy"})";
  }
  expect_fault(query(R"({"filter":{"or":[)" + conditions + "]}}"), "/filter");
  EXPECT_EQ(query(R"({"filter":{"column":"city","op":"contains","value":"xxxxxxxxxxxxxxxxy"}})")->status, 200);
}

TEST_F(TablesTest, Columns_are_checked_and_may_only_be_required_where_there_are_no_rows) {
  expect_fault(post(at(""), R"({"name":"x","columns":[]})"), "/columns");
  expect_fault(post(at(""), R"({"name":"x","columns":[{"name":"a","type":"int"}]})"), "/columns/0/type");
  expect_fault(post(at(""), R"({"name":"x","columns":[{"name":"a","type":"text"},{"name":"a","type":"text"}]})"),
               "/columns/1/name");
  expect_fault(post(at(""), R"({"name":"","columns":[{"name":"a","type":"text"}]})"), "/name");
  make_cities();
  EXPECT_EQ(make_cities()->status, 409);
  insert(R"([{"city":"Rome"}])");
  expect_fault(patch(at("/cities"), R"({"add_columns":[{"name":"n","type":"text","required":true}]})"),
               "/add_columns/0/required");
  expect_fault(patch(at("/cities"), R"({"add_columns":[{"name":"city","type":"text"}]})"), "/add_columns");
}

TEST_F(TablesTest, Another_workspace_has_no_such_table) {
  make_cities();
  const auto theirs = workspace_of(other) + "/tables/cities";
  EXPECT_EQ(get(theirs)->status, 404) << "acme's key does not open it";
  EXPECT_EQ(ask_as("GET", theirs, {.key = other.key})->status, 404) << "and there it is not";
}

}  // namespace tables_test
}  // namespace sluice::api
