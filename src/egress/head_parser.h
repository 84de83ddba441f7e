// Heads of HTTP/1 messages, read strictly: what two parties could read in two ways is refused, for
// one of them may be the guard and the other the door. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::egress {

inline constexpr std::size_t head_bytes_max = 64 * 1024;
inline constexpr std::size_t field_count_max = 200;

// What the box is answered instead.
struct Refusal {
  int status = 400;
  std::string words;
};

struct Field {
  std::string name;
  std::string value;
};

class Fields {
 public:
  void add(std::string_view name, std::string_view value) { all_.push_back({std::string(name), std::string(value)}); }
  // The first of that name.
  const std::string* find(std::string_view name) const;
  std::size_t count(std::string_view name) const;
  // Does any field of that name list this element?
  bool lists(std::string_view name, std::string_view element) const;
  void remove(std::string_view name);
  // Takes out what is meant for the next hop only: what Connection lists, and what always is.
  void remove_hop_by_hop();

  std::vector<Field>& all() { return all_; }
  const std::vector<Field>& all() const { return all_; }

 private:
  std::vector<Field> all_;
};

struct RequestHead {
  std::string method;
  std::string target;
  int minor_version = 1;
  Fields fields;
};

struct ResponseHead {
  int status = 0;
  std::string reason;
  int minor_version = 1;
  Fields fields;
};

// How many bytes the head at the front of `bytes` has, its empty line included, once it is all there.
std::optional<std::size_t> head_size(std::string_view bytes);

// Does a line end without a CR? Such a head may never end.
bool has_bare_line_feed(std::string_view bytes);

// `text` is a whole head, its empty line included.
std::optional<Refusal> parse_head(std::string_view text, RequestHead& out);
std::optional<Refusal> parse_head(std::string_view text, ResponseHead& out);

// ── where a request wants to go ──
// Which addresses a name may lead to.
enum class Reach : uint8_t {
  sandbox,      // what a sandbox may reach: public ones, and those that the operator opened
  public_only,  // chosen by a tenant for the server: public ones
  anywhere,     // chosen by the operator
};

struct Destination {
  std::string host;  // lower case, no brackets, no dot at its end
  int port = 0;
  bool tls = false;
  bool is_address = false;  // a literal one
  Reach reach = Reach::sandbox;
  bool is_house = false;  // our own server, which has a certificate of its own
  bool operator==(const Destination&) const = default;

  // As a Host field has it: with the port unless it is the scheme's own.
  std::string authority() const;
};

struct Target {
  Destination to;
  std::string path;   // at least "/", or "*"
  std::string query;  // with its '?', or empty
};

// "host", "host:port", "[::1]:port".
std::optional<Refusal> parse_authority(std::string_view text, int default_port, Destination& out);
// Of CONNECT: the port must be there.
std::optional<Refusal> parse_connect(const RequestHead& head, Destination& out);
// Of any other request to a proxy, with its Host field, which must say the same.
std::optional<Refusal> parse_absolute(const RequestHead& head, Target& out);
// Of a request inside a connection to `to`.
std::optional<Refusal> parse_origin(const RequestHead& head, const Destination& to, Target& out);

}  // namespace sluice::egress
