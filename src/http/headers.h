// The header fields of one message in their order, and the rules for fields that a client chooses.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::http {

struct Header {
  std::string name;  // as it was received
  std::string value;
};

// Names are compared without regard to case.
class Headers {
 public:
  Headers() = default;
  Headers(std::initializer_list<Header> fields) : fields_(fields) {}

  // The first value of that name.
  std::optional<std::string_view> find(std::string_view name) const;
  std::size_t count(std::string_view name) const;
  // Also returns the value of the last one.
  std::size_t count(std::string_view name, std::string_view& last) const;
  // Whether any field of that name lists this element.
  bool lists(std::string_view name, std::string_view element) const;
  void add(std::string_view name, std::string_view value);
  void remove(std::string_view name);
  // Removes the fields that are meant for the next hop only: those that Connection lists, and those that always are.
  void remove_hop_by_hop();

  std::vector<Header>& all() { return fields_; }
  const std::vector<Header>& all() const { return fields_; }

 private:
  std::vector<Header> fields_;
};

// The reason why a header that a client chose is invalid, in words that follow its name; empty if it may be sent.
// Connections are shared, so a client must not choose headers that frame a request or set its destination or identity.
std::string_view fault_of_header(std::string_view name, std::string_view value);

}  // namespace sluice::http
