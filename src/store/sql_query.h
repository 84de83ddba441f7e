// One use of a prepared statement: values in, rows out. It gives the statement back when it ends.
#pragma once

#include <array>
#include <cstring>
#include <string_view>
#include <vector>

#include "model/model.h"
#include "store/sql_connection.h"

namespace sluice::store {

// Bytes that are not text.
struct Blob {
  std::string_view bytes;
};

// What a value is to a database. An optional has the type of what it may hold, also when it is empty.
inline Value value_of(int64_t value) { return {.integer = value}; }
inline Value value_of(uint64_t value) { return {.integer = static_cast<int64_t>(value)}; }
inline Value value_of(int value) { return {.integer = value}; }
inline Value value_of(bool value) { return {.integer = value ? 1 : 0}; }
inline Value value_of(Timestamp value) { return {.integer = value.ms}; }
inline Value value_of(std::string_view text) { return {.type = Value::Type::text, .bytes = text}; }
inline Value value_of(const std::string& text) { return value_of(std::string_view(text)); }
inline Value value_of(const char* text) { return value_of(std::string_view(text)); }
inline Value value_of(Blob blob) { return {.type = Value::Type::blob, .bytes = blob.bytes}; }
inline Value value_of(const Value& value) { return value; }
inline Value value_of(const Ulid& ulid) {
  return value_of(Blob{{reinterpret_cast<const char*>(ulid.bytes.data()), ulid.bytes.size()}});
}
template <typename Kind>
Value value_of(const Id<Kind>& id) {
  return value_of(id.ulid);
}
// One after the other, 16 bytes each.
template <typename Kind>
Value value_of(const std::vector<Id<Kind>>& ids) {
  static_assert(sizeof(Id<Kind>) == sizeof(Ulid));
  return value_of(Blob{{reinterpret_cast<const char*>(ids.data()), ids.size() * sizeof(Ulid)}});
}
template <typename Word>
  requires std::is_enum_v<Word>
Value value_of(Word word) {
  return value_of(model::name_of(word));
}
template <typename T>
Value value_of(const std::optional<T>& value) {
  if (value) return value_of(*value);
  if constexpr (std::is_enum_v<T>) {
    return {.type = Value::Type::text, .is_null = true};
  } else {
    return {.type = value_of(T{}).type, .is_null = true};
  }
}

class Query {
 public:
  // The values need not outlive the call.
  template <typename... Values>
  Query(Connection& db, std::string_view sql, const Values&... values) : db_(db) {
    const std::array<Value, sizeof...(Values)> list{value_of(values)...};
    start(sql, list, Statement::Lifetime::call, Connection::Asked::rows);
  }
  Query(Connection& db, std::string_view sql, std::span<const Value> values) : db_(db) {
    start(sql, values, Statement::Lifetime::call, Connection::Asked::rows);
  }
  ~Query() {
    if (statement_ != nullptr) statement_->finish();
  }
  Query(const Query&) = delete;
  Query& operator=(const Query&) = delete;

  // Is there a(nother) row?
  bool next() {
    if (statement_ == nullptr || db_.failure()) return false;
    column_ = 0;
    return statement_->next();
  }

  // The columns of this row that were not read yet, in order.
  template <typename... Fields>
  Query& read(Fields&... fields) {
    (read_one(fields), ...);
    return *this;
  }

  Connection::Dialect dialect() const { return db_.dialect(); }
  // Rows whose columns are not known beforehand. The bytes last until the next row.
  int column_count() const { return statement_ == nullptr ? 0 : statement_->column_count(); }
  std::string column_name(int column) const { return statement_->column_name(column); }
  Value value(int column) const;
  Ulid ulid(int column) const;

 private:
  template <typename... Values>
  friend void execute(Connection& db, std::string_view sql, const Values&... values);
  template <typename... Values>
  friend int64_t insert_numbered(Connection& db, std::string_view sql, const Values&... values);
  struct Borrowing {};
  Query(Connection& db, Borrowing /*of the values*/) : db_(db) {}
  void start(std::string_view sql, std::span<const Value> values, Statement::Lifetime lifetime,
             Connection::Asked asked);

  int64_t integer() { return statement_->integer(column_++); }
  std::string_view bytes() { return statement_->bytes(column_++); }
  void read_one(int64_t& field) { field = integer(); }
  void read_one(uint64_t& field) { field = static_cast<uint64_t>(integer()); }
  void read_one(bool& field) { field = integer() != 0; }
  void read_one(int& field) { field = static_cast<int>(integer()); }
  void read_one(uint8_t& field) { field = static_cast<uint8_t>(integer()); }
  void read_one(Timestamp& field) { read_one(field.ms); }
  void read_one(model::Epoch& field) { read_one(field.value); }
  void read_one(model::Position& field) { read_one(field.value); }
  void read_one(std::string& field) { field = bytes(); }
  void read_one(model::Metadata& field);
  void read_one(model::Policy& field);
  void read_one(model::AgentKit& field);
  void read_one(std::vector<model::RequestedItem>& field);
  void read_one(std::vector<std::string>& field);
  void read_one(model::TenantStatus& field) { read_word(field, model::tenant_status_named(bytes())); }
  void read_one(model::SignatureAlgorithm& field) { read_word(field, model::signature_algorithm_named(bytes())); }
  void read_one(model::ConversationStatus& field) { read_word(field, model::conversation_status_named(bytes())); }
  void read_one(model::ConversationKind& field) { read_word(field, model::conversation_kind_named(bytes())); }
  void read_one(model::FileSource& field) { read_word(field, model::file_source_named(bytes())); }
  void read_one(model::WorkflowRunStatus& field) { read_word(field, model::workflow_run_status_named(bytes())); }
  void read_one(model::RunState& field) { read_word(field, model::run_state_named(bytes())); }
  void read_one(model::PlacementMode& field) { read_word(field, model::placement_mode_named(bytes())); }
  void read_one(model::ApprovalStatus& field) { read_word(field, model::approval_status_named(bytes())); }
  void read_one(model::SecretScope& field) { read_word(field, model::secret_scope_named(bytes())); }
  void read_one(Ulid& field);
  template <typename Kind>
  void read_one(Id<Kind>& field) {
    read_one(field.ulid);
  }
  template <typename Kind>
  void read_one(std::vector<Id<Kind>>& field) {
    const auto ids = bytes();
    if (ids.size() % sizeof(Ulid) != 0) return db_.fail_corrupt("a row has ids that are not 16 bytes each");
    field.resize(ids.size() / sizeof(Ulid));
    if (!field.empty()) std::memcpy(field.data(), ids.data(), ids.size());
  }
  template <typename T>
  void read_one(std::optional<T>& field) {
    field.reset();
    if (statement_->is_null(column_)) {
      ++column_;
    } else {
      read_one(field.emplace());
    }
  }
  template <typename Word>
  void read_word(Word& field, std::optional<Word> word) {
    if (word) {
      field = *word;
    } else {
      db_.fail_corrupt("a row has a word that is not one of ours");
    }
  }
  // What `take` makes of a column of JSON; "{}" and "[]", which nearly all of them are, are not parsed.
  template <typename Field, typename Take>
  void read_json(Field& field, Take take);

  Connection& db_;
  Statement* statement_ = nullptr;  // empty when something went wrong before
  int column_ = 0;
};

// A statement that gives no rows.
template <typename... Values>
void execute(Connection& db, std::string_view sql, const Values&... values) {
  const std::array<Value, sizeof...(Values)> list{value_of(values)...};
  Query query(db, Query::Borrowing{});
  query.start(sql, list, Statement::Lifetime::use, Connection::Asked::rows);
  query.next();
}

// Inserts one row; the number that the database made for it.
template <typename... Values>
int64_t insert_numbered(Connection& db, std::string_view sql, const Values&... values) {
  const std::array<Value, sizeof...(Values)> list{value_of(values)...};
  Query query(db, Query::Borrowing{});
  query.start(sql, list, Statement::Lifetime::use, Connection::Asked::made_number);
  query.next();
  return db.failure() ? 0 : query.statement_->made_number();
}

}  // namespace sluice::store
