#include <algorithm>

#include "base/bytes.h"
#include "base/json.h"
#include "cli/cli.h"

namespace sluice::cli {

std::string shell_quoted(std::string_view text) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("/._-+:=@").find(c) != std::string_view::npos;
  };
  if (!text.empty() && std::all_of(text.begin(), text.end(), plain)) return std::string(text);
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'') {
      out += "'\\''";
    } else {
      out += c;
    }
  }
  return out + "'";
}

std::string error_json(std::string_view what) {
  std::string out, words(what);
  // A command line may have any bytes in it; JSON must be UTF-8.
  if (!is_utf8(words)) {
    std::ranges::replace_if(words, [](char c) { return static_cast<unsigned char>(c) >= 0x80; }, '?');
  }
  json::Writer(out).begin_object().key("error").string(words).end_object();
  return out;
}

Hints::Hints(std::string_view program, const Flags& flags) : program_(shell_quoted(program)) {
  for (const auto& [name, value] : flags) flags_ += " " + std::string(name) + " " + shell_quoted(value);
}

std::string Hints::command(std::string_view words) const { return program_ + " " + std::string(words) + flags_; }

}  // namespace sluice::cli
