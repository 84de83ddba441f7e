#include "harness/complaint.h"

#include <algorithm>
#include <span>

#include "base/bytes.h"
#include "base/utf8.h"

namespace sluice::harness {
namespace {

using model::Slug;
using Words = std::span<const std::string_view>;

constexpr std::string_view refused_key_words[] = {"401",     "403",     "unauthorized", "forbidden",  "authentication",
                                                  "api key", "api-key", "api_key",      "credentials"};
constexpr std::string_view late_words[] = {"timed out", "timeout"};

// Of a session that is to be resumed: in the words of Claude Code and of Codex.
constexpr std::string_view lost_session_words[] = {"no conversation found", "no rollout found", "thread not found",
                                                   "invalid thread id", "invalid session id"};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// As a word of its own, where it is a number: the 401 in a port or in an id means nothing.
bool says(std::string_view text, std::string_view word) {
  for (auto at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    const auto end = at + word.size();
    const bool cut = is_digit(word.front()) && ((at > 0 && (is_digit(text[at - 1]) || text[at - 1] == ':')) ||
                                                (end < text.size() && is_digit(text[end])));
    if (!cut) return true;
  }
  return false;
}

bool says_any(std::string_view text, Words words) {
  return std::ranges::any_of(words, [&](std::string_view word) { return says(text, word); });
}

// The end of the escape sequence that begins at `at`: "ESC [ … letter", or ESC and one byte.
std::size_t skip_escape(std::string_view text, std::size_t at) {
  if (at + 1 >= text.size() || text[at + 1] != '[') return std::min(at + 2, text.size());
  at += 2;
  while (at < text.size() && (text[at] < '@' || text[at] > '~')) ++at;
  return std::min(at + 1, text.size());
}

}  // namespace

Slug slug_of_complaint(std::optional<int64_t> http_status, std::string_view words) {
  if (http_status) {
    if (*http_status == 401 || *http_status == 403) return Slug::agent_misconfigured;
    return *http_status == 408 || *http_status == 504 ? Slug::model_timeout : Slug::model_error;
  }
  std::string lower(words);
  std::ranges::transform(lower, lower.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c; });
  if (says_any(lower, lost_session_words)) return Slug::agent_failed;
  if (says_any(lower, refused_key_words)) return Slug::agent_misconfigured;
  return says_any(lower, late_words) ? Slug::model_timeout : Slug::model_error;
}

std::string plain_words(std::string_view words) {
  std::string plain;
  for (std::size_t at = 0; at < words.size();) {
    if (words[at] == '\x1b') {
      at = skip_escape(words, at);
      continue;
    }
    std::size_t length = 1;  // of the code point: up to the next byte that begins one
    while (at + length < words.size() && length < 4 && continues_utf8(words[at + length])) ++length;
    const auto point = words.substr(at, length);
    const bool control = length == 1 && static_cast<unsigned char>(point[0]) < ' ' && point[0] != '\n';
    plain += !is_utf8(point) ? "?" : control ? std::string_view(" ") : point;
    at += length;
  }
  return plain;
}

Heard failed_as(Slug slug, std::string text) {
  Heard heard;
  heard.kind = Heard::Kind::failed;
  heard.slug = slug;
  heard.text = std::move(text);
  return heard;
}

Heard warned(std::string text) {
  Heard heard;
  heard.level = "warn";
  heard.text = std::move(text);
  return heard;
}

Heard too_many_calls() {
  return warned("The agent program made more than " + std::to_string(calls_max) +
                " calls; the others are not reported.");
}

Heard ended_early(bool had_begun, std::string_view exit_words, std::string_view stderr_tail) {
  std::string text = had_begun ? "The agent program ended in the middle of its work"
                               : "The agent program ended before it took up its work";
  if (!exit_words.empty()) text += " (" + plain_words(exit_words) + ")";
  if (!stderr_tail.empty()) text += ". Its last words: " + plain_words(stderr_tail);
  return failed_as(Slug::agent_failed, std::move(text));
}

}  // namespace sluice::harness
