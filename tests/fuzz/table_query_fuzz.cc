// Columns, rows and questions to a table, each a line of the input: refused in words, or within the bounds of a table.
#include "api/tables/table_input.h"
#include "base/bytes.h"
#include "base/check.h"
#include "base/limits.h"
#include "tests/fuzz/pieces.h"

using namespace sluice;
using namespace sluice::api;

namespace {

int depth_of(const model::Filter& filter) {
  int deepest = 0;
  for (const auto& inner : filter.parts) deepest = std::max(deepest, depth_of(inner));
  return deepest + 1;
}

void check(const Findings& findings) {
  for (const auto& error : findings.errors) SLUICE_CHECK(is_utf8(error.message) && is_utf8(error.pointer));
}

std::vector<model::Column> usual_columns() {
  return {{"city", model::ColumnType::text, true},
          {"size", model::ColumnType::number, false},
          {"seen", model::ColumnType::timestamp, false},
          {"more", model::ColumnType::json, false}};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  const auto document = json::Document::parse(fuzz::text_of(data, size));
  if (!document || document.value().root().kind() != json::Kind::object) return 0;
  const auto root = document.value().root();
  const auto usual = usual_columns();
  {
    Findings findings;
    static constexpr std::string_view names[] = {"columns"};
    const auto columns = tables::read_columns(Fields(root, "", names, findings), "columns");
    if (findings.errors.empty()) SLUICE_CHECK(columns.size() <= limits::table_columns_max);
    check(findings);
  }
  for (const auto which : {tables::Cells::of_row, tables::Cells::of_change}) {
    Findings findings;
    const auto cells = tables::read_cells(root, "", usual, which, findings);
    if (findings.errors.empty()) {
      const auto kept = json::Document::parse(cells);
      SLUICE_CHECK(kept && kept.value().root().kind() == json::Kind::object);
    }
    check(findings);
  }
  Findings findings;
  const auto query = tables::read_query(root, usual, findings);
  if (findings.errors.empty() && query.filter) SLUICE_CHECK(depth_of(*query.filter) <= limits::filter_depth_max + 1);
  check(findings);
  return 0;
}
