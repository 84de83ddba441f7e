#define TOML_EXCEPTIONS 0
// It asserts, of a key, what it then looks at itself: "[" at a line's end would be our death, not the file's mistake.
#define TOML_ASSERT(expression) static_assert(true)
#ifdef NDEBUG
#error "with NDEBUG toml++ takes for granted what it otherwise asserts"
#endif
#include <toml++/toml.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "base/bytes.h"
#include "config/config.h"

namespace sluice::config {
namespace {

class TomlReader {
 public:
  TomlReader(const std::string& path, Config& config) : path_(path), config_(config) {}

  Result<Unit> table(const toml::table& table, const std::string& prefix) {
    for (const auto& [key, node] : table) {
      const auto name = prefix.empty() ? std::string(key.str()) : prefix + "." + std::string(key.str());
      auto taken = node.is_table() && Config::find_key(name) == nullptr ? section(*node.as_table(), name, key.source())
                                                                        : value(node, name, key.source());
      if (!taken) return taken;
    }
    return Unit{};
  }

 private:
  std::string where(const toml::source_region& source) const { return path_ + ":" + std::to_string(source.begin.line); }

  Result<Unit> section(const toml::table& content, const std::string& name, const toml::source_region& source) {
    const bool is_provider = name == "providers" || name.starts_with("providers.");
    bool known = is_provider;
    std::vector<std::string_view> sections = {"providers"};
    for (const auto& key : config_keys()) {
      sections.push_back(key.name.substr(0, key.name.find('.')));
      known = known || sections.back() == name;
    }
    if (known) return table(content, name);
    const auto meant = nearest(name, sections);
    return Error{ErrorKind::invalid, where(source) + ": unknown section [" + name + "]" +
                                         (meant ? "; did you mean [" + std::string(*meant) + "]?" : "")};
  }

  Result<Unit> value(const toml::node& node, const std::string& name, const toml::source_region& source) {
    const auto at = where(source);
    const Key* key = Config::find_key(name);
    if (key == nullptr) return config_.set(name, "", at);  // says what is unknown
    switch (key->type) {
      case KeyType::text:
        if (const auto* text = node.as_string()) return config_.set(name, text->get(), at);
        return wrong_type(node, name, "text in quotes", at);
      case KeyType::integer:
        if (const auto* number = node.as_integer()) return config_.set(name, std::to_string(number->get()), at);
        return wrong_type(node, name, "an integer", at);
      case KeyType::boolean:
        if (const auto* truth = node.as_boolean()) return config_.set(name, truth->get() ? "true" : "false", at);
        return wrong_type(node, name, "true or false", at);
      case KeyType::list: break;
    }
    std::vector<std::string> items;
    const auto* array = node.as_array();
    if (array == nullptr) return wrong_type(node, name, "a list of texts", at);
    for (const auto& item : *array) {
      if (!item.is_string()) return wrong_type(item, name, "a list of texts", where(item.source()));
      items.push_back(item.as_string()->get());
    }
    return config_.set_list(name, std::move(items), at);
  }

  static Result<Unit> wrong_type(const toml::node& node, const std::string& name, std::string_view wanted,
                                 const std::string& at) {
    std::string_view found = "something else";
    if (node.is_string()) found = "text";
    if (node.is_integer()) found = "an integer";
    if (node.is_floating_point()) found = "a number with a point";
    if (node.is_boolean()) found = "true or false";
    if (node.is_array()) found = "a list";
    if (node.is_table()) found = "a table";
    return Error{ErrorKind::invalid,
                 at + ": " + name + " must be " + std::string(wanted) + ", not " + std::string(found)};
  }

  const std::string& path_;
  Config& config_;
};

// Where the text in quotes ends that begins at `from`: behind its last quote, or at the end of its line if it has none.
std::size_t end_of_quoted(std::string_view text, std::size_t from) {
  const char quote = text[from];
  const std::string three(3, quote);
  const bool is_long = text.substr(from, 3) == three;
  for (std::size_t at = from + (is_long ? 3 : 1); at < text.size(); ++at) {
    if (text[at] == '\n' && !is_long) return at;
    if (text[at] == '\\' && quote == '"') {
      ++at;
    } else if (text[at] == quote && !is_long) {
      return at + 1;
    } else if (is_long && text.substr(at, 3) == three) {
      return std::min(text.find_first_not_of(quote, at), text.size());  // it may itself end in quotes
    }
  }
  return text.size();
}

// The line of the first character that is not ASCII and stands neither in quotes nor in a comment. TOML has none there,
// and toml++ takes some of them for impossible.
std::optional<std::ptrdiff_t> line_of_stray(std::string_view text) {
  for (std::size_t at = text.starts_with("\xef\xbb\xbf") ? 3 : 0; at < text.size();) {
    const char c = text[at];
    if (c == '"' || c == '\'') {
      at = end_of_quoted(text, at);
    } else if (c == '#') {
      at = std::min(text.find('\n', at), text.size());
    } else if ((c & 0x80) != 0) {
      return 1 + std::ranges::count(text.substr(0, at), '\n');
    } else {
      ++at;
    }
  }
  return std::nullopt;
}

}  // namespace

Result<Unit> read_toml_file(const std::string& path, Config& config) {
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  if (const auto line = line_of_stray(text)) {
    return Error{ErrorKind::invalid,
                 path + ":" + std::to_string(*line) + ": a character that is not ASCII stands here outside of quotes"};
  }
  const auto parsed = file ? toml::parse(text, path) : toml::parse_file(path);
  if (!parsed) {
    const auto line = parsed.error().source().begin.line;
    return Error{ErrorKind::invalid, path + (line > 0 ? ":" + std::to_string(line) : "") + ": " +
                                         std::string(parsed.error().description())};
  }
  return TomlReader(path, config).table(parsed.table(), "");
}

}  // namespace sluice::config
