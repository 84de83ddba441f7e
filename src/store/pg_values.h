// Values for PostgreSQL as they travel: in binary, each with its type, so that nothing is quoted or parsed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"

namespace sluice::store {

// The types of our columns, by the numbers PostgreSQL knows them by.
enum class PgType : uint32_t { bytes = 17, number = 20, text = 25 };

// One column of many rows: what unnest() takes apart.
class PgArray {
 public:
  explicit PgArray(PgType element);

  void add(int64_t value);
  void add(std::string_view value);
  void add(const Ulid& id) { add({reinterpret_cast<const char*>(id.bytes.data()), id.bytes.size()}); }
  void add_null();

  PgType element() const { return element_; }
  uint32_t size() const { return size_; }
  // As it is sent.
  std::string encoded() const;

 private:
  PgType element_;
  uint32_t size_ = 0;
  bool has_null_ = false;
  std::string items_;
};

// $1, $2, … of one statement.
class PgValues {
 public:
  PgValues& number(int64_t value);
  PgValues& text(std::string_view value) { return add(static_cast<uint32_t>(PgType::text), value); }
  PgValues& bytes(std::string_view value) { return add(static_cast<uint32_t>(PgType::bytes), value); }
  PgValues& id(const Ulid& id) { return bytes({reinterpret_cast<const char*>(id.bytes.data()), id.bytes.size()}); }
  PgValues& null(PgType type);
  PgValues& array(const PgArray& array);

  int count() const { return static_cast<int>(types_.size()); }
  const std::vector<uint32_t>& types() const { return types_; }
  const std::vector<int>& sizes() const { return sizes_; }
  // Into this object: for as long as it is left as it is. Null values have none.
  std::vector<const char*> addresses() const;

 private:
  PgValues& add(uint32_t type, std::string_view value);

  std::string data_;
  std::vector<uint32_t> types_;
  std::vector<std::size_t> offsets_;  // no_offset: null
  std::vector<int> sizes_;
};

}  // namespace sluice::store
