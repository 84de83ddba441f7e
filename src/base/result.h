// A value, or the reason there is none.
//
// An ErrorKind tells the caller what may be done next, not which library complained.
// If two kinds call for the same action, they are one kind.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "base/check.h"

namespace sluice {

enum class ErrorKind : uint8_t {
  invalid,      // the request is wrong; asking again changes nothing
  denied,       // not allowed to this caller
  not_found,    // no such thing
  conflict,     // the world moved on; read again, decide again
  overloaded,   // nothing was done; try later, not at once
  unavailable,  // may or may not have been done; the outcome is unknown
  corrupt,      // what was read is not what was written; stop, call a human
};

struct Error {
  ErrorKind kind = ErrorKind::invalid;
  std::string what;

  // Wraps on the way up: "open store: migrate to 3: disk is full".
  Error in(std::string_view doing) && {
    what.insert(0, std::string(doing) + ": ");
    return std::move(*this);
  }
};

// The value of an operation that has none to give.
struct Unit {
  bool operator==(const Unit&) const = default;
};

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT(google-explicit-constructor)
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT(google-explicit-constructor)

  explicit operator bool() const { return state_.index() == 0; }

  // Looking inside needs a named Result: `for (auto& x : f().value())` would read a dead one, so
  // it does not compile. To have the value of an unnamed Result, take it.
  T& value() & { return SLUICE_CHECK(state_.index() == 0), std::get<0>(state_); }
  const T& value() const& { return SLUICE_CHECK(state_.index() == 0), std::get<0>(state_); }
  T& value() && = delete;
  T take() && { return SLUICE_CHECK(state_.index() == 0), std::get<0>(std::move(state_)); }

  Error& error() & { return SLUICE_CHECK(state_.index() == 1), std::get<1>(state_); }
  const Error& error() const& { return SLUICE_CHECK(state_.index() == 1), std::get<1>(state_); }
  Error& error() && = delete;

 private:
  std::variant<T, Error> state_;
};

}  // namespace sluice
