#include "store/pg_news.h"

namespace sluice::store {

namespace {

// PostgreSQL takes less than 8000 bytes.
constexpr std::size_t named_max = 250;

}  // namespace

std::string PgNews::spelt() const {
  std::string out;
  append_ulid(out, from.ulid);
  if (has_mail) out += 'm';
  if (has_held) out += 'h';
  if (is_wish) out += 'w';
  out += ' ';
  if (all || runs.size() > named_max) return out += '*';
  for (const auto& run : runs) append_ulid(out, run.ulid);
  return out;
}

PgNews PgNews::read(std::string_view spelling) {
  PgNews news;
  const auto node = parse_ulid(spelling.substr(0, ulid_text_size));
  const auto gap = spelling.find(' ');
  if (!node || gap == std::string_view::npos) return news;
  news.from.ulid = *node;
  const auto letters = spelling.substr(ulid_text_size, gap - ulid_text_size);
  news.has_mail = letters.find('m') != std::string_view::npos;
  news.has_held = letters.find('h') != std::string_view::npos;
  news.is_wish = letters.find('w') != std::string_view::npos;
  auto named = spelling.substr(gap + 1);
  news.all = named == "*";
  for (; named.size() >= ulid_text_size; named.remove_prefix(ulid_text_size)) {
    if (const auto run = parse_ulid(named.substr(0, ulid_text_size))) news.runs.push_back({*run});
  }
  return news;
}

}  // namespace sluice::store
