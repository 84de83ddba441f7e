#include <algorithm>
#include <optional>

#include "base/bytes.h"
#include "workspace/beneath.h"
#include "workspace/workspace.h"

namespace sluice::workspace {
namespace {

constexpr std::string_view skill_file = "SKILL.md";
constexpr std::size_t name_bytes_max = 64;
constexpr std::size_t description_chars_max = 1024;

Error invalid(const std::string& what) { return {ErrorKind::invalid, "SKILL.md: " + what}; }

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

// The next line without its end; empty at the end of the text.
std::optional<std::string_view> take_line(std::string_view& text) {
  if (text.empty()) return std::nullopt;
  const std::size_t end = std::min(text.find('\n'), text.size());
  std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

// One `key: value` of the front matter, with the indented lines that go on with it.
struct Field {
  std::string_view key;
  std::string_view first;
  std::vector<std::string_view> further;
};

Result<std::vector<Field>> read_fields(std::string_view text) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  if (const auto opening = take_line(text); !opening || trimmed(*opening) != "---") {
    return invalid("must begin with front matter: a line \"---\", then \"name:\" and \"description:\", then \"---\"");
  }
  std::vector<Field> fields;
  while (const auto line = take_line(text)) {
    if (*line == "---" || *line == "...") return fields;
    const std::string_view words = trimmed(*line);
    const bool indented = line->starts_with(' ') || line->starts_with('\t');
    if (indented || words.empty()) {
      if (!fields.empty()) fields.back().further.push_back(words);
      continue;
    }
    if (words.starts_with('#') || words.starts_with("- ") || words == "-")
      continue;  // a comment; a list of a key we ignore
    const std::size_t colon = words.find(':');
    if (colon == std::string_view::npos ||
        (colon + 1 < words.size() && words[colon + 1] != ' ' && words[colon + 1] != '\t')) {
      return invalid("the front matter's line \"" + shown(words) + "\" is not \"key: value\"");
    }
    fields.push_back({.key = trimmed(words.substr(0, colon)), .first = trimmed(words.substr(colon + 1))});
  }
  return invalid("the front matter has no end: a line \"---\" must close it");
}

// Lines of a folded value become one, as YAML's do.
std::string fold(std::string_view first, const std::vector<std::string_view>& further) {
  std::string out(first);
  for (const auto line : further) {
    if (line.empty()) continue;
    if (!out.empty()) out += ' ';
    out += line;
  }
  return out;
}

std::optional<std::string> unquote(std::string_view text) {
  const char quote = text.front();
  std::string out;
  for (std::size_t at = 1; at < text.size(); ++at) {
    const char c = text[at];
    if (c == quote && quote == '\'' && at + 1 < text.size() && text[at + 1] == '\'') {
      out += '\'', ++at;
    } else if (c == quote) {
      const std::string_view rest = trimmed(text.substr(at + 1));
      if (!rest.empty() && !rest.starts_with('#')) return std::nullopt;
      return out;
    } else if (c == '\\' && quote == '"') {
      if (++at == text.size()) return std::nullopt;
      switch (text[at]) {
        case 'n':
        case 't':
        case 'r': out += ' '; break;
        case '"':
        case '\\':
        case '/': out += text[at]; break;
        default: return std::nullopt;
      }
    } else {
      out += c;
    }
  }
  return std::nullopt;
}

Result<std::string> read_value(const Field& field) {
  const std::string key(field.key);
  std::string_view first = field.first;
  const bool block = first == ">" || first == "|" || first == ">-" || first == "|-" || first == ">+" || first == "|+";
  std::string value = fold(block ? std::string_view() : first, field.further);
  if (!block && !value.empty() && (value.front() == '"' || value.front() == '\'')) {
    auto bare = unquote(value);
    if (!bare) return invalid(key + " has a quote that does not end, or an escape that is not known");
    value = std::move(*bare);
  } else if (!block) {
    if (const std::size_t comment = value.find(" #"); comment != std::string::npos) value.resize(comment);
    if (!value.empty() && std::string_view("[{&*!%@`").find(value.front()) != std::string_view::npos) {
      return invalid(key + " begins with '" + value.front() + "': put the text between quotes");
    }
  }
  value = std::string(trimmed(value));
  if (value.empty()) return invalid(key + " is empty");
  if (!is_utf8(value)) return invalid(key + " is not UTF-8");
  if (std::any_of(value.begin(), value.end(),
                  [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; })) {
    return invalid(key + " has a control character");
  }
  return value;
}

Result<std::string> find_value(const std::vector<Field>& fields, std::string_view key) {
  const Field* found = nullptr;
  for (const auto& field : fields) {
    if (field.key != key) continue;
    if (found != nullptr) return invalid("the front matter has \"" + std::string(key) + ":\" twice");
    found = &field;
  }
  if (found == nullptr) return invalid("the front matter has no \"" + std::string(key) + ":\"");
  return read_value(*found);
}

bool is_skill_name(std::string_view name) {
  constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyz0123456789";
  constexpr std::string_view all = "abcdefghijklmnopqrstuvwxyz0123456789-_";
  return !name.empty() && name.size() <= name_bytes_max && letters.find(name.front()) != std::string_view::npos &&
         name.find_first_not_of(all) == std::string_view::npos;
}

Error missing_skill_file(const std::vector<BundleFile>& files) {
  for (const auto& file : files) {
    if (file.path.ends_with("/SKILL.md")) {
      return {ErrorKind::invalid, "SKILL.md must be at the bundle's root, and is at \"" + shown(file.path) +
                                      "\": pack from inside that directory"};
    }
  }
  return {ErrorKind::invalid, "the bundle has no SKILL.md at its root"};
}

}  // namespace

Result<SkillHead> read_skill_head(const std::vector<BundleFile>& files) {
  const auto file = std::find_if(files.begin(), files.end(), [](const auto& f) { return f.path == skill_file; });
  if (file == files.end()) return missing_skill_file(files);
  auto fields = read_fields(file->bytes);
  if (!fields) return std::move(fields.error());
  auto name = find_value(fields.value(), "name");
  if (!name) return std::move(name.error());
  if (!is_skill_name(name.value())) {
    return invalid("the name \"" + shown(name.value()) +
                   "\" must be 1 to 64 of a-z, 0-9, '-' and '_', and begin with a letter or a digit");
  }
  auto description = find_value(fields.value(), "description");
  if (!description) return std::move(description.error());
  if (utf8_length(description.value()) > description_chars_max) {
    return invalid("the description has more than " + std::to_string(description_chars_max) + " characters");
  }
  return SkillHead{.name = std::move(name.value()), .description = std::move(description.value())};
}

}  // namespace sluice::workspace
