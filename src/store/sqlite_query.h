// One use of a prepared statement: values in, rows out. It gives the statement back when it ends.
#pragma once

#include <cstring>
#include <string_view>
#include <vector>

#include "model/model.h"
#include "store/sqlite_connection.h"

namespace sluice::store {

// Bytes that are not text.
struct Blob {
  std::string_view bytes;
};

class Query {
 public:
  // Values are copied, so that they need not outlive the call.
  template <typename... Values>
  Query(Connection& db, std::string_view sql, const Values&... values) : Query(db, sql, Lifetime::copied) {
    (bind(values), ...);
  }
  ~Query();
  Query(const Query&) = delete;
  Query& operator=(const Query&) = delete;

  // Is there a(nother) row?
  bool next();

  // The columns of this row that were not read yet, in order.
  template <typename... Fields>
  Query& read(Fields&... fields) {
    (read_one(fields), ...);
    return *this;
  }

 private:
  enum class Lifetime : uint8_t { copied, borrowed };
  template <typename... Values>
  friend void execute(Connection& db, std::string_view sql, const Values&... values);
  Query(Connection& db, std::string_view sql, Lifetime lifetime);

  void bind(int64_t value);
  void bind(uint64_t value) { bind(static_cast<int64_t>(value)); }
  void bind(int value) { bind(static_cast<int64_t>(value)); }
  void bind(bool value) { bind(static_cast<int64_t>(value)); }
  void bind(Timestamp value) { bind(value.ms); }
  void bind(std::string_view text);
  void bind(const std::string& text) { bind(std::string_view(text)); }
  void bind(const char* text) { bind(std::string_view(text)); }
  void bind(Blob blob);
  void bind_null() { ++bound_; }
  void bind(const Ulid& ulid) { bind(Blob{{reinterpret_cast<const char*>(ulid.bytes.data()), ulid.bytes.size()}}); }
  template <typename Kind>
  void bind(const Id<Kind>& id) {
    bind(id.ulid);
  }
  // One after the other, 16 bytes each.
  template <typename Kind>
  void bind(const std::vector<Id<Kind>>& ids) {
    static_assert(sizeof(Id<Kind>) == sizeof(Ulid));
    bind(Blob{{reinterpret_cast<const char*>(ids.data()), ids.size() * sizeof(Ulid)}});
  }
  template <typename T>
  void bind(const std::optional<T>& value) {
    if (value) {
      bind(*value);
    } else {
      bind_null();
    }
  }
  template <typename Word>
    requires std::is_enum_v<Word>
  void bind(Word word) {
    bind(model::name_of(word));
  }

  bool is_null() const;
  std::string_view bytes();
  void read_one(int64_t& field);
  void read_one(uint64_t& field);
  void read_one(bool& field);
  void read_one(int& field);
  void read_one(uint8_t& field);
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
    if (is_null()) {
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
  sqlite3_stmt* statement_;  // empty when something went wrong before
  Lifetime lifetime_;
  int bound_ = 0;
  int column_ = 0;
};

// A statement that gives no rows.
template <typename... Values>
void execute(Connection& db, std::string_view sql, const Values&... values) {
  Query query(db, sql, Query::Lifetime::borrowed);
  (query.bind(values), ...);
  query.next();
}

}  // namespace sluice::store
