#include "flow/template.h"

#include <algorithm>
#include <array>
#include <optional>

namespace sluice::flow {
namespace {

constexpr std::size_t name_chars_max = 64;
constexpr std::string_view opening = "{{";
constexpr std::string_view closing = "}}";
constexpr std::array<std::string_view, 4> field_names = {"response", "files", "status", "json"};

bool is_lower_or_digit(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }
bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> words;
  for (;;) {
    const auto dot = text.find('.');
    words.emplace_back(text.substr(0, dot));
    if (dot == std::string_view::npos) return words;
    text.remove_prefix(dot + 1);
  }
}

std::optional<BlockField> field_named(std::string_view name) {
  const auto* const found = std::ranges::find(field_names, name);
  if (found == field_names.end()) return std::nullopt;
  return static_cast<BlockField>(found - field_names.begin());
}

std::optional<Place> read_place(std::string_view text) {
  auto words = split(trimmed(text));
  if (words.size() == 2 && words[0] == "inputs" && is_input_name(words[1])) return InputPlace{words[1]};
  if (words.size() < 3 || words[0] != "blocks" || !is_block_name(words[1])) return std::nullopt;
  const auto field = field_named(words[2]);
  if (!field || (words.size() > 3 && *field != BlockField::json)) return std::nullopt;
  BlockPlace place{words[1], *field, {words.begin() + 3, words.end()}};
  if (std::ranges::any_of(place.path, [](const std::string& word) { return word.empty(); })) return std::nullopt;
  return place;
}

void append_encoded(std::string& out, std::string_view value) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  for (const char c : value) {
    if (is_lower_or_digit(c) || is_upper(c) || std::string_view("-._~").find(c) != std::string_view::npos) {
      out += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    out += '%';
    out += digits[byte >> 4];
    out += digits[byte & 15];
  }
}

}  // namespace

bool is_input_name(std::string_view text) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || is_upper(c) || c == '_'; };
  return !text.empty() && text.size() <= name_chars_max && is_letter(text.front()) &&
         std::ranges::all_of(text, [&](char c) { return is_letter(c) || is_lower_or_digit(c); });
}

bool is_block_name(std::string_view text) {
  return !text.empty() && text.size() <= name_chars_max && is_lower_or_digit(text.front()) &&
         std::ranges::all_of(text, [](char c) { return is_lower_or_digit(c) || c == '-' || c == '_'; });
}

std::string text_of(const Place& place) {
  if (const auto* input = std::get_if<InputPlace>(&place)) return "inputs." + input->name;
  const auto& block = std::get<BlockPlace>(place);
  std::string out = "blocks." + block.block + "." + std::string(field_names.at(static_cast<std::size_t>(block.field)));
  for (const auto& word : block.path) out += "." + word;
  return out;
}

Result<Template> Template::parse(std::string_view text) {
  Template out;
  for (;;) {
    const auto begin = text.find(opening);
    if (begin != 0 && !text.empty()) out.parts_.emplace_back(std::string(text.substr(0, begin)));
    if (begin == std::string_view::npos) return out;
    text.remove_prefix(begin + opening.size());
    const auto end = text.find(closing);
    if (end == std::string_view::npos) return Error{ErrorKind::invalid, "has a {{ without its }}"};
    auto place = read_place(text.substr(0, end));
    if (!place) {
      return Error{ErrorKind::invalid, "has {{" + std::string(text.substr(0, std::min(end, name_chars_max))) +
                                           "}}, which names nothing: a place is inputs.NAME, or blocks.ID. and "
                                           "response, files, status or json"};
    }
    out.parts_.emplace_back(*std::move(place));
    text.remove_prefix(end + closing.size());
  }
}

void Template::each_place(const std::function<void(const Place&)>& visit) const {
  for (const auto& part : parts_) {
    if (const auto* place = std::get_if<Place>(&part)) visit(*place);
  }
}

Result<std::string> render(const Template& text, const PlaceValue& value, std::size_t bytes_max, Writing writing) {
  std::string out;
  for (const auto& part : text.parts()) {
    if (const auto* words = std::get_if<std::string>(&part)) {
      out += *words;
    } else {
      const auto found = value(std::get<Place>(part));
      if (!found) return found.error();
      if (writing == Writing::url) {
        append_encoded(out, found.value());
      } else {
        out += found.value();
      }
    }
    if (out.size() > bytes_max) {
      return Error{ErrorKind::invalid, "what it becomes has more than " + std::to_string(bytes_max) + " bytes"};
    }
  }
  return out;
}

}  // namespace sluice::flow
