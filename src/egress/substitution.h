// Replaces `{{secret:ALIAS}}` in requests from sandboxes by the secret's value: in header fields, in the query, in
// Basic credentials and in bodies that arrive in pieces, nowhere else. Pure; the Judge decides which value may go
// where.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "http/headers.h"
#include "model/model.h"

namespace sluice::egress {

struct Verdict {
  enum class Kind : uint8_t { go, text, missing, refused };
  Kind kind = Kind::refused;  // text: it is not a reference to a secret, and stays
  std::string value;          // go
  std::string words;          // refused: why
};

using Judge = std::function<Verdict(std::string_view alias, model::SecretPlace place)>;

// The outcome. Unless it is `done`, the output must not be sent.
struct Substitution {
  enum class Kind : uint8_t { done, missing, refused };
  Kind kind = Kind::done;
  std::string alias;                               // missing, refused
  std::string words;                               // refused
  model::SecretPlace place = model::place_header;  // where a missing alias stands
};

// How a value must be encoded where it is inserted.
enum class Quoting : uint8_t {
  none,
  url,   // percent-encoded; the alias is also found if its braces and colon are percent-encoded
  json,  // inside a JSON string
};

// The quoting of a body with this Content-Type.
Quoting quoting_of(std::optional<std::string_view> content_type);

// Inserts values into the fields and into `query`, which includes its '?'.
Substitution substitute_head(http::Headers& fields, std::string& query, const Judge& judge);
// True if the text contains a reference to a secret in either encoding; for places where none is allowed.
bool mentions_secret(std::string_view text);

// Substitution in a body that arrives in pieces: it holds back what may be the beginning of an alias, and stops at an
// alias whose value is missing.
class BodySubstitution {
 public:
  BodySubstitution(Quoting quoting, Judge judge) : quoting_(quoting), judge_(std::move(judge)) {}

  // Appends to `out` what can be sent. After `missing`, call again with an empty piece when the value may be there.
  Substitution push(std::string_view piece, std::string& out);
  // The body is complete.
  Substitution finish(std::string& out);

 private:
  Substitution run(bool is_all, std::string& out);

  Quoting quoting_;
  Judge judge_;
  std::string held_;
};

}  // namespace sluice::egress
