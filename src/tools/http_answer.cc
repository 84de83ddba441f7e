#include "tools/http_answer.h"

#include <algorithm>

#include "runs/runs.h"

namespace sluice::tools {
namespace {

constexpr std::size_t status_words_bytes_max = 300;

}  // namespace

std::string media_type_of(const net::Headers& headers) {
  const auto field = headers.find("content-type").value_or("");
  std::string type(field.substr(0, field.find_first_of("; \t")));
  std::ranges::transform(type, type.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return type;
}

std::string status_words(int status, std::string_view body) {
  // They are shown to the model and in events: one line of valid UTF-8, whatever the server sent.
  auto words = runs::to_utf8(body.substr(0, status_words_bytes_max + 4));
  std::ranges::replace_if(words, [](char c) { return c >= 0 && c < ' '; }, ' ');
  const auto first = words.find_first_not_of(' ');
  auto said = "status " + std::to_string(status);
  if (first == std::string::npos) return said;
  return said + ": " + std::string(runs::utf8_prefix(std::string_view(words).substr(first), status_words_bytes_max));
}

}  // namespace sluice::tools
