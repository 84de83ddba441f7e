#include "egress/substitution.h"

#include <openssl/evp.h>

#include <optional>

#include "base/bytes.h"
#include "base/json.h"
#include "http/text.h"

namespace sluice::egress {
namespace {

constexpr std::size_t alias_bytes_max = 64;

struct Match {
  enum class Kind : uint8_t { no, maybe, yes };  // maybe: it could become one with more bytes
  Kind kind = Kind::no;
  std::size_t size = 0;
  std::string_view alias;
};

// Reads one alias from the front of a text, sign by sign.
class Reader {
 public:
  Reader(std::string_view text, bool percent) : text_(text), percent_(percent) {}

  Match read() {
    for (const char c : std::string_view("{{secret:")) {
      if (!sign(c)) return failed();
    }
    const std::size_t begin = at_;
    while (at_ < text_.size() && is_alias_char(text_[at_])) ++at_;
    if (at_ == text_.size() && at_ - begin <= alias_bytes_max) return {Match::Kind::maybe};
    const std::string_view alias = text_.substr(begin, at_ - begin);
    if (!model::is_alias(alias)) return {};
    if (!sign('}') || !sign('}')) return failed();
    return {Match::Kind::yes, at_, alias};
  }

 private:
  static bool is_alias_char(char c) { return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; }
  Match failed() const { return {ran_out_ ? Match::Kind::maybe : Match::Kind::no}; }

  bool sign(char c) {
    if (at_ == text_.size()) return ran_out_ = true, false;
    if (text_[at_] == c) return ++at_, true;
    const bool may_be_encoded = percent_ && (c == '{' || c == '}' || c == ':');
    if (!may_be_encoded || text_[at_] != '%') return false;
    const int digits[] = {c >> 4, c & 15};
    for (std::size_t i = 0; i < 2; ++i) {
      if (at_ + 1 + i == text_.size()) return ran_out_ = true, false;
      if (http::hex_digit(text_[at_ + 1 + i]) != digits[i]) return false;
    }
    at_ += 3;
    return true;
  }

  std::string_view text_;
  bool percent_;
  std::size_t at_ = 0;
  bool ran_out_ = false;
};

std::string url_encoded(std::string_view value) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  std::string out;
  for (const char c : value) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
                       c == '.' || c == '_' || c == '~';
    if (plain) {
      out += c;
    } else {
      out += {'%', digits[byte >> 4], digits[byte & 15]};
    }
  }
  return out;
}

std::string quoted(std::string value, Quoting quoting) {
  if (quoting == Quoting::url) return url_encoded(value);
  if (quoting == Quoting::none || !is_utf8(value)) return value;
  std::string out;
  json::append_string(out, value);
  return out.substr(1, out.size() - 2);
}

// Where the first alias, or what may become one, begins.
std::size_t next_brace(std::string_view text, bool percent, std::size_t from) {
  return percent ? text.find_first_of("{%", from) : text.find('{', from);
}

// Replaces in `text` until it ends, or a verdict stops it. `used` is how far it came.
Substitution replace(std::string_view text, bool is_all, Quoting quoting, model::SecretPlace place, const Judge& judge,
                     std::string& out, std::size_t& used) {
  const bool percent = quoting == Quoting::url;
  used = 0;
  for (;;) {
    std::size_t at = next_brace(text, percent, used);
    Match match;
    while (at != std::string_view::npos) {
      match = Reader(text.substr(at), percent).read();
      if (match.kind == Match::Kind::yes || (match.kind == Match::Kind::maybe && !is_all)) break;
      at = next_brace(text, percent, at + 1);
    }
    const std::size_t end = std::min(at, text.size());
    out.append(text.substr(used, end - used));
    used = end;
    if (at == std::string_view::npos || match.kind == Match::Kind::maybe) return {};
    Verdict verdict = judge(match.alias, place);
    if (verdict.kind == Verdict::Kind::missing) {
      return {Substitution::Kind::missing, std::string(match.alias), {}, place};
    }
    if (verdict.kind == Verdict::Kind::refused) {
      return {Substitution::Kind::refused, std::string(match.alias), std::move(verdict.words)};
    }
    if (verdict.kind == Verdict::Kind::text) {
      out.append(text.substr(used, match.size));
      used += match.size;
      continue;
    }
    const bool in_head = place == model::place_header || place == model::place_basic;
    if (in_head && !http::is_field_value(verdict.value)) {
      return {Substitution::Kind::refused, std::string(match.alias),
              "the value of " + std::string(match.alias) + " has a line break or another control character, and a " +
                  "header field must not"};
    }
    out += quoted(std::move(verdict.value), quoting);
    used += match.size;
  }
}

Substitution replace_all(std::string& text, Quoting quoting, model::SecretPlace place, const Judge& judge) {
  std::string out;
  std::size_t used = 0;
  Substitution result = replace(text, true, quoting, place, judge, out, used);
  if (result.kind == Substitution::Kind::done) text = std::move(out);
  return result;
}

std::optional<std::string> from_base64(std::string_view text) {
  if (text.empty() || text.size() % 4 != 0) return std::nullopt;
  std::string out(text.size() / 4 * 3, '\0');
  const int size = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                                   reinterpret_cast<const unsigned char*>(text.data()), static_cast<int>(text.size()));
  if (size < 0) return std::nullopt;
  std::size_t padding = 0;
  while (padding < 2 && text[text.size() - 1 - padding] == '=') ++padding;
  out.resize(static_cast<std::size_t>(size) - padding);
  return out;
}

std::string to_base64(std::string_view bytes) {
  std::string out((bytes.size() + 2) / 3 * 4 + 1, '\0');
  out.resize(static_cast<std::size_t>(EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                                                      reinterpret_cast<const unsigned char*>(bytes.data()),
                                                      static_cast<int>(bytes.size()))));
  return out;
}

// "Basic dXNlcjp7e3NlY3JldDpYfX0=": the alias is inside.
Substitution replace_in_basic(std::string& value, const Judge& judge) {
  constexpr std::string_view scheme = "Basic ";
  if (!http::same_word(std::string_view(value).substr(0, scheme.size()), scheme)) return {};
  auto credentials = from_base64(http::trimmed(std::string_view(value).substr(scheme.size())));
  if (!credentials || !mentions_secret(*credentials)) return {};
  Substitution result = replace_all(*credentials, Quoting::none, model::place_basic, judge);
  if (result.kind == Substitution::Kind::done) value = std::string(scheme) + to_base64(*credentials);
  return result;
}

}  // namespace

Quoting quoting_of(std::optional<std::string_view> content_type) {
  if (!content_type) return Quoting::none;
  const std::string media = http::lower_case(http::trimmed(content_type->substr(0, content_type->find(';'))));
  if (media == "application/x-www-form-urlencoded") return Quoting::url;
  if (media == "application/json" || media.ends_with("+json")) return Quoting::json;
  return Quoting::none;
}

Substitution substitute_head(http::Headers& fields, std::string& query, const Judge& judge) {
  for (http::Header& field : fields.all()) {
    Substitution result =
        http::same_word(field.name, "Authorization") ? replace_in_basic(field.value, judge) : Substitution{};
    if (result.kind != Substitution::Kind::done) return result;
    if (field.value.find('{') == std::string::npos) continue;
    result = replace_all(field.value, Quoting::none, model::place_header, judge);
    if (result.kind != Substitution::Kind::done) return result;
  }
  return query.empty() ? Substitution{} : replace_all(query, Quoting::url, model::place_query, judge);
}

bool mentions_secret(std::string_view text) {
  for (std::size_t at = next_brace(text, true, 0); at != std::string_view::npos; at = next_brace(text, true, at + 1)) {
    if (Reader(text.substr(at), true).read().kind == Match::Kind::yes) return true;
  }
  return false;
}

Substitution BodySubstitution::push(std::string_view piece, std::string& out) {
  held_.append(piece);
  return run(false, out);
}

Substitution BodySubstitution::finish(std::string& out) { return run(true, out); }

Substitution BodySubstitution::run(bool is_all, std::string& out) {
  std::size_t used = 0;
  Substitution result = replace(held_, is_all, quoting_, model::place_body, judge_, out, used);
  held_.erase(0, used);
  return result;
}

}  // namespace sluice::egress
