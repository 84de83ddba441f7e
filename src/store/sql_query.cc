#include "store/sql_query.h"

namespace sluice::store {

Error error_of(const Failure& failure) {
  switch (failure.trouble) {
    case Trouble::full: return {ErrorKind::overloaded, "the disk is full"};
    case Trouble::busy: return {ErrorKind::overloaded, failure.what};
    case Trouble::lost: return {ErrorKind::overloaded, "the connection to the database was lost: " + failure.what};
    case Trouble::conflict: return {ErrorKind::conflict, "it is there already: " + failure.what};
    case Trouble::invalid: return {ErrorKind::invalid, failure.what};
    case Trouble::corrupt: return {ErrorKind::corrupt, failure.what};
    case Trouble::unknown: break;
  }
  return {ErrorKind::unavailable, "the database failed: " + failure.what};
}

void Query::start(std::string_view sql, std::span<const Value> values, Statement::Lifetime lifetime,
                  Connection::Asked asked) {
  statement_ = db_.prepare(sql, values, asked);
  if (statement_ != nullptr) statement_->start(values, lifetime);
}

Value Query::value(int column) const {
  if (statement_->is_null(column)) return {.is_null = true};
  const auto type = statement_->type_of(column);
  if (type == Value::Type::integer) return {.type = type, .integer = statement_->integer(column)};
  return {.type = type, .bytes = statement_->bytes(column)};
}

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

Ulid Query::ulid(int column) const {
  Ulid ulid;
  const auto data = statement_->bytes(column);
  if (data.size() == ulid.bytes.size()) std::memcpy(ulid.bytes.data(), data.data(), data.size());
  return ulid;
}

void Query::read_one(Ulid& field) {
  const auto data = bytes();
  if (data.size() != field.bytes.size()) return db_.fail_corrupt("a row has an id that is not 16 bytes");
  std::memcpy(field.bytes.data(), data.data(), data.size());
}

}  // namespace sluice::store
