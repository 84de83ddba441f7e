// `{{secret:ALIAS}}` in what a box sends, replaced by the value: in header fields, in the query, in
// Basic credentials and in bodies that come in pieces. Nowhere else. Pure: who may have which value is
// for a Judge to say.
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
  Kind kind = Kind::refused;  // text: it is not meant for us, and stays
  std::string value;          // go
  std::string words;          // refused: why
};

using Judge = std::function<Verdict(std::string_view alias, model::SecretPlace place)>;

// How it went; when not `done`, nothing of what was made may be sent.
struct Substitution {
  enum class Kind : uint8_t { done, missing, refused };
  Kind kind = Kind::done;
  std::string alias;                               // missing, refused
  std::string words;                               // refused
  model::SecretPlace place = model::place_header;  // missing: where it stands
};

// How a value must be spelt where it is put.
enum class Quoting : uint8_t {
  none,
  url,   // percent-encoded; there the alias is also found when its braces and colon are
  json,  // inside a JSON string
};

// Quoting of a body, by its Content-Type.
Quoting quoting_of(std::optional<std::string_view> content_type);

// The head with its values in place; `target` is for the query, with its '?'.
Substitution substitute_head(http::Headers& fields, std::string& query, const Judge& judge);
// Does an alias stand here, in either spelling? For places where none may.
bool mentions_secret(std::string_view text);

// A body in pieces: holds back what may be the beginning of an alias, and stops at one that waits.
class BodySubstitution {
 public:
  BodySubstitution(Quoting quoting, Judge judge) : quoting_(quoting), judge_(std::move(judge)) {}

  // Appends to `out` what can go. After `missing`, call again (with nothing) when it may be there.
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
