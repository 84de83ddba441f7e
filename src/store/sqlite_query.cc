#include "store/sqlite_query.h"

#include <sqlite3.h>

namespace sluice::store {

Query::Query(Connection& db, std::string_view sql, Lifetime lifetime)
    : db_(db), statement_(db.prepare(sql)), lifetime_(lifetime) {
  SLUICE_CHECK(statement_ == nullptr || sqlite3_stmt_busy(statement_) == 0);
}

Query::~Query() {
  if (statement_ == nullptr) return;
  sqlite3_reset(statement_);
  sqlite3_clear_bindings(statement_);
}

bool Query::next() {
  if (statement_ == nullptr || db_.failure()) return false;
  column_ = 0;
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  if (code != SQLITE_DONE) db_.fail(code);
  return false;
}

void Query::bind(int64_t value) {
  if (statement_ != nullptr) sqlite3_bind_int64(statement_, ++bound_, value);
}

void Query::bind(std::string_view text) {
  if (statement_ == nullptr) return;
  // An empty view may have no address, which SQLite would take for NULL.
  sqlite3_bind_text64(statement_, ++bound_, text.empty() ? "" : text.data(), text.size(),
                      lifetime_ == Lifetime::copied ? SQLITE_TRANSIENT : SQLITE_STATIC, SQLITE_UTF8);
}

void Query::bind(Blob blob) {
  if (statement_ == nullptr) return;
  sqlite3_bind_blob64(statement_, ++bound_, blob.bytes.empty() ? "" : blob.bytes.data(), blob.bytes.size(),
                      lifetime_ == Lifetime::copied ? SQLITE_TRANSIENT : SQLITE_STATIC);
}

bool Query::is_null() const { return sqlite3_column_type(statement_, column_) == SQLITE_NULL; }

std::string_view Query::bytes() {
  const int column = column_++;
  const auto* data = static_cast<const char*>(sqlite3_column_blob(statement_, column));
  return data == nullptr ? std::string_view()
                         : std::string_view(data, static_cast<std::size_t>(sqlite3_column_bytes(statement_, column)));
}

void Query::read_one(int64_t& field) { field = sqlite3_column_int64(statement_, column_++); }
void Query::read_one(uint64_t& field) { field = static_cast<uint64_t>(sqlite3_column_int64(statement_, column_++)); }
void Query::read_one(bool& field) { field = sqlite3_column_int64(statement_, column_++) != 0; }

void Query::read_one(int& field) { field = sqlite3_column_int(statement_, column_++); }
void Query::read_one(uint8_t& field) { field = static_cast<uint8_t>(sqlite3_column_int(statement_, column_++)); }

template <typename Field, typename Take>
void Query::read_json(Field& field, Take take) {
  const auto text = bytes();
  field = {};
  if (text == "{}" || text == "[]") return;
  const auto document = json::Document::parse(text);
  if (!document) return db_.fail_corrupt("a row has a column that is not JSON");
  field = take(document.value().root());
}

void Query::read_one(model::Metadata& field) { read_json(field, model::metadata_from_json); }
void Query::read_one(model::Policy& field) { read_json(field, model::policy_from_json); }
void Query::read_one(model::AgentKit& field) { read_json(field, model::kit_from_json); }
void Query::read_one(std::vector<model::RequestedItem>& field) { read_json(field, model::items_from_json); }
void Query::read_one(std::vector<std::string>& field) {
  read_json(field, [](json::Value value) {
    std::vector<std::string> texts;
    value.each_element([&](json::Value text) { texts.emplace_back(text.string().value_or("")); });
    return texts;
  });
}

void Query::read_one(Ulid& field) {
  const auto data = bytes();
  if (data.size() != field.bytes.size()) return db_.fail_corrupt("a row has an id that is not 16 bytes");
  std::memcpy(field.bytes.data(), data.data(), data.size());
}

}  // namespace sluice::store
